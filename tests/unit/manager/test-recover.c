/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon before left open: kept apart before anything else, and settled before jobs. */
#include "rig/test.h"

#include <string.h>
#include <unistd.h>

#include "manager/manager-rig.h"
#include "manager/state.h"
#include "util/file.h"
#include "util/text.h"

static const JobRequest bind = RIG_BIND;

/* Job 7, an assign of pair0 to vm42, was at its define. */
static void leave_open(ManagerRig *rig)
{
	rig_shut_off(rig->rig);
	rig_leave_open(rig->rig, STEP_DEFINE, NULL);
	manager_load_state(rig->manager);
	assert_int_equal(rig->manager->n_open_jobs, 1);
}

static void recover(ManagerRig *rig)
{
	Caller caller = { 0 };

	assert_int_equal(manager_recover(rig->manager, caller_done, &caller), 0);
	caller_wait(rig, &caller);
}

static void expect(ManagerRig *rig, const char *name, GroupState state)
{
	manager_rig_connect(rig);
	assert_int_equal(manager_rig_group(rig, name)->state, state);
}

ON_A_MANAGER(nothing_left_open_is_recovered_at_once)
{
	Caller caller = { 0 };

	manager_load_state(rig->manager);
	assert_int_equal(manager_recover(rig->manager, caller_done, &caller), 0);
	assert_int_equal(caller.told, 1);
	assert_false(rig->manager->recovering);
}

ON_A_MANAGER(what_is_left_open_is_kept_apart_before_it_is_recovered)
{
	Manager *m = rig->manager;
	const JobRequest other = bind_request("pair1");
	_cleanup_(problem_freep) Problem *problem = NULL;
	Caller caller = { 0 };

	leave_open(rig);
	expect(rig, "pair0", GROUP_QUARANTINED);
	assert_string_equal(manager_rig_group(rig, "pair0")->reason,
			    "a job was interrupted and is being recovered");
	/* No job gets it, nor may a person lift that; others go on, with ids that are new. */
	assert_int_equal(manager_rig_run(rig, &bind), JOB_FAILED);
	assert_string_equal(manager_job(m, 8)->error_name, "org.gpupass1.Error.Quarantined");
	assert_int_equal(manager_clear(m, "pair0", caller_declared, &caller, &problem), PROBLEM);
	assert_int_equal(problem->error, GPUPASS_ERROR_GROUP_BUSY);
	assert_int_equal(caller.told, 0);
	assert_int_equal(manager_rig_run(rig, &other), JOB_DONE);
	/* Adoption waits, too. */
	assert_false(m->adopted);
}

static int cancel(ManagerRig *rig, uint32_t id)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(manager_cancel_job(rig->manager, id, 0, &problem), PROBLEM);
	return problem->error;
}

/* fault 62 */
ON_A_MANAGER(recovery_undoes_it_takes_no_cancel_and_the_picture_shows_that)
{
	Manager *m = rig->manager;
	_cleanup_free_ char *before = NULL;
	Caller caller = { 0 }, second = { 0 };

	rig_shut_off(rig->rig);
	before = rig_world(rig->rig);
	rig_leave_open(rig->rig, STEP_DEFINE, NULL);
	manager_load_state(m);
	assert_int_equal(cancel(rig, 7), GPUPASS_ERROR_TOO_LATE);
	assert_int_equal(manager_recover(m, caller_done, &caller), 0);
	assert_int_equal(manager_recover(m, caller_done, &second), -EBUSY);
	assert_int_equal(m->n_open_jobs, 0); /* a thread has them */
	assert_true(manager_job_runs(m));
	assert_int_equal(cancel(rig, 7), GPUPASS_ERROR_TOO_LATE);
	assert_int_equal(cancel(rig, 6), GPUPASS_ERROR_NO_SUCH_JOB);
	caller_wait(rig, &caller);
	assert_int_equal(cancel(rig, 7), GPUPASS_ERROR_NO_SUCH_JOB);
	rig_check_world(rig->rig, before, "undone");
	assert_int_equal(m->n_open_jobs, 0);
	assert_int_equal(m->metrics.recovered[RECOVERED_UNDONE], 1);
	assert_int_equal(m->metrics.quarantines, 0);
	expect(rig, "pair0", GROUP_FREE);
	manager_rig_settle(rig);
	assert_true(m->adopted);
	assert_int_equal(manager_rig_run(rig, &bind), JOB_DONE);
	assert_int_equal(caller.told, 1);
	assert_int_equal(second.told, 0);
}

static uint32_t last_on_disk(NumberStore *store)
{
	RecordFaults faults = { 0 };
	uint32_t last = number_store_load(store, &faults);

	assert_int_equal(faults.n_items, 0);
	return last;
}

/* A start reserves a thousand, and a job the next, before they are used up; a stop gives back. */
ON_A_MANAGER(no_two_jobs_of_a_host_have_one_number)
{
	Manager *m = rig->manager;
	NumberStore numbers;

	number_store_open(&numbers, rig->rig->state_directory);
	m->place.job.numbers = &numbers;
	manager_load_state(m);
	assert_int_equal(last_on_disk(&numbers), 1000);
	manager_rig_connect(rig);
	m->last_job = 800;
	assert_int_equal(manager_rig_run(rig, &bind), JOB_DONE);
	manager_rig_settle(rig);
	assert_int_equal(m->last_job, 801);
	assert_int_equal(last_on_disk(&numbers), 1801);
	manager_give_numbers_back(m);
	assert_int_equal(last_on_disk(&numbers), 801);
	/* It is lost: the journal has the last one. */
	assert_int_equal(records_remove(&numbers.records, "numbers.json"), 0);
	manager_load_state(m);
	number_store_reserve(&numbers, 1301);
	assert_int_equal(last_on_disk(&numbers), 2301);
	assert_int_equal(records_remove(&numbers.records, "numbers.json"), 0);
	m->place.job.numbers = NULL;
	records_close(&numbers.records);
}

