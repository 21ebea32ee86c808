/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prepare() and execute() on a machine where nothing fails. */
#include "rig/test.h"

#include <string.h>

#include "job/steps.h"
#include "rig/job-rig.h"
#include "util/text.h"

TEST(each_operation_has_its_steps)
{
	static const struct {
		void (*arrange)(Rig *rig);
		JobRequest request;
		const char *steps;
		size_t config, live; /* functions that vm42 has then */
	} rows[] = {
		{ rig_shut_off, ASSIGN,
		  "preflight: done, bind vfio-pci: done, define: done, verify: done, record: done",
		  4, 0 },
		/* Policy chooses pair0. */
		{ rig_running, assign_request("vm42", NULL),
		  "preflight: done, bind vfio-pci: done, attach: done, define: done, "
		  "verify: done, record: done",
		  4, 4 },
		{ rig_shut_off, BIND, "preflight: done, bind vfio-pci: done, verify: done", 0, 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();
		_cleanup_free_ char *world = NULL;

		rows[i].arrange(rig);
		rig_must(rig, &rows[i].request);
		rig_expect_steps(rig, rows[i].steps);
		assert_true(rig->last.changed);
		assert_false(rig->last.rolled_back);
		assert_true(rig_is_bound(rig));
		assert_true(rig_is_on(rig, "0000:a1:00.0", "nvidia", ""));
		rig_expect_devices(rig, "vm42", rows[i].config, rows[i].live);
		world = rig_world(rig);
		assert_int_equal(rig_is_recorded(rig) &&
					 strstr(world, "\"original_driver\": \"nvidia\""),
				 rows[i].config > 0);
	}
}

ON_A_RIG(functions_are_attached_in_order_and_detached_in_reverse)
{
	_cleanup_free_ char *attached = NULL, *detached = NULL;

	rig_running(rig);
	rig_must(rig, &ASSIGN);
	attached = strv_join(rig->fake.log, "\n");
	assert_string_equal(attached, "move 0000:41:00.0 to vfio-pci, override vfio-pci\n"
				      "move 0000:41:00.1 to vfio-pci, override vfio-pci\n"
				      "move 0000:61:00.0 to vfio-pci, override vfio-pci\n"
				      "move 0000:61:00.1 to vfio-pci, override vfio-pci\n"
				      "attach 0000:41:00.0\n"
				      "attach 0000:41:00.1\n"
				      "attach 0000:61:00.0\n"
				      "attach 0000:61:00.1\n"
				      "define vm42");
	fake_watch(&rig->fake);
	rig_must(rig, &release_request("pair0"));
	detached = strv_join(rig->fake.log, "\n");
	assert_string_equal(detached, "detach 0000:61:00.1\n"
				      "detach 0000:61:00.0\n"
				      "detach 0000:41:00.1\n"
				      "detach 0000:41:00.0\n"
				      "define vm42\n"
				      "reset 0000:41:00.0\n"
				      "reset 0000:41:00.1\n"
				      "reset 0000:61:00.0\n"
				      "reset 0000:61:00.1\n"
				      "move 0000:41:00.0 to nvidia, override none\n"
				      "move 0000:41:00.1 to snd_hda_intel, override none\n"
				      "move 0000:61:00.0 to nvidia, override none\n"
				      "move 0000:61:00.1 to snd_hda_intel, override none");
}

/* Whether the domain runs, and what the functions were on before. */
TEST(assigning_and_releasing_leaves_the_world_as_it_was)
{
	static const struct {
		const char *config, *live;
		const char *driver, *override; /* of 0000:61:00.1 */
		const char *target;	       /* of the release */
	} rows[] = {
		{ "q35", NULL, "snd_hda_intel", NULL, "pair0" },
		{ "q35", NULL, NULL, NULL, "vm42" },
		{ "q35", NULL, "vfio-pci", "vfio-pci", "vm42" },
		{ "q35", NULL, "vfio-pci", NULL, "vm42" },
		{ "i440fx", NULL, "snd_hda_intel", NULL, "vm42" },
		{ "q35-other-tools", NULL, "snd_hda_intel", NULL, "vm42" },
		{ "q35-eight-ports", "q35-eight-ports-live", "snd_hda_intel", NULL, "pair0" },
		{ "q35-eight-ports", "q35-eight-ports-live", NULL, "vfio-pci", "vm42" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		fake_add_domain(&rig->fake, "vm42", rows[i].config, rows[i].live);
		fake_set_driver(&rig->fake, "0000:61:00.1", rows[i].driver, rows[i].override);
		rig_note_world(rig);
		rig_must(rig, &ASSIGN);
		assert_true(rig_is_bound(rig));
		rig_must(rig, &release_request(rows[i].target));
		rig_check_noted(rig);
	}
}

ON_A_RIG(binding_and_unbinding_leaves_the_world_as_it_was)
{
	rig_note_world(rig);
	rig_must(rig, &BIND);
	rig_must(rig, &UNBIND);
	rig_check_noted(rig);
	/* What no domain had is not reset. */
	assert_int_equal(rig->fake.calls[FAKE_RESET], 0);
}

TEST(doing_it_twice_changes_nothing_and_writes_nothing)
{
	for (size_t i = 0; i < N_SCENARIOS; i++) {
		_cleanup_(rig_freep) Rig *rig = rig_for(&scenarios[i]);

		if (scenarios[i].request.plan.operation == OPERATION_RELEASE)
			continue;
		rig_must(rig, &scenarios[i].request);
		rig_note_world(rig);
		fake_watch(&rig->fake);
		rig_must(rig, &scenarios[i].request);
		assert_false(rig->last.changed);
		rig_expect_steps(rig, "");
		assert_int_equal(fake_write_calls(&rig->fake), 0);
		rig_check_noted(rig);
	}
}

/* The record keeps what was before the first time, not what drifted. */
ON_A_RIG(what_drifted_is_put_right_by_assigning_again)
{
	rig_shut_off(rig);
	rig_note_world(rig);
	rig_must(rig, &ASSIGN);
	fake_set_driver(&rig->fake, "0000:61:00.0", NULL, NULL);
	rig_must(rig, &ASSIGN);
	assert_true(rig_is_bound(rig));
	rig_must(rig, &RELEASE);
	rig_check_noted(rig);
}

/* Its own guest has the functions open then, and nothing is written to them. */
ON_A_RIG(a_lost_record_is_written_again_while_the_guest_runs)
{
	rig_assigned_live(rig);
	rig_lose_record(rig);
	rig_must(rig, &ASSIGN);
	rig_expect_steps(rig, "verify: done, record: done");
	assert_true(rig_is_recorded(rig));
}

/* libvirt and QEMU unplug no function out of the slot it shares with another. */
ON_A_RIG(a_domain_started_with_the_group_is_released_once_it_is_shut_off)
{
	rig_assigned(rig);
	fake_start(&rig->fake, "vm42");
	rig_fails(rig, &RELEASE, GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "multifunction slots");
	fake_shut_off(&rig->fake, "vm42");
	rig_must(rig, &RELEASE);
	rig_expect_devices(rig, "vm42", 0, 0);
	assert_true(rig_is_home(rig));
	assert_null(rig->fake.violations);
}

ON_A_RIG(a_running_guest_keeps_what_only_its_definition_loses)
{
	rig_assigned_live(rig);
	rig_must(rig, &release_request("vm42", .plan.config = true));
	rig_expect_devices(rig, "vm42", 0, 4);
	assert_true(rig_is_bound(rig));
	assert_null(rig->fake.violations);
	/* The wish is still on record: the release is not over. */
	assert_true(rig_is_recorded(rig));
	fake_shut_off(&rig->fake, "vm42");
	rig_must(rig, &RELEASE);
	assert_true(rig_is_home(rig));
}

ON_A_RIG(released_functions_can_stay_on_vfio_and_are_reset_all_the_same)
{
	const JobRequest release = release_request("pair0", .plan.keep_vfio = true);

	rig_assigned(rig);
	rig_must(rig, &release);
	rig_expect_devices(rig, "vm42", 0, 0);
	assert_int_equal(rig->fake.calls[FAKE_RESET], 1);
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
	assert_true(rig_is_bound(rig));
	rig_fails(rig, &release, GPUPASS_ERROR_NOT_ASSIGNED, "cannot release pair0");
}

/* fault 31 */
ON_A_RIG(a_group_whose_domain_is_gone_can_be_released)
{
	rig_assigned(rig);
	fake_undefine(&rig->fake, "vm42");
	rig_must(rig, &release_request("pair0"));
	assert_true(rig_is_home(rig));
	assert_false(rig_is_recorded(rig));
}

/* libvirt said yes, and the definition lacks a function all the same. */
static void lose_a_function(FakeHost *fake, FakeOp op, _unused_ unsigned nth)
{
	if (op == FAKE_GET && fake->calls[FAKE_DEFINE] == 1)
		fake_unplug(fake, "vm42", "0000:61:00.0");
}

ON_A_RIG(a_step_is_done_by_what_is_seen_and_not_by_what_was_returned)
{
	rig_shut_off(rig);
	rig->fake.hook = lose_a_function;
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_ATTACH_FAILED, "0000:61:00.0 is not in the");
	assert_true(strv_contains(rig->last.steps, "define: failed"));
	assert_false(strv_contains(rig->last.steps, "define: done"));
}

/*
 * What the "done" of each rests on: what is observed after the act, and by whom. A step without a
 * post-condition that others can ask for observes it in its act.
 */
TEST(every_step_names_its_evidence)
{
	static const char *const evidence[STEP_KIND_MAX_] = {
		[STEP_PREFLIGHT] =
			"drivers, overrides and holders, read by the inspector once the fence was "
			"closed; the stores",
		[STEP_BIND] =
			"driver and override of each function, and an answer of its config space, read "
			"by its mover after the last write",
		[STEP_DEFINE] = "the definition's hostdevs, read from libvirt again",
		[STEP_ATTACH] = "the running guest's hostdevs, read from libvirt again",
		[STEP_DETACH] =
			"libvirt's event that the guest let go, and the running guest's hostdevs",
		[STEP_RESET] =
			"the kernel's result of each reset, and an answer and the link of each "
			"function, read by its mover before and after; the receipt on disk",
		[STEP_RESTORE] =
			"driver and override of each function, read by its mover after the last "
			"write",
		[STEP_VERIFY] = "what the steps before it changed, all of it read again",
		[STEP_PERSISTENCE_OFF] =
			"the mode that NVML reports after the change; holders, from the "
			"inspector",
		[STEP_PERSISTENCE_ON] = "the mode that NVML reports after the change",
		[STEP_RECORD] =
			"write, sync and rename of the assignment's file, all of which succeeded",
		[STEP_FORGET] =
			"removal of the assignment's file and sync of its folder, which succeeded",
		[STEP_KEEP] = "as of record, for the kept group",
		[STEP_UNKEEP] = "as of forget, for the kept group",
		[STEP_VFS] = "the VFs that the NIC has, read again",
		[STEP_ERASE] = "what each NVMe says of its last erase; the receipt on disk",
	};
	static const bool observes_itself[STEP_KIND_MAX_] = {
		[STEP_PREFLIGHT] = true,       [STEP_RESET] = true,	     [STEP_VERIFY] = true,
		[STEP_PERSISTENCE_OFF] = true, [STEP_PERSISTENCE_ON] = true,
	};

	for (StepKind kind = 0; kind < STEP_KIND_MAX_; kind++)
		if (str_is_empty(evidence[kind]) ||
		    observes_itself[kind] == (step_ops(kind)->holds != NULL))
			fail_msg("%s", step_kind_to_string(kind));
}
