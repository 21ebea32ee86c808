/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the loop says of a cancel, and what the job's record shows then. */
#include "rig/test.h"

#include <poll.h>
#include <semaphore.h>
#include <string.h>

#include "manager/manager-rig.h"
#include "util/text.h"

#define USER 54321

/* The job's thread waits in its first move until the loop lets it go on. */
static sem_t in_move, go_on;

static void wait_in_move(_unused_ FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op != FAKE_MOVE || nth != 1)
		return;
	sem_post(&in_move);
	sem_wait(&go_on);
}

static void drain(ManagerRig *rig)
{
	struct pollfd pollfd = { .fd = mailbox_fd(rig->mailbox), .events = POLLIN };

	while (poll(&pollfd, 1, 0) == 1)
		mailbox_dispatch(rig->mailbox);
}

static uint32_t begin(ManagerRig *rig)
{
	const JobRequest request = bind_request("pair0");
	_cleanup_(problem_freep) Problem *problem = NULL;
	uint32_t id = 0;

	assert_int_equal(sem_init(&in_move, 0, 0), 0);
	assert_int_equal(sem_init(&go_on, 0, 0), 0);
	manager_rig_connect(rig);
	manager_rig_settle(rig);
	fake_watch(&rig->rig->fake);
	rig->rig->fake.hook = wait_in_move;
	rig->has_ended = false;
	assert_int_equal(manager_start_job(rig->manager, &request, &id, &problem), 0);
	sem_wait(&in_move);
	drain(rig);
	return id;
}

static void end(ManagerRig *rig)
{
	sem_post(&go_on);
	rig_wait_for(rig->mailbox, &rig->has_ended);
	manager_rig_settle(rig);
}

static void expect_refused(ManagerRig *rig, uint32_t id, GpupassError error, const char *words)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(manager_cancel_job(rig->manager, id, USER, &problem), PROBLEM);
	assert_int_equal(problem->error, error);
	if (!strstr(problem->reason, words))
		fail_msg("%s", problem->reason);
}

/* fault 62 */
ON_A_MANAGER(a_running_job_shows_who_cancelled_it_and_ends_so)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	uint32_t id = begin(rig);
	const JobRecord *job = manager_job(rig->manager, id);

	assert_false(job->cancel_requested);
	manager_rig_forget_told(rig);
	assert_int_equal(manager_cancel_job(rig->manager, id, USER, &problem), 0);
	/* It goes on until the step that runs has ended. */
	assert_true(job->cancel_requested);
	assert_int_equal(job->cancelled_by_uid, USER);
	assert_int_equal(job->state, JOB_RUNNING);
	assert_true(manager_rig_was_told(rig, "changed 1"));
	/* The first one stays on record, and nothing is told twice. */
	manager_rig_forget_told(rig);
	assert_int_equal(manager_cancel_job(rig->manager, id, 0, &problem), 0);
	assert_int_equal(job->cancelled_by_uid, USER);
	assert_null(rig->told);
	end(rig);
	assert_int_equal(job->state, JOB_CANCELLED);
	assert_false(job->changed);
	assert_true(manager_rig_was_told(rig, "ended 1 cancelled"));
	assert_string_equal(job->error_name, "org.gpupass1.Error.Cancelled");
	assert_non_null(strstr(job->message, "cannot bind pair0: user 54321 cancelled the job"));
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FREE);
}

/* fault 62 */
ON_A_MANAGER(what_has_ended_or_never_was_takes_no_cancel)
{
	uint32_t id = begin(rig);

	expect_refused(rig, id + 1, GPUPASS_ERROR_NO_SUCH_JOB, "there is no job 2");
	end(rig);
	assert_int_equal(manager_job(rig->manager, id)->state, JOB_DONE);
	expect_refused(rig, id, GPUPASS_ERROR_TOO_LATE, "job 1 has ended already: done");
	assert_false(manager_job(rig->manager, id)->cancel_requested);
}

/* fault 62 */
ON_A_MANAGER(a_job_that_failed_and_is_undone_takes_none_either)
{
	const FakeMoveFault fails = { .bdf = "0000:61:00.0",
				      .driver = "vfio-pci",
				      .phase = DRIVER_PHASE_PROBE,
				      .error = -EIO };
	uint32_t id = begin(rig);

	fake_fail_move(&rig->rig->fake, &fails);
	sem_post(&go_on);
	while (!manager_job(rig->manager, id)->rolling_back)
		mailbox_dispatch(rig->mailbox);
	if (!manager_job(rig->manager, id)->ended)
		expect_refused(rig, id, GPUPASS_ERROR_TOO_LATE,
			       "job 1 failed, and is undone already");
	rig_wait_for(rig->mailbox, &rig->has_ended);
	assert_int_equal(manager_job(rig->manager, id)->state, JOB_FAILED);
	expect_refused(rig, id, GPUPASS_ERROR_TOO_LATE, "job 1 has ended already: failed");
}