ON_A_MANAGER(without_libvirt_it_waits_and_stays_kept_apart)
{
	static const FakeFault down = { .op = FAKE_USES,
					.nth = 1,
					.problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	_cleanup_free_ char *before = NULL;

	leave_open(rig);
	before = rig_world(rig->rig);
	fake_watch(&rig->rig->fake);
	fake_fail(&rig->rig->fake, &down);
	recover(rig);
	rig_check_world(rig->rig, before, "it waits");
	assert_int_equal(rig->manager->n_open_jobs, 1);
	manager_rig_look(rig);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_QUARANTINED);
	recover(rig); /* libvirt is back */
	assert_int_equal(rig->manager->n_open_jobs, 0);
	expect(rig, "pair0", GROUP_FREE);
}

/* Job 8, a bind of pair1, which has lost libvirt before its first step. */
static OpenJob *leave_another(ManagerRig *rig)
{
	const Plan *plan = rig_plan(rig->rig, &bind_request("pair1"));
	Journal *journal = &rig->rig->journal;
	JournalJob *log = NULL;
	OpenJob *job = NULL;

	assert_int_equal(journal_begin(journal, 8, plan, NULL, NULL, 1, &log), 0);
	journal_job_free(log);
	claims_release(rig->rig->claims, rig->rig->last_job);
	assert_int_equal(journal_load_job(journal, 8, &job), 0);
	recover_claim(&rig->manager->place.job, job, "waits");
	return job;
}

/* Two jobs wait for libvirt, and roll back; it is back when one has ended and the other has not. */
ON_A_MANAGER(what_is_left_open_while_another_is_recovered_is_recovered_behind_it)
{
	Manager *m = rig->manager;
	Caller caller = { 0 };

	leave_open(rig);
	manager_rig_connect(rig);
	assert_int_equal(manager_recover(m, caller_done, &caller), 0);
	manager_take_open_job(m, leave_another(rig));
	assert_int_equal(m->n_open_jobs, 1);
	caller_wait(rig, &caller);
	manager_rig_settle(rig);
	assert_int_equal(m->n_open_jobs, 0);
	assert_false(manager_has_open_jobs(m));
	expect(rig, "pair0", GROUP_FREE);
	expect(rig, "pair1", GROUP_FREE);
}

/* libvirt goes again under the second try, which is not made a third time before it is back. */
ON_A_MANAGER(recovery_that_is_asked_for_meanwhile_is_tried_once_more_and_no_more)
{
	static const FakeFault down = { .op = FAKE_USES,
					.nth = 1,
					.from_then_on = true,
					.problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	Manager *m = rig->manager;
	Caller caller = { 0 };

	leave_open(rig);
	manager_rig_connect(rig);
	manager_rig_settle(rig);
	fake_watch(&rig->rig->fake);
	fake_fail(&rig->rig->fake, &down);
	assert_int_equal(manager_recover(m, caller_done, &caller), 0);
	assert_int_equal(manager_recover(m, caller_done, &caller), -EBUSY);
	caller_wait(rig, &caller);
	manager_rig_settle(rig);
	assert_int_equal(m->n_open_jobs, 1);
	assert_int_equal(rig->rig->fake.calls[FAKE_USES], 2);
}

ON_A_MANAGER(what_cannot_be_recovered_is_quarantined_also_after_the_next_start)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	Caller cleared = { 0 };

	leave_open(rig);
	fake_all_gone(&rig->rig->fake, true);
	recover(rig);
	fake_all_gone(&rig->rig->fake, false);
	expect(rig, "pair0", GROUP_QUARANTINED);
	manager_rig_restart(rig);
	manager_load_state(rig->manager);
	assert_int_equal(rig->manager->n_open_jobs, 0);
	expect(rig, "pair0", GROUP_QUARANTINED);
	/* A person lifts it. */
	assert_int_equal(manager_clear(rig->manager, "pair0", caller_declared, &cleared, &problem),
			 0);
	caller_wait(rig, &cleared);
	assert_null(cleared.error_name);
	assert_int_not_equal(manager_rig_group(rig, "pair0")->state, GROUP_QUARANTINED);
}

/* Nobody knows which functions it was about. */
ON_A_MANAGER(a_journal_that_cannot_be_read_keeps_every_group_apart)
{
	_cleanup_strv_ char **names = NULL;
	int journal_fd = rig->rig->journal.dir_fd;

	rig_shut_off(rig->rig);
	rig_leave_open(rig->rig, STEP_DEFINE, NULL);
	assert_int_equal(dir_list(journal_fd, "", &names), 0);
	assert_int_equal(strv_length(names), 1);
	assert_int_equal(file_replace_at(journal_fd, names[0], "garbage\n", 8, 0600), 0);
	manager_load_state(rig->manager);
	expect(rig, "pair0", GROUP_QUARANTINED);
	expect(rig, "pair1", GROUP_QUARANTINED);
	assert_true(manager_rig_notes(rig, "journal/"));
}
