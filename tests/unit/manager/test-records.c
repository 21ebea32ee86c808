/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of jobs: what a job tells of itself, how many may run, which are kept, what its group
 * shows.
 */
#include "rig/test.h"

#include <string.h>
#include <unistd.h>

#include "gpupass/errors.h"
#include "manager/records.h"
#include "manager/state.h"
#include "util/text.h"

/* Not the user who runs this test: the daemon gives its own user the limits of root. */
#define USER 54321
#define OTHER_USER 54400

static void on_forgotten(const JobRecord *job, void *userdata)
{
	char ***told = userdata;

	strv_appendf(told, "%u", job->id);
}

/* A manager that has records, and nothing else. */
static void init(Manager *m, char ***told)
{
	*m = (Manager){ .listener = { .job_forgotten = on_forgotten, .userdata = told } };
}

static void done(Manager *m)
{
	for (size_t i = 0; i < m->n_jobs; i++)
		job_record_free(m->jobs[i]);
	free(m->jobs);
}

static JobRecord *add(Manager *m, Operation operation, uint32_t uid)
{
	const JobRequest request = { .operation = operation, .caller_uid = uid };
	JobRecord *job = NULL;

	job = job_record_new(m->last_job + 1, &request);
	records_add(m, job);
	return job;
}

static bool may(const Manager *m, Operation operation, uint32_t uid, const char *words)
{
	const JobRequest request = { .operation = operation, .caller_uid = uid };
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r = records_check_limits(m, &request, &problem);

	if (r == 0)
		return true;
	assert_int_equal(r, PROBLEM);
	assert_int_equal(problem->error, GPUPASS_ERROR_LIMITS_EXCEEDED);
	assert_non_null(strstr(problem->reason, words));
	assert_non_null(problem->remedy);
	return false;
}

TEST(a_new_job_has_the_texts_of_its_request_and_no_others)
{
	const JobRequest request = { .operation = OPERATION_RELEASE,
				     .target = (char *)"vm42",
				     .caller_uid = USER };
	JobRecord *job = NULL;

	job = job_record_new(7, &request);
	assert_int_equal(job->id, 7);
	assert_int_equal(job->operation, OPERATION_RELEASE);
	assert_string_equal(job->group, "");
	assert_string_equal(job->domain_name, "vm42");
	assert_string_equal(job->domain_uuid, "");
	assert_int_equal(job->state, JOB_PLANNING);
	assert_false(job->ended);
	assert_string_equal(job->error_name, "");
	assert_string_equal(job->message, "");
	assert_string_equal(job->result, "");
	assert_int_equal(job->caller_uid, USER);
	job_record_free(job);
}

TEST(plan_steps_and_end_fill_the_record)
{
	StepKind kinds[] = { STEP_PREFLIGHT, STEP_BIND };
	JobEvent planned = { .kind = JOB_EVENT_PLANNED,
			     .group = strdup("pair0"),
			     .functions = calloc(1, sizeof(Bdf)),
			     .n_functions = 1,
			     .steps = kinds,
			     .n_steps = 2,
			     .changed = true };
	JobEvent step = { .kind = JOB_EVENT_STEP,
			  .step = 1,
			  .step_state = STEP_FAILED,
			  .detail = strdup("0000:41:00.0"),
			  .duration_usec = 5 };
	JobEvent beyond = { .kind = JOB_EVENT_STEP, .step = 2, .step_state = STEP_DONE };
	JobEvent ended = { .kind = JOB_EVENT_ENDED,
			   .state = JOB_FAILED,
			   .error_name = strdup("org.gpupass1.Error.GroupBusy"),
			   .message = strdup("cannot bind pair0") };
	const JobRequest request = { .operation = OPERATION_BIND, .group = (char *)"GPU-1" };
	JobRecord *job = NULL;

	job = job_record_new(1, &request);
	job_record_planned(job, &planned);
	assert_null(planned.group); /* taken */
	assert_string_equal(job->group, "pair0");
	assert_int_equal(job->state, JOB_RUNNING);
	assert_int_equal(job->n_steps, 2);
	assert_int_equal(job->steps[0].state, STEP_PENDING);
	assert_true(job->changed);
	job_record_step(job, &step);
	job_record_step(job, &beyond);
	assert_int_equal(job->steps[0].state, STEP_PENDING);
	assert_int_equal(job->steps[1].state, STEP_FAILED);
	assert_string_equal(job->steps[1].detail, "0000:41:00.0");
	assert_int_equal(job->steps[1].duration_usec, 5);
	job_record_ended(job, &ended);
	assert_false(job->changed); /* it was put back */
	assert_string_equal(job->error_name, "org.gpupass1.Error.GroupBusy");
	assert_string_equal(job->message, "cannot bind pair0");
	assert_string_equal(job->result, "");
	/* Until the picture shows its end. */
	assert_int_equal(job->state, JOB_RUNNING);
	assert_false(job->ended);
	job_record_free(job);
}

TEST(a_user_has_so_many_jobs_and_leaves_others_theirs)
{
	Manager m;

	init(&m, NULL);
	for (size_t i = 0; i < JOBS_RUNNING_MAX; i++) {
		assert_true(may(&m, OPERATION_BIND, USER, ""));
		add(&m, OPERATION_BIND, USER);
	}
	assert_false(may(&m, OPERATION_BIND, USER, "32 jobs of user 54321 are running already"));
	assert_true(may(&m, OPERATION_BIND, OTHER_USER, ""));
	m.jobs[0]->ended = true;
	assert_true(may(&m, OPERATION_BIND, USER, ""));
	done(&m);
}

