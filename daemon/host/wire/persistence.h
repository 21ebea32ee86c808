/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a worker answers about persistence modes, schema org.gpupass1.worker/1:
 *   { "schema", "verb": "persistence", "gpus": [ { "address", "mode", "reason" } ] }
 * one object for each GPU that was asked about, in that order. "mode" is on or off, absent when it is
 * not known; "reason" then says why. After it was set, a mode may have a reason why it is another.
 */
#pragma once

#include "core/facts/persistence.h"

/* One line without a newline; NULL when memory is out. */
char *persistence_document(const GpuPersistence *gpus, size_t n);

/* -EBADMSG when this is no answer about exactly these GPUs; ret[0..n) is then untouched. */
int persistence_document_parse(const char *text, size_t size, const Bdf *gpus, size_t n,
			       GpuPersistence *ret);
