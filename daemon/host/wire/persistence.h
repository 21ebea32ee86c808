/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's answer about persistence modes, schema org.gpupass1.worker/1:
 *   { "schema", "verb": "persistence",
 *     "gpus": [ { "address", "mode", "mig", "mig_pending", "reason", "kept_by" } ] }
 * One object for each GPU of the question, in that order. "mode" is on or off, or absent if it is
 * not known; "reason" then says why. After a mode was set, "reason" may say why it is another one,
 * or how nvidia-smi failed. "kept_by", only where the mode is known, is nvidia-persistenced's
 * process, which may have the GPU open.
 */
#pragma once

#include "core/facts/persistence.h"

/* One line without a newline. */
char *persistence_document(const GpuPersistence *gpus, size_t n);

/*
 * -EBADMSG when this is not an answer about exactly these GPUs; ret[0..n) then stay as they were.
 */
int persistence_document_parse(const char *text, size_t size, const Bdf *gpus, size_t n,
			       GpuPersistence *ret);
