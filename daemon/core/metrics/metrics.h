/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon counts since its start, for monitoring. Every table has one place for each name
 * that there can be, so that counting never allocates, never fails, and cannot be made to grow.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "core/facts/reset-report.h"
#include "core/plan/types.h"
#include "gpupass/errors.h"

/* Upper bounds in microseconds: from a step that only reads to a reset that nobody answers. */
#define METRICS_BOUNDS_USEC                                                                        \
	{                                                                                          \
		10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000,  \
			30000000, 60000000, 120000000, 300000000, 600000000                        \
	}
#define METRICS_BOUNDS 15

typedef struct Histogram {
	uint64_t n[METRICS_BOUNDS + 1]; /* not cumulative; the last is above all bounds */
	uint64_t sum_usec;
} Histogram;

typedef enum RecoveryCount {
	RECOVERY_COUNT_DONE,
	RECOVERY_COUNT_UNDONE,
	RECOVERY_COUNT_QUARANTINED,
	RECOVERY_COUNT_MAX_,
} RecoveryCount;

typedef struct Metrics {
	uint64_t started_usec; /* CLOCK_REALTIME: since then it is counted */
	uint64_t jobs[OPERATION_MAX_][JOB_STATE_MAX_];
	Histogram job_durations[OPERATION_MAX_];
	Histogram step_durations[STEP_KIND_MAX_];
	uint64_t failures[GPUPASS_ERROR_MAX_ + 1]; /* the last: of no name that we know */
	uint64_t resets[RESET_METHOD_MAX_][RESET_RESULT_MAX_];
	uint64_t recovered[RECOVERY_COUNT_MAX_];
	uint64_t quarantines, quarantines_lifted;
	uint64_t drift_found, drift_gone;
	uint64_t foreign_found, foreign_gone;
} Metrics;

/* error_name: NULL or "" if it has none. */
void metrics_job_ended(Metrics *m, Operation operation, JobState state, uint64_t duration_usec,
		       const char *error_name);
/* Steps that found nothing to do are left out: they would hide how long the work takes. */
void metrics_step(Metrics *m, StepKind kind, StepState state, uint64_t duration_usec);
void metrics_failure(Metrics *m, const char *error_name);
void metrics_resets(Metrics *m, const ResetTally *tally);

/* What is counted, as members of org.gpupass1.metrics/1. */
json_t *metrics_to_json(const Metrics *m);
