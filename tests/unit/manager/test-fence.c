/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libvirt's hook finds in the fence while jobs run and after they end; and foreign domains. */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>

#include "core/fence/fence.h"
#include "manager/manager-rig.h"
#include "manager/state.h"
#include "rig/bdf.h"
#include "util/file.h"
#include "util/text.h"

static const JobRequest assign = RIG_ASSIGN, release = RIG_RELEASE;

static Fence *fence_on_disk(const ManagerRig *rig)
{
	_cleanup_free_ char *path = strf("%s/fence.json", rig->rig->state_directory), *text = NULL;
	Fence *fence = NULL;
	size_t size;

	assert_int_equal(file_read_at(AT_FDCWD, path, 1 << 20, &text, &size), 0);
	assert_int_equal(fence_from_json(text, size, &fence, NULL), 0);
	return fence;
}

static FenceState state_of(const ManagerRig *rig, const Bdf *bdf)
{
	_cleanup_(fence_freep) Fence *fence = fence_on_disk(rig);
	const FenceGroup *group = fence_find(fence, bdf, NULL);

	assert_non_null(group);
	return group->state;
}

/* pair0 on disk: *ret_assigned to a domain or not. */
static FenceState state_on_disk(const ManagerRig *rig, bool *ret_assigned)
{
	_cleanup_(fence_freep) Fence *fence = fence_on_disk(rig);
	const FenceGroup *group = fence_find(fence, &(Bdf){ .bus = 0x41 }, NULL);

	assert_non_null(group);
	*ret_assigned = group->domain_uuid != NULL;
	return group->state;
}

static void expect(const ManagerRig *rig, FenceState state, bool assigned, const char *when)
{
	bool is_assigned;
	FenceState found = state_on_disk(rig, &is_assigned);

	if (found != state || is_assigned != assigned)
		fail_msg("%s: %s, %sassigned", when, fence_state_to_string(found),
			 is_assigned ? "" : "not ");
}

/* The rig of the running test, for a hook that looks at the file; and how often it was closed. */
static ManagerRig *watched;
static unsigned closed;

static void watch(ManagerRig *rig, void (*hook)(FakeHost *fake, FakeOp op, unsigned nth))
{
	watched = rig;
	closed = 0;
	fake_watch(&rig->rig->fake);
	rig->rig->fake.hook = hook;
}

static bool is_closed(void)
{
	bool assigned;

	return state_on_disk(watched, &assigned) == FENCE_BUSY;
}

static void is_defined(FakeHost *fake, FakeOp op, unsigned nth)
{
	closed += op == FAKE_DEFINE && is_closed();
}

/* promise T7 */
ON_A_READY_MANAGER(a_job_closes_its_group_and_its_end_opens_it_before_anybody_hears_of_it)
{
	expect(rig, FENCE_OPEN, false, "before");
	watch(rig, is_defined);
	assert_int_equal(manager_rig_run(rig, &assign), JOB_DONE);
	expect(rig, FENCE_OPEN, true, "after the assign");
	assert_int_equal(manager_rig_run(rig, &release), JOB_DONE);
	expect(rig, FENCE_OPEN, false, "after the release");
	assert_int_equal(rig->rig->fake.calls[FAKE_DEFINE], 2);
	assert_int_equal(closed, 2);
}

/* The domains are read first as they are known, then anew with the fence closed. */
static void another_takes_a_board(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op != FAKE_USES || fake->fresh_uses > 0)
		return;
	closed += is_closed();
	if (closed == 1 &&
	    !fake_xml_has(fake_domain(fake, "vm77")->config_xml, &(Bdf){ .bus = 0x41 }))
		fake_attach_to_definition(fake, "vm77", "0000:41:00.0");
}

/* libvirt says nothing of it. */
ON_A_READY_MANAGER(
	a_board_that_goes_to_a_domain_once_the_fence_is_closed_is_refused_and_opened_again)
{
	fake_add_domain(&rig->rig->fake, "vm77", "q35", NULL);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	watch(rig, another_takes_a_board);
	rig->rig->fake.silent = true;
	assert_int_equal(manager_rig_run(rig, &assign), JOB_FAILED);
	assert_int_equal(closed, 1);
	assert_non_null(strstr(manager_job(rig->manager, 1)->message, "vm77"));
	assert_int_equal(fake_write_calls(&rig->rig->fake), 0);
	expect(rig, FENCE_OPEN, false, "after it");
}

