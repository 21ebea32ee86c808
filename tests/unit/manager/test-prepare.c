/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group that is not ready for a domain is prepared by itself, and one that fails not for ever. */
#include "rig/test.h"

#include <string.h>

#include "manager/manager-rig.h"
#include "manager/records.h"
#include "manager/state.h"
#include "rig/bdf.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"

#define PAIR0                                                                                      \
	"[Group]\nName=pair0\nGpu=0000:41:00.0\nGpu=0000:61:00.0\nWith=nvme:" NVME "\nErase=yes\n"

static void declare_nvme(ManagerRig *rig, const char *mount)
{
	rig_unready(rig->rig);
	rig->rig->fake.nvme.mount = mount;
	rig->ops = *rig->rig->fake.host.ops;
	rig->rig->fake.host.ops = &rig->ops;
	manager_rig_write_group(rig, "pair0", PAIR0);
	manager_rig_restart(rig);
	manager_rig_connect(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
}

static const JobRecord *only_job(ManagerRig *rig)
{
	size_t n;
	const JobRecord *const *jobs = manager_jobs(rig->manager, &n);

	assert_int_equal(n, 1);
	assert_int_equal(jobs[0]->operation, OPERATION_PREPARE);
	return jobs[0];
}

ON_A_MANAGER(a_group_that_is_unready_is_prepared_by_itself)
{
	declare_nvme(rig, NULL);
	assert_int_equal(only_job(rig)->state, JOB_DONE);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FREE);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	only_job(rig);
}

ON_A_MANAGER(what_a_tenant_gives_back_is_prepared_by_itself)
{
	const JobRecord *const *jobs;
	size_t n;

	declare_nvme(rig, NULL);
	fake_add_domain(&rig->rig->fake, "vm42", "q35-eight-ports", NULL);
	if (manager_rig_run(rig, &ASSIGN) != JOB_DONE)
		fail_msg("%s", manager_jobs(rig->manager, &n)[1]->message);
	assert_int_equal(manager_rig_run(rig, &RELEASE), JOB_DONE);
	manager_rig_settle(rig);
	jobs = manager_jobs(rig->manager, &n);
	assert_int_equal(n, 4);
	assert_int_equal(jobs[3]->operation, OPERATION_PREPARE);
	assert_int_equal(jobs[3]->state, JOB_DONE);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FREE);
}

ON_A_MANAGER(one_that_has_just_failed_waits_for_a_person)
{
	declare_nvme(rig, "/srv");
	assert_int_equal(only_job(rig)->state, JOB_FAILED);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_UNREADY);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	only_job(rig);
	rig->rig->fake.nvme.mount = NULL;
	assert_int_equal(manager_rig_run(rig, &PREPARE), JOB_DONE);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FREE);
}

/* As if so many minutes had passed. */
static size_t jobs_after(ManagerRig *rig, unsigned minutes)
{
	size_t n;
	const JobRecord *const *jobs = manager_jobs(rig->manager, &n);

	for (size_t i = 0; i < n; i++)
		((JobRecord *)jobs[i])->started_usec -= minutes * 60 * USEC_PER_SEC;
	manager_rig_look(rig);
	manager_rig_settle(rig);
	(void)manager_jobs(rig->manager, &n);
	return n;
}

/* fault E1 */
ON_A_MANAGER(one_that_fails_again_is_tried_after_twice_as_long)
{
	declare_nvme(rig, "/srv");
	assert_int_equal(jobs_after(rig, 4), 1);
	assert_int_equal(jobs_after(rig, 2), 2);
	assert_int_equal(jobs_after(rig, 9), 2);
	assert_int_equal(jobs_after(rig, 2), 3);
	assert_int_equal(jobs_after(rig, 19), 3);
	rig->rig->fake.nvme.mount = NULL;
	assert_int_equal(jobs_after(rig, 2), 4);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FREE);
}

/* fault E3 */
ON_A_MANAGER(what_is_new_at_the_address_waits_for_a_person)
{
	declare_nvme(rig, NULL);
	fake_add_domain(&rig->rig->fake, "vm42", "q35-eight-ports", NULL);
	assert_int_equal(manager_rig_run(rig, &ASSIGN), JOB_DONE);
	rig->rig->fake.nvme.serial = "S2";
	assert_int_equal(manager_rig_run(rig, &RELEASE), JOB_DONE);
	manager_rig_settle(rig);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_UNREADY);
	assert_int_equal(manager_rig_run(rig, &PREPARE), JOB_DONE);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FREE);
}

