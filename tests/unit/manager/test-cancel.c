/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the loop says of a cancel, and what the job's record shows then. */
#include "rig/test.h"

#include <string.h>

#include "manager/manager-rig.h"
#include "util/text.h"

#define USER 54321

static const JobRequest bind = RIG_BIND;

static void expect_refused(ManagerRig *rig, uint32_t id, GpupassError error, const char *words)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(manager_cancel_job(rig->manager, id, USER, &problem), PROBLEM);
	assert_int_equal(problem->error, error);
	if (!strstr(problem->reason, words))
		fail_msg("%s", problem->reason);
}

/* fault 62 */
ON_A_READY_MANAGER(a_running_job_shows_who_cancelled_it_and_ends_so)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	uint32_t id = manager_rig_begin_and_hold(rig, &bind);
	const JobRecord *job = manager_job(rig->manager, id);

	assert_false(job->cancel_requested);
	manager_rig_forget_told(rig);
	assert_int_equal(manager_cancel_job(rig->manager, id, USER, &problem), 0);
	/* It goes on until the step that runs has ended. */
	assert_true(job->cancel_requested);
	assert_int_equal(job->state, JOB_RUNNING);
	assert_true(manager_rig_was_told(rig, "changed 1"));
	/* The first one stays on record, and nothing is told twice. */
	manager_rig_forget_told(rig);
	assert_int_equal(manager_cancel_job(rig->manager, id, 0, &problem), 0);
	assert_int_equal(job->cancelled_by_uid, USER);
	assert_null(rig->told);
	manager_rig_let_go();
	rig_wait_for(rig->mailbox, &rig->has_ended);
	assert_false(job->changed);
	assert_true(manager_rig_was_told(rig, "ended 1 cancelled"));
	assert_string_equal(job->error_name, "org.gpupass1.Error.Cancelled");
	assert_non_null(strstr(job->message, "cannot bind pair0: user 54321 cancelled the job"));
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FREE);
}

/* fault 62 */
ON_A_READY_MANAGER(what_never_was_is_undone_or_has_ended_takes_no_cancel)
{
	const FakeMoveFault fails = { .bdf = "0000:61:00.0",
				      .driver = "vfio-pci",
				      .phase = DRIVER_PHASE_PROBE,
				      .error = -EIO };
	uint32_t id = manager_rig_begin_and_hold(rig, &bind);
	const JobRecord *job = manager_job(rig->manager, id);

	expect_refused(rig, id + 1, GPUPASS_ERROR_NO_SUCH_JOB, "there is no job 2");
	fake_fail_move(&rig->rig->fake, &fails);
	manager_rig_let_go();
	while (!job->rolling_back)
		mailbox_dispatch(rig->mailbox);
	if (!job->ended)
		expect_refused(rig, id, GPUPASS_ERROR_TOO_LATE,
			       "job 1 failed, and is undone already");
	rig_wait_for(rig->mailbox, &rig->has_ended);
	expect_refused(rig, id, GPUPASS_ERROR_TOO_LATE, "job 1 has ended already: failed");
	fake_watch(&rig->rig->fake);
	assert_int_equal(manager_rig_run(rig, &bind), JOB_DONE);
	expect_refused(rig, 2, GPUPASS_ERROR_TOO_LATE, "job 2 has ended already: done");
	assert_false(manager_job(rig->manager, 2)->cancel_requested);
}