TEST(verifications_have_limits_of_their_own)
{
	Manager m;

	init(&m, NULL);
	for (uint32_t i = 0; i < VERIFICATIONS_USER_MAX; i++)
		add(&m, OPERATION_VERIFY, USER);
	assert_false(may(&m, OPERATION_VERIFY, USER, "2 guests are being asked already"));
	assert_true(may(&m, OPERATION_BIND, USER, ""));
	for (uint32_t i = VERIFICATIONS_USER_MAX; i < VERIFICATIONS_MAX; i++)
		add(&m, OPERATION_VERIFY, OTHER_USER + i);
	assert_false(may(&m, OPERATION_VERIFY, 0, "4 guests are being asked already"));
	done(&m);
}

/* What users do pushes nothing that root did out of sight, and no running job goes. */
TEST(the_oldest_ended_jobs_are_forgotten_each_side_by_itself)
{
	_cleanup_strv_ char **told = NULL;
	Manager m;

	init(&m, &told);
	add(&m, OPERATION_BIND, 0)->ended = true;
	add(&m, OPERATION_BIND, USER); /* 2 runs */
	for (size_t i = 0; i < JOBS_HISTORY_MAX + 2; i++)
		add(&m, OPERATION_BIND, USER)->ended = true;
	records_trim(&m);
	assert_int_equal(strv_length(told), 2);
	assert_string_equal(told[0], "3");
	assert_string_equal(told[1], "4");
	assert_non_null(manager_job(&m, 1));
	assert_non_null(manager_job(&m, 2));
	assert_null(manager_job(&m, 3));
	assert_null(manager_job(&m, 4));
	assert_non_null(manager_job(&m, 5));
	assert_int_equal(m.n_jobs, JOBS_HISTORY_MAX + 2);
	done(&m);
}

TEST(a_job_is_a_groups_by_function_until_it_ends)
{
	PciFunction lead = { 0 };
	Gpu gpu = { .lead = &lead };
	Gpu *gpus[] = { &gpu };
	/* Under another name: it was declared anew meanwhile. */
	const Group group = { .name = (char *)"renamed", .gpus = gpus, .n_gpus = 1 };
	JobRecord *job;
	Manager m;

	init(&m, NULL);
	assert_int_equal(bdf_parse("0000:41:00.0", &lead.bdf), 0);
	job = add(&m, OPERATION_BIND, 0);
	assert_int_equal(manager_group_job(&m, &group), 0);
	assert_true(manager_job_runs(&m));
	job->functions = calloc(1, sizeof(Bdf));
	job->functions[0] = lead.bdf;
	job->n_functions = 1;
	assert_int_equal(manager_group_job(&m, &group), job->id);
	job->ended = true;
	assert_int_equal(manager_group_job(&m, &group), 0);
	assert_false(manager_job_runs(&m));
	m.recovering = true;
	assert_true(manager_job_runs(&m));
	done(&m);
}

TEST(the_running_step_says_what_the_group_shows)
{
	static const struct {
		Operation operation;
		StepKind step;
		bool rolling_back;
		GroupState expected;
	} rows[] = {
		{ OPERATION_ASSIGN, STEP_PREFLIGHT, false, GROUP_BINDING },
		{ OPERATION_ASSIGN, STEP_PERSISTENCE_OFF, false, GROUP_BINDING },
		{ OPERATION_ASSIGN, STEP_BIND, false, GROUP_BINDING },
		{ OPERATION_ASSIGN, STEP_RESET, false, GROUP_RELEASING },
		{ OPERATION_ASSIGN, STEP_DEFINE, false, GROUP_ATTACHING },
		{ OPERATION_ASSIGN, STEP_ATTACH, false, GROUP_ATTACHING },
		{ OPERATION_ASSIGN, STEP_VERIFY, false, GROUP_ATTACHING },
		{ OPERATION_ASSIGN, STEP_RECORD, false, GROUP_ATTACHING },
		{ OPERATION_ASSIGN, STEP_ATTACH, true, GROUP_ROLLING_BACK },
		{ OPERATION_BIND, STEP_BIND, false, GROUP_BINDING },
		{ OPERATION_BIND, STEP_VERIFY, false, GROUP_BINDING },
		{ OPERATION_UNBIND, STEP_RESTORE, false, GROUP_RELEASING },
		{ OPERATION_RECONCILE, STEP_DEFINE, false, GROUP_ATTACHING },
		{ OPERATION_RELEASE, STEP_PREFLIGHT, false, GROUP_RELEASING },
		{ OPERATION_RELEASE, STEP_DETACH, false, GROUP_DETACHING },
		{ OPERATION_RELEASE, STEP_DEFINE, false, GROUP_RELEASING },
		{ OPERATION_RELEASE, STEP_RESET, false, GROUP_RELEASING },
		{ OPERATION_RELEASE, STEP_RESTORE, false, GROUP_RELEASING },
		{ OPERATION_RELEASE, STEP_PERSISTENCE_ON, false, GROUP_RELEASING },
		{ OPERATION_RELEASE, STEP_VERIFY, false, GROUP_RELEASING },
		{ OPERATION_RELEASE, STEP_FORGET, false, GROUP_RELEASING },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		JobStep steps[] = { { .kind = STEP_PREFLIGHT, .state = STEP_DONE },
				    { .kind = rows[i].step, .state = STEP_RUNNING } };
		const JobRecord job = { .operation = rows[i].operation,
					.steps = steps,
					.n_steps = 2,
					.rolling_back = rows[i].rolling_back };
		GroupState state_of = job_record_moving_state(&job);

		if (state_of != rows[i].expected)
			fail_msg("%s at %s: %s", operation_to_string(rows[i].operation),
				 step_kind_to_string(rows[i].step),
				 group_state_to_string(state_of));
	}
}