/* The groups are not those that the operator means. */
ON_A_MANAGER(with_a_fault_in_the_declarations_nothing_is_prepared)
{
	size_t n;

	manager_rig_write_group(rig, "odd", "[Group]\nNonsense=left\n");
	declare_nvme(rig, NULL);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_UNREADY);
	(void)manager_jobs(rig->manager, &n);
	assert_int_equal(n, 0);
	manager_rig_write_group(rig, "odd", "");
	manager_rig_restart(rig);
	manager_rig_connect(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	assert_int_equal(only_job(rig)->state, JOB_DONE);
}

static void start_anew(ManagerRig *rig)
{
	manager_rig_restart(rig);
	manager_rig_connect(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
}

static void declare_vf(ManagerRig *rig)
{
	rig_lacks_vf(rig->rig);
	rig->ops = *rig->rig->fake.host.ops;
	rig->rig->fake.host.ops = &rig->ops;
	manager_rig_write_group(rig, "pair0",
				"[Group]\nName=pair0\nGpu=18:00.0\nGpu=19:00.0\nWith=vf:" RIG_VF
				"\n");
}

/* Nothing is erased of it, and its domain could not start. */
ON_A_MANAGER(with_a_fault_in_the_declarations_the_vf_of_a_domain_is_made_all_the_same)
{
	size_t n;

	declare_vf(rig);
	start_anew(rig);
	assert_int_equal(manager_rig_run(rig, &ASSIGN), JOB_DONE);
	rig->rig->fake.hides_vfs = true;
	manager_rig_write_group(rig, "odd", "[Group]\nNonsense=left\n");
	start_anew(rig);
	(void)manager_jobs(rig->manager, &n);
	assert_true(n > 0);
	assert_false(rig->rig->fake.hides_vfs);
}

/* It is there until a person has removed it. */
ON_A_MANAGER(what_no_job_will_end_is_not_tried_again_and_again)
{
	static const char damaged[] = "damaged";
	size_t n;

	assert_int_equal(file_replace_at(rig->rig->store.records.dir_fd, "x.json", damaged,
					 sizeof(damaged) - 1, 0600),
			 0);
	declare_vf(rig);
	start_anew(rig);
	assert_int_equal(only_job(rig)->state, JOB_FAILED);
	assert_string_equal(only_job(rig)->error_name, problem_dbus_name(GPUPASS_ERROR_GROUP_BUSY));
	/* One that was in the way would have ended by now. */
	(void)manager_rig_run(rig, &group_request(OPERATION_BIND, "pair1"));
	manager_rig_settle(rig);
	(void)manager_jobs(rig->manager, &n);
	assert_int_equal(n, 3);
}

ON_A_MANAGER(what_a_person_has_edited_is_not_prepared_before_a_reload)
{
	DeclareWish pair1 = { .name = (char[]){ "pair1" },
			      .members = (char *[]){ (char[]){ "a1:00.0" }, (char[]){ "c1:00.0" },
						     NULL } };
	_cleanup_(caller_clear) Caller caller = { 0 };
	size_t n;

	rig_unready(rig->rig);
	rig->ops = *rig->rig->fake.host.ops;
	rig->rig->fake.host.ops = &rig->ops;
	manager_rig_connect(rig);
	manager_rig_write_group(rig, "pair0", PAIR0);
	for (unsigned i = 0; i < 2; i++) {
		if (i == 0)
			manager_forget(rig->manager, "pair1", caller_declared, &caller);
		else
			manager_declare(rig->manager, &pair1, false, caller_declared, &caller);
		caller_wait(rig, &caller);
		assert_null(caller.message);
		manager_rig_settle(rig);
		assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_UNREADY);
		(void)manager_jobs(rig->manager, &n);
		assert_int_equal(n, 0);
	}
	manager_reload(rig->manager);
	manager_rig_settle(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	assert_int_equal(only_job(rig)->state, JOB_DONE);
}

/* Also not for a VF that is there, with which its NVMe would be erased. */
/* promise M7 */
ON_A_MANAGER(what_a_person_has_edited_is_not_ruled_before_a_reload)
{
	_cleanup_(caller_clear) Caller caller = { 0 };
	size_t n;

	declare_vf(rig);
	rig->rig->fake.hides_vfs = false;
	manager_rig_write_group(rig, "pair0", "[Group]\nName=pair0\nGpu=18:00.0\nGpu=19:00.0\n");
	manager_rig_write_group(rig, "pair1", "[Group]\nName=pair1\nGpu=9a:00.0\nGpu=9b:00.0\n");
	start_anew(rig);
	manager_rig_write_group(rig, "pair0",
				"[Group]\nName=pair0\nGpu=18:00.0\nGpu=19:00.0\nWith=vf:" RIG_VF
				"\nWith=nvme:" NVME "\nErase=yes\n");
	manager_forget(rig->manager, "pair1", caller_declared, &caller);
	caller_wait(rig, &caller);
	assert_null(caller.message);
	manager_rig_settle(rig);
	assert_true(group_awaits_vf(manager_rig_group(rig, "pair0")));
	(void)manager_jobs(rig->manager, &n);
	assert_int_equal(n, 0);
	manager_reload(rig->manager);
	manager_rig_settle(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	(void)manager_jobs(rig->manager, &n);
	assert_true(n > 0);
}

static bool vf_is_kept(const ManagerRig *rig)
{
	_cleanup_free_ char *text = NULL;

	(void)file_read_at(rig->rig->kept.dir_fd, "0000:18:00.0.json", 1 << 20, &text, NULL);
	return text && strstr(text, RIG_VF);
}

/* libvirt is not there: nothing makes it again meanwhile. */
ON_A_MANAGER(what_keepbound_keeps_has_its_vf_also_while_that_is_away)
{
	static char *const keep[] = { (char *)"pair0", NULL };

	declare_vf(rig);
	rig->rig->fake.hides_vfs = false;
	manager_rig_restart(rig);
	rig->manager->place.policy.keep_bound = keep;
	manager_reload(rig->manager);
	for (int away = 0; away < 2; away++) {
		rig->rig->fake.hides_vfs = away;
		manager_rig_settle(rig);
		manager_rig_look(rig);
		manager_rig_settle(rig);
		assert_int_equal(group_lacks_vf(manager_rig_group(rig, "pair0")), away);
		assert_true(vf_is_kept(rig));
	}
}

/* It would be refused, and wait for minutes. */
ON_A_MANAGER(nothing_is_prepared_before_it_is_known_who_has_what)
{
	const JobRecord *const *jobs;
	size_t n;

	declare_vf(rig);
	manager_rig_restart(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	assert_true(group_awaits_vf(manager_rig_group(rig, "pair0")));
	(void)manager_jobs(rig->manager, &n);
	assert_int_equal(n, 0);
	manager_rig_connect(rig);
	manager_rig_settle(rig);
	jobs = manager_jobs(rig->manager, &n);
	assert_true(n > 0);
	assert_int_equal(jobs[0]->state, JOB_DONE);
}

/* The number of a NIC's VFs changes by 0: the second group waits until the first has its VFs. */
ON_A_MANAGER(groups_with_vfs_of_one_nic_are_prepared_one_after_the_other)
{
	const JobRecord *const *jobs;
	size_t n;

	rig_lacks_vf(rig->rig);
	rig->ops = *rig->rig->fake.host.ops;
	rig->rig->fake.host.ops = &rig->ops;
	manager_rig_write_group(rig, "pair0",
				"[Group]\nName=pair0\nGpu=18:00.0\nGpu=19:00.0\nWith=vf:" RIG_VF
				"\n");
	manager_rig_write_group(
		rig, "pair1",
		"[Group]\nName=pair1\nGpu=9a:00.0\nGpu=9b:00.0\nWith=vf:0000:61:10.2\n");
	manager_rig_restart(rig);
	manager_rig_connect(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	jobs = manager_jobs(rig->manager, &n);
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		/* Begun as the first one's VFs came: it is refused, or has waited for the claim. */
		if (i == 0 || jobs[i]->state != JOB_FAILED ||
		    !strstr(jobs[i]->message, "has pair0 in hand"))
			assert_int_equal(jobs[i]->state, JOB_DONE);
	}
}

/* It would be refused, every five minutes. */
ON_A_MANAGER(what_is_quarantined_is_not_prepared_for_its_vf)
{
	const Bdf gpu = bdf_of("0000:18:00.0");
	size_t n;

	rig_lacks_vf(rig->rig);
	rig->ops = *rig->rig->fake.host.ops;
	rig->rig->fake.host.ops = &rig->ops;
	manager_rig_write_group(rig, "pair0",
				"[Group]\nName=pair0\nGpu=18:00.0\nGpu=19:00.0\nWith=vf:" RIG_VF
				"\n");
	manager_rig_restart(rig);
	claims_add_quarantine(rig->manager->place.job.claims, "pair0", &gpu, 1, NULL, "x");
	manager_rig_connect(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	(void)manager_jobs(rig->manager, &n);
	assert_int_equal(n, 0);
}

ON_A_MANAGER(while_it_is_prepared_it_shows_as_unready)
{
	const JobRecord job = { .operation = OPERATION_PREPARE,
				.steps = (JobStep[]){ { STEP_PREFLIGHT, STEP_DONE, NULL, 0 },
						      { STEP_ERASE, STEP_RUNNING, NULL, 0 } },
				.n_steps = 2 };

	assert_int_equal(job_record_moving_state(&job), GROUP_UNREADY);
}
