/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libvirt's hook finds in the fence while jobs run and after they end; and foreign domains. */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>

#include "core/fence/fence.h"
#include "manager/manager-rig.h"
#include "manager/state.h"
#include "util/file.h"
#include "util/text.h"

static FenceGroup pair0_on_disk(const ManagerRig *rig)
{
	_cleanup_free_ char *path = strf("%s/fence.json", rig->rig->state_directory), *text = NULL;
	_cleanup_(fence_freep) Fence *fence = NULL;
	FenceGroup found = { .state = FENCE_STATE_MAX_ };
	const FenceGroup *group;
	Bdf bdf;
	size_t size;

	assert_int_equal(bdf_parse("0000:41:00.0", &bdf), 0);
	assert_int_equal(file_read_at(AT_FDCWD, path, 1 << 20, &text, &size), 0);
	assert_int_equal(fence_from_json(text, size, &fence, NULL), 0);
	group = fence_find(fence, &bdf, NULL);
	assert_non_null(group);
	found.state = group->state;
	found.n_functions = group->n_functions;
	found.domain_uuid = group->domain_uuid ? strdup(group->domain_uuid) : NULL;
	return found;
}

static void expect(const ManagerRig *rig, FenceState state, bool assigned, const char *when)
{
	FenceGroup group = pair0_on_disk(rig);

	if (group.state != state || (group.domain_uuid != NULL) != assigned)
		fail_msg("%s: %s, assigned to %s", when, fence_state_to_string(group.state),
			 group.domain_uuid ? group.domain_uuid : "nobody");
	free(group.domain_uuid);
}

/* The rig of the running test, for an operation of the host that looks at the file. */
static ManagerRig *watched;
static unsigned defined;
static int (*really_define)(Host *host, const char *uuid, const char *before, const char *after,
			    Problem **ret_problem);

static int define(Host *host, const char *uuid, const char *before, const char *after,
		  Problem **ret_problem)
{
	FenceGroup group = pair0_on_disk(watched);

	assert_int_equal(group.state, FENCE_BUSY);
	free(group.domain_uuid);
	defined++;
	return really_define(host, uuid, before, after, ret_problem);
}

static void watch(ManagerRig *rig)
{
	watched = rig;
	defined = 0;
	really_define = rig->ops.domain_define;
	rig->ops.domain_define = define;
}

/* promise T7 */
ON_A_MANAGER(a_job_closes_its_group_and_its_end_opens_it_before_anybody_hears_of_it)
{
	const JobRequest assign = assign_request("vm42", "pair0"),
			 release = release_request("vm42");

	rig_shut_off(rig->rig);
	manager_rig_connect(rig);
	manager_rig_settle(rig);
	expect(rig, FENCE_OPEN, false, "before");
	watch(rig);
	assert_int_equal(manager_rig_run(rig, &assign), JOB_DONE);
	expect(rig, FENCE_OPEN, true, "after the assign");
	assert_int_equal(manager_rig_run(rig, &release), JOB_DONE);
	expect(rig, FENCE_OPEN, false, "after the release");
	assert_int_equal(defined, 2);
}

static ManagerRig *looked_at;
static unsigned closed;

/* The domains are read first as they are known, then anew with the fence closed. */
static void another_takes_a_board(FakeHost *fake, FakeOp op, unsigned nth)
{
	FenceGroup group;

	if (op != FAKE_USES || fake->fresh_uses > 0)
		return;
	group = pair0_on_disk(looked_at);
	closed += group.state == FENCE_BUSY;
	free(group.domain_uuid);
	if (closed == 1 &&
	    !fake_xml_has(fake_domain(fake, "vm77")->config_xml, &(Bdf){ .bus = 0x41 }))
		fake_attach_to_definition(fake, "vm77", "0000:41:00.0");
}

