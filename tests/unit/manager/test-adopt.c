/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a daemon takes over at its start: a record that is missing, once, after recovery. */
#include "rig/test.h"

#include <string.h>
#include <unistd.h>

#include "manager/manager-rig.h"
#include "manager/state.h"
#include "rig/bdf.h"
#include "util/file.h"
#include "util/text.h"

/* vm42 has pair0 by gpupass, and the record of it is lost. */
static void lose_record(ManagerRig *rig)
{
	rig_assigned(rig->rig);
	rig_lose_record(rig->rig);
	fake_watch(&rig->rig->fake);
}

static size_t count_records(const ManagerRig *rig)
{
	_cleanup_strv_ char **names = NULL;

	assert_int_equal(dir_list(rig->rig->store.records.dir_fd, ".json", &names), 0);
	return strv_length(names);
}

/* Its job writes this many records, and nothing else. */
static void expect_adopted(ManagerRig *rig, const char *told, size_t records, GroupState state)
{
	assert_int_equal(count_records(rig), 0);
	manager_rig_connect(rig);
	rig_wait_for(rig->mailbox, &rig->has_ended);
	assert_true(manager_rig_was_told(rig, told));
	assert_int_equal(count_records(rig), records);
	assert_int_equal(fake_write_calls(&rig->rig->fake), 0);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, state);
}

ON_A_MANAGER(a_record_that_is_missing_is_written_again_and_nothing_else)
{
	const JobRecord *job;

	lose_record(rig);
	expect_adopted(rig, "ended 1 done", 1, GROUP_ASSIGNED);
	job = manager_job(rig->manager, 1);
	assert_int_equal(job->operation, OPERATION_RECONCILE);
	assert_string_equal(job->group, "pair0");
	assert_int_equal(job->caller_uid, getuid());
	assert_false(manager_rig_notes(rig, "of drift"));
}

/* That is for an operator's reconcile. */
ON_A_MANAGER(a_function_that_drifted_off_vfio_is_not_bound_by_it)
{
	lose_record(rig);
	fake_set_driver(&rig->rig->fake, "0000:41:00.0", "nvidia", NULL);
	expect_adopted(rig, "ended 1 done", 1, GROUP_DEGRADED);
}

ON_A_MANAGER(a_record_that_cannot_be_written_fails_its_job_and_the_picture_stays)
{
	lose_record(rig);
	rig_store_read_only(rig->rig, true);
	expect_adopted(rig, "ended 1 failed", 0, GROUP_ASSIGNED);
	rig_store_read_only(rig->rig, false);
	assert_true(manager_rig_notes(rig, "of drift"));
}

ON_A_MANAGER(it_is_done_once_in_a_daemons_life)
{
	manager_rig_connect(rig);
	manager_rig_settle(rig);
	lose_record(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	assert_false(manager_rig_was_told(rig, "new 1"));
	assert_true(manager_rig_notes(rig, "of drift"));
	manager_rig_restart(rig);
	expect_adopted(rig, "ended 1 done", 1, GROUP_ASSIGNED);
}

ON_A_MANAGER(it_waits_until_domains_are_known)
{
	lose_record(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	assert_false(rig->manager->adopted);
	assert_false(manager_rig_was_told(rig, "new 1"));
	expect_adopted(rig, "ended 1 done", 1, GROUP_ASSIGNED);
}

ON_A_MANAGER(a_domain_that_is_not_ours_is_not_adopted)
{
	static const char *const functions[] = { PAIR0_FUNCTIONS };

	/* It has the functions of pair0, and no mark of ours. */
	fake_add_domain(&rig->rig->fake, "vm42", "q35-eight-ports", NULL);
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		fake_attach_to_definition(&rig->rig->fake, "vm42", functions[i]);
	manager_rig_connect(rig);
	manager_rig_settle(rig);
	assert_false(manager_rig_was_told(rig, "new 1"));
	assert_int_equal(count_records(rig), 0);
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FOREIGN);
}

/* promise T9 */
ON_A_MANAGER(a_record_is_written_again_only_for_whom_each_companion_was_given)
{
	const Bdf nic = bdf_of("0000:e2:00.1");
	_cleanup_free_ char *mark = tenant_file_name(&nic);

	manager_rig_write_group(rig, "pair0", RIG_WITH_NICS);
	rig_with_nics(rig->rig);
	lose_record(rig);
	assert_int_equal(unlinkat(rig->rig->tenants.dir_fd, mark, 0), 0);
	manager_rig_restart(rig);
	manager_rig_connect(rig);
	manager_rig_settle(rig);
	assert_int_equal(count_records(rig), 0);
	assert_false(manager_rig_was_told(rig, "new 1"));
	assert_true(manager_rig_notes(rig, "of drift"));
}

ON_A_MANAGER(with_its_companions_it_is_written_again_whole)
{
	manager_rig_write_group(rig, "pair0", RIG_WITH_NICS);
	rig_with_nics(rig->rig);
	lose_record(rig);
	manager_rig_restart(rig);
	expect_adopted(rig, "ended 1 done", 1, GROUP_ASSIGNED);
	assert_int_equal(manager_rig_group(rig, "pair0")->n_companions, 2);
}
