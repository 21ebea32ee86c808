/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live assign is undone after its guest had the boards: the host's drivers get them only once
 * they were reset. The fake host notes whatever else happens as a violation.
 */
#include "rig/test.h"

#include <string.h>

#include "rig/bdf.h"
#include "rig/job-rig.h"
#include "util/text.h"

static const FakeFault third_attach = { .op = FAKE_ATTACH,
					.nth = 3,
					.problem = GPUPASS_ERROR_ATTACH_FAILED };

/* So many functions were reset, none of them before its guest let go, or after its move. */
static void expect_resets(const Rig *rig, size_t expected)
{
	char *const *log = rig->fake.log;
	size_t n = 0, first = 0, moved = 0;

	for (size_t i = 0; log && log[i]; i++) {
		bool reset = str_starts_with(log[i], "reset ");

		first = reset && n++ == 0 ? i : first;
		moved = moved == 0 && strstr(log[i], " to nvidia") ? i : moved;
		if (n > 0 && str_starts_with(log[i], "detach "))
			fail_msg("%s, after a reset", log[i]);
	}
	assert_int_equal(n, expected);
	assert_true(n == 0 || moved == 0 || first < moved);
}

static void expect_mark(Rig *rig, const char *bdf, TenantState state)
{
	_cleanup_(tenants_freep) Tenants *tenants = tenant_store_load(&rig->tenants);
	const Bdf lead = bdf_of(bdf);
	const TenantFile *file = tenants_find(tenants, &lead);

	assert_true(file && file->mark);
	assert_int_equal(file->mark->state, state);
}

static void expect_receipt(const Rig *rig)
{
	size_t n = 0;
	_cleanup_free_ char *receipt = rig_receipt(rig, &n);

	assert_int_equal(n, 1);
	assert_non_null(strstr(receipt, "\"uid\": 1234"));
	assert_non_null(strstr(receipt, "vm42"));
}

static const JobRequest assign = assign_request("vm42", "pair0", .plan.caller_uid = 1234);

/* Its third function is refused, and all is put back. */
static void attach_fails(Rig *rig)
{
	fake_fail(&rig->fake, &third_attach);
	rig_fails(rig, &assign, GPUPASS_ERROR_ATTACH_FAILED, "put back as it was");
	assert_true(rig_is_home(rig));
}

/* promise G10 */
/* fault 28 */
ON_A_RIG(what_a_guest_had_is_reset_before_the_host_gets_it_back)
{
	rig_running(rig);
	attach_fails(rig);
	assert_int_equal(rig->last.note.kind, JOB_NOTE_RESET);
	assert_non_null(strstr(rig->last.note.text, "pair0 was reset after vm42: "));
	expect_resets(rig, 4);
	expect_receipt(rig);
	expect_mark(rig, "0000:41:00.0", TENANT_CLEAN);
	expect_mark(rig, "0000:61:00.0", TENANT_CLEAN);
	/* Once before the first write, and before the functions leave vfio-pci: not one a function. */
	assert_int_equal(rig->fake.searches, 2);
	assert_true(rig->fake.calls[FAKE_INSPECT] <= 2 + 2);
}

