/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/metrics/metrics.h"

#include "util/json.h"

static const uint64_t bounds_usec[METRICS_BOUNDS] = METRICS_BOUNDS_USEC;

/* ---- counting ---- */

static void histogram_add(Histogram *h, uint64_t usec)
{
	size_t i = 0;

	while (i < METRICS_BOUNDS && usec > bounds_usec[i])
		i++;
	h->n[i]++;
	h->sum_usec += usec;
}

void metrics_failure(Metrics *m, const char *error_name)
{
	size_t i = 0;

	while (i < GPUPASS_ERROR_MAX_ && !str_equal(problem_dbus_name((GpupassError)i), error_name))
		i++;
	m->failures[i]++;
}

void metrics_job_ended(Metrics *m, Operation operation, JobState state, uint64_t duration_usec,
		       const char *error_name)
{
	if ((size_t)operation >= OPERATION_MAX_ || (size_t)state >= JOB_STATE_MAX_)
		return;
	m->jobs[operation][state]++;
	histogram_add(&m->job_durations[operation], duration_usec);
	if (state != JOB_DONE)
		metrics_failure(m, error_name);
}

void metrics_step(Metrics *m, StepKind kind, StepState state, uint64_t duration_usec)
{
	bool ended = state == STEP_DONE || state == STEP_NOT_DONE || state == STEP_FAILED;

	if ((size_t)kind < STEP_KIND_MAX_ && ended)
		histogram_add(&m->step_durations[kind], duration_usec);
}

void metrics_resets(Metrics *m, const ResetTally *tally)
{
	for (size_t i = 0; i < RESET_METHOD_MAX_; i++)
		for (size_t k = 0; k < RESET_RESULT_MAX_; k++)
			m->resets[i][k] += tally->n[i][k];
}

/* ---- as JSON ---- */

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *numbers(const uint64_t *n, size_t count)
{
	return JSON_ARRAY(n, count, number(*it));
}

static json_t *histogram_to_json(const Histogram *h)
{
	return json_build("{s:o, s:o}", "counts", numbers(h->n, METRICS_BOUNDS + 1), "sum_usec",
			  number(h->sum_usec));
}

static bool is_end(JobState state)
{
	return state != JOB_PLANNING && state != JOB_RUNNING && state != JOB_ROLLING_BACK;
}

static json_t *results_to_json(const uint64_t *states)
{
	json_t *results = json_object();

	for (size_t i = 0; i < JOB_STATE_MAX_; i++)
		if (is_end((JobState)i))
			json_set(results, job_state_to_string((JobState)i), number(states[i]));
	return results;
}

static json_t *jobs_to_json(const Metrics *m)
{
	json_t *jobs = json_array();

	for (size_t i = 0; i < OPERATION_MAX_; i++)
		json_append(jobs, json_build("{s:s, s:o, s:o}", "operation",
					     operation_to_string((Operation)i), "results",
					     results_to_json(m->jobs[i]), "duration",
					     histogram_to_json(&m->job_durations[i])));
	return jobs;
}

static json_t *steps_to_json(const Metrics *m)
{
	json_t *steps = json_array();

	for (size_t i = 0; i < STEP_KIND_MAX_; i++)
		json_append(steps,
			    json_build("{s:s, s:o}", "step", step_kind_to_string((StepKind)i),
				       "duration", histogram_to_json(&m->step_durations[i])));
	return steps;
}

static json_t *failures_to_json(const Metrics *m)
{
	json_t *failures = json_object();

	for (size_t i = 0; i < GPUPASS_ERROR_MAX_; i++)
		json_set(failures,
			 problem_dbus_name((GpupassError)i) + strlen(GPUPASS_ERROR_PREFIX),
			 number(m->failures[i]));
	json_set(failures, "other", number(m->failures[GPUPASS_ERROR_MAX_]));
	return failures;
}

/* Only what there was: most methods are of boards that a host does not have. */
static json_t *resets_to_json(const Metrics *m)
{
	json_t *resets = json_array();

	for (size_t i = 0; i < RESET_METHOD_MAX_; i++)
		for (size_t k = 0; k < RESET_RESULT_MAX_; k++)
			if (m->resets[i][k] > 0)
				json_append(resets,
					    json_build("{s:s, s:s, s:o}", "method",
						       reset_method_to_string((ResetMethod)i),
						       "result",
						       reset_result_to_string((ResetResult)k),
						       "count", number(m->resets[i][k])));
	return resets;
}

static json_t *recovered_to_json(const Metrics *m)
{
	return json_build("{s:o, s:o, s:o}", "done", number(m->recovered[RECOVERY_COUNT_DONE]),
			  "undone", number(m->recovered[RECOVERY_COUNT_UNDONE]), "quarantined",
			  number(m->recovered[RECOVERY_COUNT_QUARANTINED]));
}

json_t *metrics_to_json(const Metrics *m)
{
	return json_build(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "started_usec",
		number(m->started_usec), "bounds_usec", numbers(bounds_usec, METRICS_BOUNDS),
		"jobs", jobs_to_json(m), "steps", steps_to_json(m), "failures", failures_to_json(m),
		"resets", resets_to_json(m), "recovered", recovered_to_json(m), "quarantines_made",
		number(m->quarantines), "quarantines_lifted", number(m->quarantines_lifted),
		"drift_found", number(m->drift_found), "drift_gone", number(m->drift_gone),
		"foreign_found", number(m->foreign_found), "foreign_gone", number(m->foreign_gone));
}
