/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live assign is undone after its guest had the boards: the host's drivers get them only once
 * they were reset. The fake host notes whatever else happens as a violation.
 */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/text.h"

static const FakeFault third_attach = { .op = FAKE_ATTACH,
					.nth = 3,
					.problem = GPUPASS_ERROR_ATTACH_FAILED };

static size_t first_line(const Rig *rig, const char *begin)
{
	for (size_t i = 0; rig->fake.log && rig->fake.log[i]; i++)
		if (str_starts_with(rig->fake.log[i], begin))
			return i;
	fail_msg("nothing was done like: %s", begin);
	return 0;
}

static size_t count_lines(const Rig *rig, const char *begin)
{
	size_t n = 0;

	for (size_t i = 0; rig->fake.log && rig->fake.log[i]; i++)
		n += str_starts_with(rig->fake.log[i], begin);
	return n;
}

static TenantState mark_of(Rig *rig, const char *bdf)
{
	_cleanup_(tenants_freep) Tenants *tenants = NULL;
	const TenantFile *file;
	Bdf lead;

	assert_int_equal(bdf_parse(bdf, &lead), 0);
	tenants = tenant_store_load(&rig->tenants);
	file = tenants_find(tenants, &lead);
	assert_non_null(file);
	assert_non_null(file->mark);
	return file->mark->state;
}

static Outcome assign_live(Rig *rig, const FakeFault *fault, const FakeResetFault *reset)
{
	JobRequest request = assign_request("vm42", "pair0");

	request.caller_uid = 1234;
	fake_watch(&rig->fake);
	if (fault)
		fake_fail(&rig->fake, fault);
	if (reset)
		rig->fake.reset_fault = *reset;
	return rig_run(rig, &request);
}

/* promise G10 */
/* fault 28 */
ON_A_RIG(what_a_guest_had_is_reset_before_the_host_gets_it_back)
{
	_cleanup_free_ char *receipt = NULL;
	Outcome outcome;
	size_t n = 0;

	rig_running(rig);
	outcome = assign_live(rig, &third_attach, NULL);
	assert_int_equal(outcome.note.kind, JOB_NOTE_RESET);
	assert_non_null(strstr(outcome.note.text, "pair0 was reset after vm42: "));
	rig_expect_failure(&outcome, GPUPASS_ERROR_ATTACH_FAILED, "put back as it was");
	assert_true(first_line(rig, "detach 0000:41:00.0") < first_line(rig, "reset "));
	assert_int_equal(count_lines(rig, "reset "), 4);
	assert_true(first_line(rig, "reset ") < first_line(rig, "move 0000:41:00.0 to nvidia"));
	assert_true(rig_is_on(rig, "0000:61:00.0", "nvidia", ""));
	receipt = rig_receipt(rig, &n);
	assert_int_equal(n, 1);
	assert_non_null(strstr(receipt, "\"uid\": 1234"));
	assert_non_null(strstr(receipt, "vm42"));
	assert_int_equal(mark_of(rig, "0000:41:00.0"), TENANT_CLEAN);
	assert_int_equal(mark_of(rig, "0000:61:00.0"), TENANT_CLEAN);
}

/* A search for holders looks at all processes of the host, and each look is one more worker. */
TEST(holders_are_looked_for_only_where_one_would_stop_the_job)
{
	static const struct {
		void (*setup)(Rig *rig);
		JobRequest request;
		unsigned searches;
	} rows[] = {
		/* Before the first write. */
		{ rig_shut_off, RIG_ASSIGN, 1 },
		{ rig_running, RIG_ASSIGN, 1 },
		{ rig_shut_off, RIG_BIND, 1 },
		/* And before the reset of what a guest may have had. */
		{ rig_assigned, RIG_RELEASE, 2 },
		{ rig_assigned_live, RIG_RELEASE, 2 },
		/* And before functions leave vfio-pci, where no reset has looked. */
		{ rig_bound, RIG_UNBIND, 2 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rows[i].setup(rig);
		fake_watch(&rig->fake);
		rig_must(rig, &rows[i].request);
		if (rig->fake.searches != rows[i].searches || rig->fake.fresh_uses != 1)
			fail_msg("row %zu: %u searches, domains read %u times", i,
				 rig->fake.searches, rig->fake.fresh_uses);
	}
}

ON_A_RIG(an_undo_looks_at_all_functions_at_once)
{
	Outcome outcome;

	rig_running(rig);
	outcome = assign_live(rig, &third_attach, NULL);
	rig_expect_failure(&outcome, GPUPASS_ERROR_ATTACH_FAILED, "put back as it was");
	assert_int_equal(rig->fake.searches, 2); /* and before the functions leave vfio-pci */
	assert_true(rig->fake.calls[FAKE_INSPECT] <= 2 + 2); /* not one a function */
}

ON_A_RIG(an_assign_that_no_guest_noticed_is_undone_without_a_reset)
{
	static const FakeFault define = { .op = FAKE_DEFINE,
					  .nth = 1,
					  .problem = GPUPASS_ERROR_DEFINE_FAILED };
	Outcome outcome;

	rig_shut_off(rig);
	outcome = assign_live(rig, &define, NULL);
	rig_expect_failure(&outcome, GPUPASS_ERROR_DEFINE_FAILED, "put back as it was");
	assert_int_equal(count_lines(rig, "reset "), 0);
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
}

ON_A_RIG(a_cancel_resets_what_the_guest_had)
{
	Outcome outcome;

	rig_running(rig);
	rig->cancel_at = 5; /* define, which follows attach */
	outcome = assign_live(rig, NULL, NULL);
	assert_int_equal(outcome.state, JOB_CANCELLED);
	outcome_clear(&outcome);
	assert_int_equal(count_lines(rig, "reset "), 4);
	assert_true(first_line(rig, "reset ") < first_line(rig, "move 0000:41:00.0 to nvidia"));
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
		Outcome outcome;

		rig_running(rig);
		outcome = assign_live(rig, &third_attach, &rows[i]);
		assert_int_equal(outcome.state, JOB_INCOMPLETE);
		assert_int_equal(outcome.error, GPUPASS_ERROR_ROLLBACK_FAILED);
		assert_non_null(strstr(outcome.message, "pair0 is quarantined: "));
		outcome_clear(&outcome);
		assert_true(rig_is_on(rig, "0000:41:00.0", "vfio-pci", "vfio-pci"));
		assert_true(rig_is_on(rig, "0000:61:00.1", "vfio-pci", "vfio-pci"));
		assert_int_equal(mark_of(rig, "0000:61:00.0"), TENANT_DIRTY);
		rig_check_guests(rig, "not reset");
	}
}

