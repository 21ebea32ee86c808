/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "core/metrics/metrics.h"
#include "util/json.h"

static const uint64_t bounds[METRICS_BOUNDS] = METRICS_BOUNDS_USEC;

static json_int_t number_at(const json_t *o, const char *list, size_t i, const char *object,
			    const char *key)
{
	const json_t *item = json_array_get(json_object_get(o, list), i);

	return json_integer_value(json_object_get(json_object_get(item, object), key));
}

TEST(a_duration_counts_in_the_first_bucket_that_holds_it)
{
	Metrics m = { 0 };
	size_t i;

	for (i = 0; i < METRICS_BOUNDS; i++) {
		assert_true(i == 0 || bounds[i] > bounds[i - 1]);
		metrics_step(&m, STEP_BIND, STEP_DONE, bounds[i]);
		metrics_step(&m, STEP_BIND, STEP_FAILED, bounds[i] + 1);
	}
	assert_int_equal(1, m.step_durations[STEP_BIND].n[0]);
	for (i = 1; i < METRICS_BOUNDS; i++)
		assert_int_equal(2, m.step_durations[STEP_BIND].n[i]);
	assert_int_equal(1, m.step_durations[STEP_BIND].n[METRICS_BOUNDS]);
}

TEST(steps_that_did_nothing_are_left_out)
{
	Metrics m = { 0 };
	const Metrics empty = { 0 };

	for (size_t i = 0; i < STEP_STATE_MAX_; i++)
		if (i != STEP_DONE && i != STEP_NOT_DONE && i != STEP_FAILED)
			metrics_step(&m, STEP_BIND, (StepState)i, 5);
	metrics_step(&m, STEP_KIND_MAX_, STEP_DONE, 5);
	assert_memory_equal(&m, &empty, sizeof(m));
}

TEST(a_failure_counts_by_its_name_and_others_together)
{
	Metrics m = { 0 };

	metrics_job_ended(&m, OPERATION_ASSIGN, JOB_DONE, 5, "");
	metrics_job_ended(&m, OPERATION_ASSIGN, JOB_FAILED, 5, GPUPASS_ERROR_PREFIX "GroupBusy");
	metrics_job_ended(&m, OPERATION_BIND, JOB_INCOMPLETE, 5, GPUPASS_ERROR_PREFIX "Internal");
	metrics_failure(&m, "org.freedesktop.DBus.Error.NoMemory");
	metrics_failure(&m, NULL);
	metrics_failure(&m, "");
	assert_int_equal(1, m.jobs[OPERATION_ASSIGN][JOB_DONE]);
	assert_int_equal(1, m.jobs[OPERATION_ASSIGN][JOB_FAILED]);
	assert_int_equal(1, m.jobs[OPERATION_BIND][JOB_INCOMPLETE]);
	assert_int_equal(1, m.failures[GPUPASS_ERROR_GROUP_BUSY]);
	assert_int_equal(1, m.failures[GPUPASS_ERROR_INTERNAL]);
	assert_int_equal(3, m.failures[GPUPASS_ERROR_MAX_]);
}

TEST(a_worker_cannot_name_a_new_method)
{
	char text[] = "flr\"} 1", flr[] = "flr", pm[] = "pm";
	ResetTally tally = { 0 };
	Metrics m = { 0 };
	const ResetReport reports[] = {
		{ .result = RESET_DONE, .method = flr },
		{ .result = RESET_DONE, .method = text },
		{ .result = RESET_FAILED, .method = pm },
		{ .result = RESET_NO_METHOD },
		{ .result = RESET_WITH_LEAD }, /* no reset of its own */
		{ .result = RESET_RESULT_MAX_, .method = flr },
	};

	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		reset_tally_add(&tally, &reports[i]);
	metrics_resets(&m, &tally);
	metrics_resets(&m, &tally);
	assert_int_equal(2, m.resets[RESET_METHOD_FLR][RESET_DONE]);
	assert_int_equal(2, m.resets[RESET_METHOD_OTHER][RESET_DONE]);
	assert_int_equal(2, m.resets[RESET_METHOD_PM][RESET_FAILED]);
	assert_int_equal(2, m.resets[RESET_METHOD_NONE][RESET_NO_METHOD]);
}

TEST(a_tally_does_not_wrap)
{
	const ResetReport report = { .result = RESET_NO_METHOD };
	ResetTally tally = { 0 };

	for (int i = 0; i < 300; i++)
		reset_tally_add(&tally, &report);
	assert_int_equal(UINT8_MAX, tally.n[RESET_METHOD_NONE][RESET_NO_METHOD]);
}

TEST(the_document_has_a_place_for_each_name)
{
	Metrics m = { .started_usec = 7 };
	_cleanup_json_ json_t *o = NULL;

	metrics_job_ended(&m, OPERATION_RELEASE, JOB_FAILED, 30000,
			  GPUPASS_ERROR_PREFIX "HostInUse");
	o = metrics_to_json(&m);
	assert_non_null(o);
	assert_int_equal(OPERATION_MAX_, json_array_size(json_object_get(o, "jobs")));
	assert_int_equal(STEP_KIND_MAX_, json_array_size(json_object_get(o, "steps")));
	assert_int_equal(METRICS_BOUNDS, json_array_size(json_object_get(o, "bounds_usec")));
	assert_int_equal(GPUPASS_ERROR_MAX_ + 1, json_object_size(json_object_get(o, "failures")));
	assert_int_equal(1, json_integer_value(
				    json_object_get(json_object_get(o, "failures"), "HostInUse")));
	assert_int_equal(1, number_at(o, "jobs", OPERATION_RELEASE, "results", "failed"));
	assert_int_equal(0, number_at(o, "jobs", OPERATION_RELEASE, "results", "done"));
	assert_int_equal(30000, number_at(o, "jobs", OPERATION_RELEASE, "duration", "sum_usec"));
	assert_int_equal(7, json_integer_value(json_object_get(o, "started_usec")));
}

/* However long it runs: what can be there is there from the start. */
TEST(the_document_stays_small)
{
	_cleanup_json_ json_t *o = NULL;
	_cleanup_free_ char *text = NULL;
	Metrics m;

	/* No number is longer as text than this one. */
	memset(&m, 0x7f, sizeof(m));
	o = metrics_to_json(&m);
	text = json_dumps(o, JSON_COMPACT);
	assert_in_range(strlen(text), 1, 32767);
}
