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

/* A manager that has records, and nothing else. */
static void done(Manager *m)
{
	for (size_t i = 0; i < m->n_jobs; i++)
		job_record_free(m->jobs[i]);
	free(m->jobs);
}

static JobRecord *add(Manager *m, Operation operation, uint32_t uid)
{
	const JobRequest request = { .plan = { .operation = operation, .caller_uid = uid } };
	JobRecord *job = job_record_new(m->last_job + 1, &request);

	records_add(m, job);
	return job;
}

static bool may(const Manager *m, Operation operation, uint32_t uid, const char *words)
{
	const JobRequest request = { .plan = { .operation = operation, .caller_uid = uid } };
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

/* All that a job tells of itself; its steps with state, detail and duration. */
static void expect_text(const JobRecord *job, const char *expected)
{
	_cleanup_strv_ char **steps = NULL;
	_cleanup_free_ char *joined = NULL, *text = NULL;

	for (size_t i = 0; i < job->n_steps; i++)
		strv_appendf(&steps, " / %s %s %s %u", step_kind_to_string(job->steps[i].kind),
			     step_state_to_string(job->steps[i].state),
			     str_or_empty(job->steps[i].detail),
			     (unsigned)job->steps[i].duration_usec);
	joined = strv_join(steps, "");
	text = strf("%u %s of %u, group %s, domain %s (%s), %s%s%s, error %s: %s, result %s%s",
		    job->id, operation_to_string(job->operation), job->caller_uid, job->group,
		    job->domain_name, job->domain_uuid, job_state_to_string(job->state),
		    job->ended ? " ended" : "", job->changed ? " changed" : "", job->error_name,
		    job->message, job->result, joined);
	assert_string_equal(text, expected);
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
			   .error_name = strdup("an.Error"),
			   .message = strdup("cannot release it") };
	const JobRequest request = { .plan = { .operation = OPERATION_RELEASE, .caller_uid = USER },
				     .target = (char *)"vm42" };
	_cleanup_(job_record_freep) JobRecord *job = job_record_new(7, &request);

	expect_text(job, "7 release of 54321, group , domain vm42 (), planning, error : , result ");
	job_record_planned(job, &planned);
	assert_null(planned.group); /* taken */
	expect_text(job,
		    "7 release of 54321, group pair0, domain vm42 (), running changed, error : , "
		    "result  / preflight pending  0 / bind vfio-pci pending  0");
	job_record_step(job, &step);
	job_record_step(job, &beyond);
	job_record_ended(job, &ended);
	/* It was put back; and it runs until the picture shows its end. */
	expect_text(job,
		    "7 release of 54321, group pair0, domain vm42 (), running, error an.Error: "
		    "cannot release it, result  / preflight pending  0 / bind vfio-pci failed "
		    "0000:41:00.0 5");
}

TEST(a_user_has_so_many_jobs_and_leaves_others_theirs)
{
	_cleanup_(done) Manager m = { 0 };

	for (size_t i = 0; i < JOBS_RUNNING_MAX; i++) {
		assert_true(may(&m, OPERATION_BIND, USER, ""));
		add(&m, OPERATION_BIND, USER);
	}
	assert_false(may(&m, OPERATION_BIND, USER, "32 jobs of user 54321 are running already"));
	assert_true(may(&m, OPERATION_BIND, OTHER_USER, ""));
	m.jobs[0]->ended = true;
	assert_true(may(&m, OPERATION_BIND, USER, ""));
}

TEST(verifications_have_limits_of_their_own)
{
	_cleanup_(done) Manager m = { 0 };

	for (uint32_t i = 0; i < VERIFICATIONS_USER_MAX; i++)
		add(&m, OPERATION_VERIFY, USER);
	assert_false(may(&m, OPERATION_VERIFY, USER, "2 guests are being asked already"));
	assert_true(may(&m, OPERATION_BIND, USER, ""));
	for (uint32_t i = VERIFICATIONS_USER_MAX; i < VERIFICATIONS_MAX; i++)
		add(&m, OPERATION_VERIFY, OTHER_USER + i);
	assert_false(may(&m, OPERATION_VERIFY, 0, "4 guests are being asked already"));
}

/* What users do pushes nothing that root did out of sight, and no running job goes. */
TEST(the_oldest_ended_jobs_are_forgotten_each_side_by_itself)
{
	_cleanup_(done) Manager m = { 0 };

	add(&m, OPERATION_BIND, 0)->ended = true;
	add(&m, OPERATION_BIND, USER); /* 2 runs */
	for (size_t i = 0; i < JOBS_HISTORY_MAX + 2; i++)
		add(&m, OPERATION_BIND, USER)->ended = true;
	records_trim(&m);
	assert_non_null(manager_job(&m, 1));
	assert_non_null(manager_job(&m, 2));
	assert_null(manager_job(&m, 3));
	assert_null(manager_job(&m, 4));
	assert_non_null(manager_job(&m, 5));
	assert_int_equal(m.n_jobs, JOBS_HISTORY_MAX + 2);
}

TEST(the_running_step_says_what_the_group_shows)
{
	static const struct {
		Operation operation;
		bool rolling_back;
		GroupState expected;
		StepKind steps[8]; /* of all of them; preflight ends the list, but for the first */
	} rows[] = {
		ROW(OPERATION_ASSIGN, false, GROUP_BINDING,
		    { STEP_PREFLIGHT, STEP_PERSISTENCE_OFF, STEP_BIND }),
		ROW(OPERATION_ASSIGN, false, GROUP_RELEASING, { STEP_RESET }),
		ROW(OPERATION_ASSIGN, false, GROUP_ATTACHING,
		    { STEP_DEFINE, STEP_ATTACH, STEP_VERIFY, STEP_RECORD }),
		ROW(OPERATION_ASSIGN, true, GROUP_ROLLING_BACK, { STEP_ATTACH }),
		ROW(OPERATION_BIND, false, GROUP_BINDING, { STEP_BIND, STEP_VERIFY }),
		ROW(OPERATION_UNBIND, false, GROUP_RELEASING, { STEP_RESTORE }),
		ROW(OPERATION_RECONCILE, false, GROUP_ATTACHING, { STEP_DEFINE }),
		ROW(OPERATION_RELEASE, false, GROUP_DETACHING, { STEP_DETACH }),
		ROW(OPERATION_RELEASE, false, GROUP_RELEASING,
		    { STEP_PREFLIGHT, STEP_DEFINE, STEP_RESET, STEP_RESTORE, STEP_PERSISTENCE_ON,
		      STEP_VERIFY, STEP_FORGET }),
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		for (size_t k = 0; k == 0 || rows[i].steps[k] != STEP_PREFLIGHT; k++) {
			JobStep steps[] = { { .kind = STEP_PREFLIGHT, .state = STEP_DONE },
					    { .kind = rows[i].steps[k], .state = STEP_RUNNING } };
			const JobRecord job = { .operation = rows[i].operation,
						.steps = steps,
						.n_steps = 2,
						.rolling_back = rows[i].rolling_back };
			GroupState state_of = job_record_moving_state(&job);

			if (state_of != rows[i].expected)
				fail_msg("%s at %s: %s", operation_to_string(rows[i].operation),
					 step_kind_to_string(rows[i].steps[k]),
					 group_state_to_string(state_of));
		}
}
