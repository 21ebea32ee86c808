/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's answer about the memory of boards, schema org.gpupass1.memory/1: "boards", objects
 * with "address", "state", and "why" where it is not known.
 */
#pragma once

#include <stddef.h>

#include "core/facts/memory-clear.h"

/* One line without a newline. */
char *memory_document(const MemoryReport *reports, size_t n);

/* Fills n reports. -EBADMSG when it is not an answer about these boards, in order. */
int memory_document_parse(const char *text, size_t size, const Bdf *boards, size_t n,
			  MemoryReport *ret);