ON_A_RIG(a_board_without_a_method_is_given_back_and_stays_dirty)
{
	static const FakeResetFault none = { .bdf = "0000:41:00.0", .result = RESET_NO_METHOD };
	Outcome outcome;

	rig_running(rig);
	for (size_t i = 0; i < rig->fake.snapshot->n_functions; i++) {
		free(rig->fake.snapshot->functions[i]->reset_methods);
		rig->fake.snapshot->functions[i]->reset_methods = NULL;
	}
	outcome = assign_live(rig, &third_attach, &none);
	assert_int_equal(outcome.note.kind, JOB_NOTE_NOT_RESET);
	rig_expect_failure(&outcome, GPUPASS_ERROR_ATTACH_FAILED, "put back as it was");
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
	assert_int_equal(mark_of(rig, "0000:41:00.0"), TENANT_DIRTY);
}

static const char *guest_to_end;

static void end_guest(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == FAKE_ATTACH && nth == 3)
		fake_shut_off(fake, guest_to_end);
}

/* There is nothing to detach from it any more: the boards are reset all the same. */
ON_A_RIG(the_boards_of_a_guest_that_ended_meanwhile_are_reset)
{
	Outcome outcome;
	JobRequest request = assign_request("vm42", "pair0");

	rig_running(rig);
	fake_watch(&rig->fake);
	guest_to_end = "vm42";
	rig->fake.hook = end_guest;
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_FAILED);
	outcome_clear(&outcome);
	assert_int_equal(count_lines(rig, "reset "), 4);
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
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
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome;

	request.caller_uid = 1234;
	rig_running(rig);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &lost);
	fake_fail(&rig->fake, &still);
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_INCOMPLETE);
	outcome_clear(&outcome);
	assert_int_equal(count_lines(rig, "reset "), 0);
	fake_watch(&rig->fake);
}

ON_A_RIG(recovery_resets_what_the_journal_says_a_guest_may_have_had)
{
	_cleanup_free_ char *receipt = NULL;
	size_t n = 0;

	leave_with_an_open_journal(rig);
	rig_recover(rig, RECOVERED_UNDONE, NULL);
	assert_int_equal(count_lines(rig, "reset "), 4);
	assert_true(first_line(rig, "reset ") < first_line(rig, "move 0000:41:00.0 to nvidia"));
	receipt = rig_receipt(rig, &n);
	assert_int_equal(n, 1);
	assert_non_null(strstr(receipt, "\"uid\": 1234"));
	/* Recovery turns no mark clean. */
	assert_int_equal(mark_of(rig, "0000:41:00.0"), TENANT_DIRTY);
	rig_check_guests(rig, "recovered");
}

/* Whether root moved it, or an undo that was interrupted: the host has it, and uses it. */
ON_A_RIG(what_the_host_has_back_spares_no_other_function_its_reset)
{
	leave_with_an_open_journal(rig);
	fake_set_driver(&rig->fake, "0000:41:00.0", "nvidia", "");
	rig_recover(rig, RECOVERED_UNDONE, NULL);
	assert_int_equal(count_lines(rig, "reset 0000:41:00.0"), 0);
	assert_int_equal(count_lines(rig, "reset "), 3);
	assert_true(first_line(rig, "reset 0000:61:00.0") <
		    first_line(rig, "move 0000:61:00.0 to nvidia"));
	rig_check_guests(rig, "recovered");
}