/* libvirt says nothing of it. */
ON_A_MANAGER(a_board_that_goes_to_a_domain_once_the_fence_is_closed_is_refused_and_opened_again)
{
	const JobRequest assign = assign_request("vm42", "pair0");

	rig_shut_off(rig->rig);
	fake_add_domain(&rig->rig->fake, "vm77", "q35", NULL);
	manager_rig_connect(rig);
	manager_rig_settle(rig);
	looked_at = rig;
	closed = 0;
	fake_watch(&rig->rig->fake);
	rig->rig->fake.silent = true;
	rig->rig->fake.hook = another_takes_a_board;
	assert_int_equal(manager_rig_run(rig, &assign), JOB_FAILED);
	assert_int_equal(closed, 1);
	assert_non_null(strstr(manager_job(rig->manager, 1)->message, "vm77"));
	assert_int_equal(fake_write_calls(&rig->rig->fake), 0);
	expect(rig, FENCE_OPEN, false, "after it");
}

/* It would be refused its own boards meanwhile. */
ON_A_MANAGER(what_is_refused_by_what_is_known_closes_no_fence)
{
	const JobRequest assign = assign_request("vm42", "pair0"),
			 other = assign_request("vm77", "pair0");

	rig_shut_off(rig->rig);
	fake_add_domain(&rig->rig->fake, "vm77", "q35", NULL);
	manager_rig_connect(rig);
	manager_rig_settle(rig);
	assert_int_equal(manager_rig_run(rig, &assign), JOB_DONE);
	looked_at = rig;
	closed = 0;
	fake_watch(&rig->rig->fake);
	rig->rig->fake.hook = another_takes_a_board;
	assert_int_equal(manager_rig_run(rig, &other), JOB_FAILED);
	assert_int_equal(manager_rig_run(rig, &assign), JOB_DONE); /* nothing to do */
	assert_int_equal(closed, 0);
}

ON_A_MANAGER(a_job_that_leaves_a_quarantine_leaves_the_group_closed)
{
	const JobRequest assign = assign_request("vm42", "pair0");

	rig_shut_off(rig->rig);
	manager_rig_connect(rig);
	fake_fail_move(&rig->rig->fake, &(FakeMoveFault){ .bdf = "0000:61:00.0",
							  .driver = "vfio-pci",
							  .never_returns = true,
							  .phase = DRIVER_PHASE_UNBIND });
	assert_int_equal(manager_rig_run(rig, &assign), JOB_INCOMPLETE);
	expect(rig, FENCE_QUARANTINED, false, "after it");
}

ON_A_MANAGER(a_fence_that_cannot_be_written_refuses_the_job_and_is_a_note)
{
	const JobRequest assign = assign_request("vm42", "pair0");
	int good = rig->fence.dir_fd;
	_cleanup_free_ char *before = NULL;

	rig_shut_off(rig->rig);
	manager_rig_connect(rig);
	manager_rig_settle(rig);
	before = rig_world(rig->rig);
	rig->fence.dir_fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	assert_int_equal(manager_rig_run(rig, &assign), JOB_FAILED);
	assert_non_null(
		strstr(manager_job(rig->manager, 1)->message, "the fence could not be written"));
	rig_check_world(rig->rig, before, "refused");
	manager_rig_look(rig);
	manager_rig_settle(rig);
	manager_rig_look(rig);
	assert_true(manager_rig_notes(rig, "the fence of libvirt's hook could not be written"));
	close_fd(rig->fence.dir_fd);
	rig->fence.dir_fd = good;
	manager_rig_look(rig);
	manager_rig_settle(rig);
	manager_rig_look(rig);
	assert_false(manager_rig_notes(rig, "the fence of libvirt's hook"));
	expect(rig, FENCE_OPEN, false, "in the end");
}

/* promise T8 */
ON_A_MANAGER(a_domain_with_a_part_is_found_at_once_and_named)
{
	rig_shut_off(rig->rig);
	manager_rig_connect(rig);
	assert_non_null(rig->manager->foreign);
	assert_int_equal(rig->manager->foreign->n_items, 0);
	/* As libvirt's event of the definition, or of an attached device. */
	fake_attach_to_definition(&rig->rig->fake, "vm42", "0000:41:00.0");
	manager_rig_connect(rig);
	assert_int_equal(rig->manager->foreign->n_items, 1);
	assert_true(rig->manager->foreign->items[0].split);
	assert_string_equal(rig->manager->foreign->items[0].domain_name, "vm42");
	assert_true(manager_rig_notes(rig, "SplitGroup: domain vm42"));
	assert_int_equal(manager_rig_group(rig, "pair0")->state, GROUP_FOREIGN);
}