/* A search for holders looks at all processes of the host, and each look is one more worker. */
TEST(holders_are_looked_for_only_where_one_would_stop_the_job)
{
	static const struct {
		void (*arrange)(Rig *rig);
		JobRequest request;
		unsigned searches;
	} rows[] = {
		/* Before the first write. */
		{ rig_shut_off, ASSIGN, 1 },
		{ rig_running, ASSIGN, 1 },
		{ rig_shut_off, BIND, 1 },
		/* And before the reset of what a guest may have had. */
		{ rig_assigned, RELEASE, 2 },
		{ rig_assigned_live, RELEASE, 2 },
		/* And before functions leave vfio-pci, where no reset has looked. */
		{ rig_bound, UNBIND, 2 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rows[i].arrange(rig);
		rig_must(rig, &rows[i].request);
		if (rig->fake.searches != rows[i].searches || rig->fake.fresh_uses != 1)
			fail_msg("row %zu: %u searches, domains read %u times", i,
				 rig->fake.searches, rig->fake.fresh_uses);
	}
}

ON_A_RIG(an_assign_that_no_guest_noticed_is_undone_without_a_reset)
{
	static const FakeFault define = { .op = FAKE_DEFINE,
					  .nth = 1,
					  .problem = GPUPASS_ERROR_DEFINE_FAILED };

	rig_shut_off(rig);
	fake_fail(&rig->fake, &define);
	rig_fails(rig, &assign, GPUPASS_ERROR_DEFINE_FAILED, "put back as it was");
	expect_resets(rig, 0);
}

ON_A_RIG(a_cancel_resets_what_the_guest_had)
{
	rig_running(rig);
	rig->cancel_at = 5; /* define, which follows attach */
	rig_try(rig, &assign);
	assert_int_equal(rig->last.state, JOB_CANCELLED);
	expect_resets(rig, 4);
}

/* Who had nothing of it before it was reset gets nothing of it now: on vfio-pci nobody has it. */
TEST(what_cannot_be_reset_stays_away_from_the_host)
{
	static const FakeResetFault rows[] = {
		{ .bdf = "0000:61:00.0", .result = RESET_FAILED, .error = -EIO },
		{ .bdf = "0000:61:00.0", .result = RESET_SILENT },
		{ .bdf = "0000:61:00.0", .never_returns = true },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig_running(rig);
		fake_fail(&rig->fake, &third_attach);
		rig->fake.reset_fault = rows[i];
		rig_sticks(rig, &assign, GPUPASS_ERROR_ROLLBACK_FAILED, "");
		assert_true(rig_is_bound(rig));
		expect_mark(rig, "0000:61:00.0", TENANT_DIRTY);
	}
}

ON_A_RIG(a_board_without_a_method_is_given_back_and_stays_dirty)
{
	rig_running(rig);
	for (size_t i = 0; i < rig->fake.snapshot->n_functions; i++) {
		free(rig->fake.snapshot->functions[i]->reset_methods);
		rig->fake.snapshot->functions[i]->reset_methods = NULL;
	}
	rig->fake.reset_fault =
		(FakeResetFault){ .bdf = "0000:41:00.0", .result = RESET_NO_METHOD };
	attach_fails(rig);
	assert_int_equal(rig->last.note.kind, JOB_NOTE_NOT_RESET);
	expect_mark(rig, "0000:41:00.0", TENANT_DIRTY);
}

static void end_guest(Rig *rig)
{
	fake_shut_off(&rig->fake, "vm42");
}

/* There is nothing to detach from it any more: the boards are reset all the same. */
ON_A_RIG(the_boards_of_a_guest_that_ended_meanwhile_are_reset)
{
	rig_running(rig);
	rig_at(rig, FAKE_ATTACH, 3, end_guest);
	assert_int_equal(rig_try(rig, &assign)->state, JOB_FAILED);
	expect_resets(rig, 4);
	assert_true(rig_is_home(rig));
}

/* libvirt goes in the middle, and the next daemon has only the journal to go by. */
static void leave_with_an_open_journal(Rig *rig)
{
	static const FakeFault lost = { .op = FAKE_ATTACH,
					.nth = 3,
					.from_then_on = true,
					.problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	static const FakeFault still = { .op = FAKE_DETACH,
					 .nth = 1,
					 .from_then_on = true,
					 .problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };

	rig_running(rig);
	fake_fail(&rig->fake, &lost);
	fake_fail(&rig->fake, &still);
	assert_int_equal(rig_try(rig, &assign)->state, JOB_INCOMPLETE);
	expect_resets(rig, 0);
	fake_watch(&rig->fake);
}

ON_A_RIG(recovery_resets_what_the_journal_says_a_guest_may_have_had)
{
	leave_with_an_open_journal(rig);
	rig_recover(rig, RECOVERED_UNDONE, NULL);
	expect_resets(rig, 4);
	expect_receipt(rig);
	/* Recovery turns no mark clean. */
	expect_mark(rig, "0000:41:00.0", TENANT_DIRTY);
	rig_check_guests(rig, "recovered");
}

/* Whether root moved it, or an undo that was interrupted: the host has it, and uses it. */
ON_A_RIG(what_the_host_has_back_spares_no_other_function_its_reset)
{
	leave_with_an_open_journal(rig);
	fake_set_driver(&rig->fake, "0000:41:00.0", "nvidia", "");
	rig_recover(rig, RECOVERED_UNDONE, NULL);
	expect_resets(rig, 3);
	for (char *const *line = rig->fake.log; *line; line++)
		assert_false(str_starts_with(*line, "reset 0000:41:00.0"));
	rig_check_guests(rig, "recovered");
}
