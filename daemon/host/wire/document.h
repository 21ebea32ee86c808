/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's answer, schema org.gpupass1.worker/1:
 *   { "schema", "verb": "move", "bdf", "error", "phase", "changed", "driver", "driver_override" }
 *   { "schema", "verb": "inspect", "error", "inspection" }
 *   { "schema", "verb": "reset", "error": 0, "report" }
 *   { "schema", "verb": "examine", "error", "host" or "gpu" }
 * "report" is that of core/facts/reset-report.h. "error" is an errno, 0 for success; driver and
 * driver_override are absent when there is none; "inspection" is a document of schema
 * org.gpupass1.inspection/1, absent on error.
 */
#pragma once

#include "core/facts/examination.h"
#include "core/facts/health.h"
#include "core/facts/inspection.h"
#include "core/facts/reset-report.h"
#include "host/wire/move.h"

/* One line without a newline. */
char *worker_move_document(const Bdf *bdf, const DriverResult *result);
/* `inspection`: NULL on error. */
char *worker_inspect_document(int error, const Inspection *inspection);
char *worker_reset_document(const ResetReport *report);
/* One of the two, or neither on error. */
char *worker_examine_document(int error, const Examination *host, const GpuHealth *gpu);

/* -EBADMSG when this is not an answer about this function; *ret then stays as it was. */
int worker_move_document_parse(const char *text, size_t size, const Bdf *bdf, DriverResult *ret);
int worker_reset_document_parse(const char *text, size_t size, const Bdf *bdf, ResetReport *ret);
/* The worker's own error, or -EBADMSG when this is not an answer about all these functions. */
int worker_inspect_document_parse(const char *text, size_t size, const Bdf *functions, size_t n,
				  Inspection **ret);
/*
 * The worker's own error, or -EBADMSG when this is not an answer about the host, or about this GPU.
 */
int worker_examine_host_parse(const char *text, size_t size, Examination **ret);
int worker_examine_gpu_parse(const char *text, size_t size, const Bdf *gpu, GpuHealth *ret);