/* It looks again, has nothing in hand then, and is refused there. */
ON_A_READY_MANAGER(what_is_refused_when_it_looks_again_opens_what_it_had_closed_before)
{
	static const FakeFault lost = { .op = FAKE_USES,
					.nth = 3,
					.problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	const JobRequest any = assign_request("vm42", NULL);

	fake_add_domain(&rig->rig->fake, "vm77", "q35", NULL);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	watch(rig, another_takes_a_board);
	fake_fail(&rig->rig->fake, &lost);
	rig->rig->fake.silent = true;
	assert_int_equal(manager_rig_run(rig, &any), JOB_FAILED);
	assert_int_equal(closed, 1);
	assert_string_equal(manager_job(rig->manager, 1)->error_name,
			    "org.gpupass1.Error.LibvirtUnavailable");
	expect(rig, FENCE_OPEN, false, "after it");
}

/* It would be refused its own boards meanwhile. */
ON_A_READY_MANAGER(what_is_refused_by_what_is_known_closes_no_fence)
{
	const JobRequest other = assign_request("vm77", "pair0");

	fake_add_domain(&rig->rig->fake, "vm77", "q35", NULL);
	assert_int_equal(manager_rig_run(rig, &assign), JOB_DONE);
	watch(rig, another_takes_a_board);
	assert_int_equal(manager_rig_run(rig, &other), JOB_FAILED);
	assert_int_equal(manager_rig_run(rig, &assign), JOB_DONE); /* nothing to do */
	assert_int_equal(closed, 0);
}

ON_A_READY_MANAGER(a_job_that_leaves_a_quarantine_leaves_the_group_closed)
{
	fake_fail_move(&rig->rig->fake, &(FakeMoveFault){ .bdf = "0000:61:00.0",
							  .driver = "vfio-pci",
							  .never_returns = true,
							  .phase = DRIVER_PHASE_UNBIND });
	assert_int_equal(manager_rig_run(rig, &assign), JOB_INCOMPLETE);
	expect(rig, FENCE_QUARANTINED, false, "after it");
}

/* Also of the NIC, after the declaration that names it has gone. */
ON_A_READY_MANAGER(a_companion_that_is_stuck_stays_closed_with_its_group)
{
	static const char *const nics[] = { FAKE_NICS };
	const Bdf port = bdf_of(nics[1]);

	manager_rig_write_group(rig, "pair0", RIG_WITH_NICS);
	rig_with_nics(rig->rig);
	manager_reload(rig->manager);
	manager_rig_settle(rig);
	manager_rig_look(rig);
	fake_fail_move(&rig->rig->fake, &(FakeMoveFault){ .bdf = nics[1],
							  .driver = "vfio-pci",
							  .never_returns = true,
							  .phase = DRIVER_PHASE_UNBIND });
	assert_int_equal(manager_rig_run(rig, &assign), JOB_INCOMPLETE);
	expect(rig, FENCE_QUARANTINED, false, "after it");
	assert_int_equal(state_of(rig, &port), FENCE_QUARANTINED);
	manager_rig_write_group(rig, "pair0", RIG_GOLD);
	manager_reload(rig->manager);
	manager_rig_settle(rig);
	manager_rig_look(rig);
	manager_rig_settle(rig);
	assert_int_equal(state_of(rig, &port), FENCE_QUARANTINED);
}

/* libvirt starts its domains with autostart before it answers anybody. */
/* promise T7 */
ON_A_MANAGER(after_a_start_a_vf_that_has_its_rules_is_open_before_libvirt_answers)
{
	const Bdf vf = bdf_of(RIG_VF);

	for (int ruled = 0; ruled < 2; ruled++) {
		rig_lacks_vf(rig->rig);
		rig->rig->fake.hides_vfs = false;
		rig->rig->fake.spoof_check = ruled;
		manager_rig_write_group(
			rig, "pair0",
			"[Group]\nName=pair0\nGpu=18:00.0\nGpu=19:00.0\nWith=vf:" RIG_VF "\n");
		manager_rig_restart(rig);
		manager_rig_look(rig);
		manager_rig_settle(rig);
		assert_int_equal(state_of(rig, &vf), ruled ? FENCE_OPEN : FENCE_UNSAFE);
	}
}

/* The note is there, or not, after a look. */
static void expect_note(ManagerRig *rig, bool noted)
{
	manager_rig_look(rig);
	manager_rig_settle(rig);
	manager_rig_look(rig);
	assert_int_equal(manager_rig_notes(rig, "the fence of libvirt's hook could not be written"),
			 noted);
}

ON_A_READY_MANAGER(a_fence_that_cannot_be_written_refuses_the_job_and_is_a_note)
{
	_cleanup_free_ char *before = rig_world(rig->rig);
	int good = rig->fence.dir_fd;

	rig->fence.dir_fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	assert_int_equal(manager_rig_run(rig, &assign), JOB_FAILED);
	assert_non_null(
		strstr(manager_job(rig->manager, 1)->message, "the fence could not be written"));
	rig_check_world(rig->rig, before, "refused");
	expect_note(rig, true);
	close_fd(rig->fence.dir_fd);
	rig->fence.dir_fd = good;
	expect_note(rig, false);
	expect(rig, FENCE_OPEN, false, "in the end");
}

/* promise T8 */
ON_A_READY_MANAGER(a_domain_with_a_part_is_found_at_once_and_named)
{
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
