/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prepare() and execute() where others are at work on the machine, too. */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/text.h"

static void hold_the_gpu(Rig *rig)
{
	fake_hold(&rig->fake, "0000:61:00.0", "python3");
}

static void load_a_driver(Rig *rig)
{
	fake_set_driver(&rig->fake, "0000:41:00.0", "nouveau", NULL);
}

static void set_an_override(Rig *rig)
{
	fake_set_driver(&rig->fake, "0000:41:00.0", "nvidia", "pci-stub");
}

static void edit_the_definition(Rig *rig)
{
	fake_retitle(&rig->fake, "vm42", "by hand");
}

/* Marks and root ports of an assignment are still in the definition, one function is not. */
static void assigned_but_for_a_function(Rig *rig)
{
	rig_assigned(rig);
	fake_unplug(&rig->fake, "vm42", "0000:41:00.1");
}

TEST(a_definition_that_changed_since_the_plan_is_left_alone)
{
	static const struct {
		void (*arrange)(Rig *rig);
		JobRequest request;
	} rows[] = {
		{ rig_shut_off, ASSIGN },
		{ assigned_but_for_a_function, ASSIGN },
		{ rig_assigned, RELEASE },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rows[i].arrange(rig);
		rig_plan(rig, &rows[i].request);
		edit_the_definition(rig);
		rig_note_world(rig);
		rig_go(rig);
		rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_STALE_PLAN, "");
		rig_check_noted(rig);
	}
}

/* ---- between the cheap look and the one with the fence closed ---- */

static void define_a_domain_with_a_board(Rig *rig)
{
	fake_attach_to_definition(&rig->fake, "vm77", "0000:41:00.0");
}

static void start_a_domain_with_a_board(Rig *rig)
{
	define_a_domain_with_a_board(rig);
	fake_start(&rig->fake, "vm77");
}

static void rename_it(Rig *rig)
{
	fake_rename(&rig->fake, "vm42", "vm43");
}

/* Whatever libvirt tells of it. */
TEST(what_changes_while_the_fence_is_closed_is_seen_before_the_first_write)
{
	static const struct {
		void (*meanwhile)(Rig *rig);
		GpupassError error;
		const char *words; /* NULL: it is done all the same */
	} rows[] = {
		{ hold_the_gpu, GPUPASS_ERROR_HOST_IN_USE, "0000:61:00.0: /dev/nvidia0 by" },
		{ load_a_driver, 0, NULL },
		{ set_an_override, GPUPASS_ERROR_DRIVER_CONFLICT,
		  "somebody else's driver_override" },
		{ edit_the_definition, 0, NULL },
		{ define_a_domain_with_a_board, GPUPASS_ERROR_FOREIGN_OWNER, "vm77" },
		{ start_a_domain_with_a_board, GPUPASS_ERROR_FOREIGN_OWNER, "vm77" },
		{ rename_it, GPUPASS_ERROR_NO_SUCH_DOMAIN, "vm42" },
	};

	for (size_t i = 0; i < 2 * ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();
		bool done = !rows[i / 2].words;

		rig_two_domains(rig);
		rig->fake.silent = i % 2 != 0;
		rig_at(rig, FAKE_USES, 2, rows[i / 2].meanwhile);
		rig_try(rig, &ASSIGN);
		rig_expect(rig, done ? JOB_DONE : JOB_FAILED, rows[i / 2].error, rows[i / 2].words);
		assert_true(done || fake_write_calls(&rig->fake) == 0);
		assert_int_equal(rig->fake.fresh_uses, 1);
	}
}

ON_A_RIG(a_group_that_another_domain_got_meanwhile_is_not_chosen)
{
	rig_two_domains(rig);
	rig->fake.silent = true;
	rig_at(rig, FAKE_USES, 2, define_a_domain_with_a_board);
	rig_must(rig, &assign_request("vm42", NULL));
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
	assert_true(rig_is_on(rig, "0000:a1:00.0", "vfio-pci", "vfio-pci"));
	assert_int_equal(rig->fake.fresh_uses, 3);
}

/* The event of the change was lost: both the plan's answer and the job's are those of a reading. */
ON_A_RIG(no_refusal_rests_on_a_lost_event)
{
	rig_two_domains(rig);
	define_a_domain_with_a_board(rig);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_FOREIGN_OWNER, "vm77");
	rig->fake.silent = true;
	fake_unplug(&rig->fake, "vm77", "0000:41:00.0");
	rig_must(rig, &ASSIGN);
}

/* With many clients that is the usual refusal. */
ON_A_RIG(what_another_job_has_is_refused_without_a_look)
{
	rig_shut_off(rig);
	rig_plan(rig, &ASSIGN);
	fake_watch(&rig->fake);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_GROUP_BUSY, "");
	assert_int_equal(rig->fake.fresh_uses, 0);
	assert_int_equal(rig->fake.calls[FAKE_SCAN], 0);
}

ON_A_RIG(what_cannot_be_found_is_named)
{
	static const struct {
		JobRequest request;
		GpupassError error;
		const char *words;
	} rows[] = {
		{ assign_request("vm99", "pair0"), GPUPASS_ERROR_NO_SUCH_DOMAIN, "vm99" },
		{ assign_request("vm42", "pair9"), GPUPASS_ERROR_NO_SUCH_GROUP,
		  "the groups of this host are pair0, pair1" },
		{ bind_request("pair9"), GPUPASS_ERROR_NO_SUCH_GROUP,
		  "cannot bind pair9: there is no group \"pair9\"" },
		{ release_request("pair0"), GPUPASS_ERROR_NOT_ASSIGNED,
		  "cannot release pair0: it is assigned to no domain" },
		{ RELEASE, GPUPASS_ERROR_NOT_ASSIGNED, "vm42 has no group" },
		{ release_request("neither"), GPUPASS_ERROR_NOT_ASSIGNED,
		  "cannot release neither: there is neither a group nor a domain of that name" },
	};

	rig_shut_off(rig);
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		rig_fails(rig, &rows[i].request, rows[i].error, rows[i].words);
}

ON_A_RIG(a_group_another_domain_has_is_refused_and_keeps_no_release_waiting)
{
	uint64_t before;

	rig_two_domains(rig);
	rig_must(rig, &ASSIGN);
	before = claims_now(rig->claims);
	rig_fails(rig, &assign_request("vm77", "pair0"), GPUPASS_ERROR_GROUP_BUSY,
		  "it is assigned to vm42");
	/* It never had it. */
	assert_int_equal(claims_now(rig->claims), before);
	/* What policy chooses is the other group. */
	rig_must(rig, &assign_request("vm77", NULL));
	assert_true(rig_is_on(rig, "0000:c1:00.1", "vfio-pci", "vfio-pci"));
}
