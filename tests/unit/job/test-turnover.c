/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between two tenants: every function is reset, a receipt says so, and otherwise nobody gets it. */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

/* Beside a domain that would be the next one. */
static void assigned(Rig *rig)
{
	rig_assigned(rig);
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
	fake_watch(&rig->fake);
}

static json_t *newest_receipt(const Rig *rig, size_t expected)
{
	size_t n = 0;
	_cleanup_free_ char *text = rig_receipt(rig, &n);
	json_t *receipt = NULL;

	assert_int_equal(n, expected);
	assert_int_equal(record_open(&receipt_kind, text, strlen(text), &receipt, NULL), 0);
	return receipt;
}

static const char *result_of(const json_t *receipt, const char *bdf)
{
	const json_t *functions = json_object_get(receipt, "functions"), *function;
	size_t i;

	json_array_foreach (functions, i, function)
		if (str_equal(json_string_value(json_object_get(function, "address")), bdf))
			return json_string_value(json_object_get(function, "result"));
	return NULL;
}

/* What is told for the log, beside how it ended. */
static void expect_note(const Outcome *outcome, JobNoteKind kind, const char *begin,
			const char *words)
{
	const JobNote *note = &outcome->note;

	if (!note->text || note->kind != kind || !str_starts_with(note->text, begin) ||
	    !strstr(note->text, words))
		fail_msg("the log is told: %s", str_or_empty(note->text));
}

ON_A_RIG(a_release_leaves_a_receipt_of_every_function)
{
	static const char *const functions[] = { PAIR0_FUNCTIONS };
	JobRequest request = release_request("vm42");
	_cleanup_json_ json_t *receipt = NULL;
	Outcome outcome;

	assigned(rig);
	request.caller_uid = 1234;
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_DONE);
	expect_note(&outcome, JOB_NOTE_RESET, "pair0 was reset after vm42: 0000:41:00.0",
		    "; 0000:61:00.1");
	outcome_clear(&outcome);
	receipt = newest_receipt(rig, 1);
	assert_true(json_is_true(json_object_get(receipt, "good")));
	assert_string_equal(json_string_value(json_object_get(receipt, "group")), "pair0");
	assert_int_equal(json_integer_value(json_object_get(receipt, "uid")), 1234);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(receipt, "domain"), "name")),
		"vm42");
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		assert_string_equal(result_of(receipt, functions[i]), "reset");
}

static char *memory_of(const json_t *receipt)
{
	const json_t *boards = json_object_get(receipt, "boards"), *board;
	_cleanup_strv_ char **list = NULL;
	size_t i;

	json_array_foreach (boards, i, board) {
		const char *why = json_string_value(json_object_get(board, "memory_why"));

		strv_appendf(&list, "%s%s%s", json_string_value(json_object_get(board, "memory")),
			     why ? ": " : "", str_or_empty(why));
	}
	return strv_join(list, "; ");
}

/* promise G8 */
/* By default nobody reads registers; and a reset by flr is not one that they speak of. */
ON_A_RIG(the_receipt_says_what_is_known_of_memory)
{
	static const struct {
		bool poll, slot;
		const char *memory;
	} rows[] = {
		{ false, true,
		  "not known: nobody asked: PollMemoryClear=; "
		  "not known: nobody asked: PollMemoryClear=" },
		{ true, false,
		  "not known: it is known to say so after a bus reset only; "
		  "not known: it is known to say so after a bus reset only" },
		{ true, true, "cleared; not cleared" },
	};
	JobRequest request = release_request("vm42"), again = assign_request("vm42", "pair0");
	Policy *policy = NULL, before;

	assigned(rig);
	policy = &rig->place.rules->policy;
	before = *policy;
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_json_ json_t *receipt = NULL;
		_cleanup_free_ char *memory = NULL;

		if (i > 0)
			rig_must(rig, &again);
		policy->poll_memory_clear = rows[i].poll;
		for (size_t k = 0; k < rig->fake.snapshot->n_functions; k++) {
			char **methods = &rig->fake.snapshot->functions[k]->reset_methods;

			free(*methods);
			*methods = strdup(rows[i].slot ? "bus" : "flr");
		}
		rig_must(rig, &request);
		receipt = newest_receipt(rig, i + 1);
		memory = memory_of(receipt);
		assert_string_equal(memory, rows[i].memory);
		/* It is told, and decides nothing. */
		assert_true(json_is_true(json_object_get(receipt, "good")));
	}
	assert_int_equal(rig->fake.memory_asked, 2);
	*policy = before;
}

ON_A_RIG(keeping_vfio_resets_too)
{
	JobRequest request = release_request("vm42");

	assigned(rig);
	request.keep_vfio = true;
	rig_must(rig, &request);
	assert_int_equal(rig->fake.calls[FAKE_RESET], 1);
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
	assert_true(rig_is_on(rig, "0000:41:00.0", "vfio-pci", "vfio-pci"));
}

ON_A_RIG(what_was_merely_bound_is_not_reset)
{
	JobRequest bind = bind_request("pair0"), unbind = unbind_request("pair0");

	rig_must(rig, &bind);
	rig_must(rig, &unbind);
	assert_int_equal(rig->fake.calls[FAKE_RESET], 0);
}

/* fault 23 */
/* Whatever is wrong with one function, its domain keeps the group, and a next one is refused. */
TEST(a_function_that_is_not_fit_keeps_the_group_from_the_next_tenant)
{
	static const FakeResetFault rows[] = {
		{ .bdf = "0000:41:00.0", .result = RESET_FAILED, .error = -EIO },
		{ .bdf = "0000:61:00.1", .result = RESET_FAILED, .error = -ENOTTY },
		{ .bdf = "0000:61:00.0", .result = RESET_SILENT },
		{ .bdf = "0000:61:00.0", .result = RESET_LINK_WORSE },
		{ .bdf = "0000:41:00.1", .result = RESET_REFUSED, .error = -EBUSY },
		{ .bdf = "0000:41:00.0", .result = RESET_UNKNOWN, .error = -EPROTO },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		JobRequest release = release_request("vm42"),
			   next = assign_request("vm43", "pair0");
		_cleanup_free_ char *before = NULL, *what = strf("row %zu", i);
		_cleanup_json_ json_t *receipt = NULL;
		Rig *rig = rig_new();
		Outcome outcome;

		assigned(rig);
		before = rig_world(rig);
		rig->fake.reset_fault = rows[i];
		outcome = rig_run(rig, &release);
		expect_note(&outcome, JOB_NOTE_RESET_FAILED,
			    "pair0 could not be reset after vm42: ", rows[i].bdf);
		assert_null(strstr(outcome.message, strerror(EPROTO)));
		rig_expect_failure(&outcome, GPUPASS_ERROR_RESET_FAILED, rows[i].bdf);
		rig_check_world(rig, before, what);
		receipt = newest_receipt(rig, 1);
		assert_true(json_is_false(json_object_get(receipt, "good")));
		assert_string_equal(result_of(receipt, rows[i].bdf),
				    reset_result_to_string(rows[i].result));
		outcome = rig_run(rig, &next);
		rig_expect_failure(&outcome, GPUPASS_ERROR_GROUP_BUSY, "vm42");
		rig_check_world(rig, before, what);
		fake_watch(&rig->fake);
		rig_must(rig, &release);
		rig_must(rig, &next);
		rig_free(rig);
	}
}

ON_A_RIG(a_function_without_a_method_is_recorded_and_no_obstacle)
{
	JobRequest request = release_request("vm42");
	_cleanup_json_ json_t *receipt = NULL;

	assigned(rig);
	rig->fake.reset_fault =
		(FakeResetFault){ .bdf = "0000:41:00.1", .result = RESET_NO_METHOD };
	rig_must(rig, &request);
	receipt = newest_receipt(rig, 1);
	assert_string_equal(result_of(receipt, "0000:41:00.1"), "no method");
}

/* fault 23 */
/* Nothing is given back, to nobody: neither to the host nor to the domain. The record stands. */
ON_A_RIG(a_reset_that_never_returns_quarantines_the_group)
{
	JobRequest release = release_request("vm42"), next = assign_request("vm43", "pair0");
	Outcome outcome;

	assigned(rig);
	rig->fake.reset_fault = (FakeResetFault){ .bdf = "0000:41:00.0", .never_returns = true };
	outcome = rig_run(rig, &release);
	assert_int_equal(outcome.state, JOB_INCOMPLETE);
	assert_int_equal(outcome.error, GPUPASS_ERROR_ROLLBACK_FAILED);
	assert_non_null(strstr(outcome.message, "waits in the kernel to reset 0000:41:00.0"));
	outcome_clear(&outcome);
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
	rig_check_guests(rig, "stuck in its reset");
	outcome = rig_run(rig, &next);
	rig_expect_failure(&outcome, GPUPASS_ERROR_QUARANTINED, "");
	/* The daemon was restarted: the quarantine is forgotten, and the device has come back. */
	claims_free(rig->claims);
	rig->claims = claims_new();
	rig->place.claims = rig->claims;
	memset(rig->fake.stuck, 0, rig->fake.snapshot->n_functions * sizeof(bool));
	outcome = rig_run(rig, &next);
	rig_expect_failure(&outcome, GPUPASS_ERROR_GROUP_BUSY, "vm42");
	fake_watch(&rig->fake);
	rig_must(rig, &release);
}

/* Somebody's own guest, after the first write. */
static void open_before_the_reset(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op != FAKE_INSPECT || fake->calls[FAKE_DEFINE] == 0 || fake->n_holders > 0)
		return;
	fake_hold(fake, "0000:41:00.0", "qemu-system-x86");
	fake->holders[fake->n_holders - 1].vfio = true;
}

ON_A_RIG(what_a_guest_has_open_is_not_reset)
{
	JobRequest request = release_request("vm42");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	assigned(rig);
	before = rig_world(rig);
	rig->fake.hook = open_before_the_reset;
	outcome = rig_run(rig, &request);
	rig_expect_failure(&outcome, GPUPASS_ERROR_HOST_IN_USE, "a guest runs on 0000:41:00.0");
	assert_int_equal(rig->fake.calls[FAKE_RESET], 0);
	rig_check_world(rig, before, "held by a guest");
}

/* By hand, which no hook of libvirt's sees. */
static void attach_after_the_reset(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op != FAKE_USES || fake->calls[FAKE_RESET] == 0 || fake_domain(fake, "vm43")->live_xml)
		return;
	fake_attach_to_definition(fake, "vm43", "0000:41:00.0");
	fake_start(fake, "vm43");
}

ON_A_RIG(what_a_domain_got_after_the_reset_is_not_given_back)
{
	JobRequest request = release_request("vm42");
	Outcome outcome;

	assigned(rig);
	rig->fake.hook = attach_after_the_reset;
	outcome = rig_run(rig, &request);
	rig_expect_failure(&outcome, GPUPASS_ERROR_HOST_IN_USE, "a guest runs on 0000:41:00.0");
	assert_int_equal(rig->fake.calls[FAKE_RESET], 1);
	assert_true(rig_is_on(rig, "0000:41:00.0", "vfio-pci", "vfio-pci"));
	rig_check_guests(rig, "attached by hand");
}

ON_A_RIG(a_receipt_that_cannot_be_stored_fails_the_release)
{
	JobRequest request = release_request("vm42");
	_cleanup_free_ char *before = NULL;
	ReceiptStore nowhere;
	Outcome outcome;

	assigned(rig);
	before = rig_world(rig);
	records_open(&nowhere, &receipt_kind, "/proc/self/none");
	rig->place.receipts = &nowhere;
	outcome = rig_run(rig, &request);
	rig_expect_failure(&outcome, GPUPASS_ERROR_STATE_READ_ONLY, "receipt");
	rig_check_world(rig, before, "no receipt");
	records_close(&nowhere);
}

/* Files of before, with the time in their names, are older than all; a clock may say anything. */
ON_A_RIG(the_oldest_receipts_make_room_by_number)
{
	_cleanup_strv_ char **names = NULL;
	Receipt receipt = { .group = "pair0", .domain_uuid = "u", .domain_name = "vm42" };
	_cleanup_free_ char *last = NULL;

	for (unsigned i = 0; i < RECEIPTS_KEPT + 3; i++) {
		_cleanup_free_ char *name =
			i < 3 ? strf("5845540512%uT000000.000000Z-pair0.json", i)
			      : receipt_file_name(i - 2, "pair0");

		receipt.ended_usec = (uint64_t)-1000000LL * i;
		if (i < RECEIPTS_KEPT + 2)
			assert_int_equal(file_replace_at(rig->receipts.dir_fd, name, "", 0, 0644),
					 0);
		else
			assert_int_equal(receipt_store_add(&rig->receipts, &receipt, &last), 0);
	}
	assert_int_equal(dir_list(rig->receipts.dir_fd, ".json", &names), 0);
	assert_int_equal(strv_length(names), RECEIPTS_KEPT);
	assert_string_equal(names[0], "0000000001-pair0.json");
	assert_string_equal(names[RECEIPTS_KEPT - 1], "0000001000-pair0.json");
	assert_string_equal(last, names[RECEIPTS_KEPT - 1]);
}

/* ---- marks ---- */

#define BOARDS 2

static const char *const leads[BOARDS] = { "0000:41:00.0", "0000:61:00.0" };

static void check_marks(Rig *rig, const char *what, TenantState wanted, const char *domain)
{
	_cleanup_(tenants_freep) Tenants *tenants = NULL;
	const char *uuid = domain ? fake_domain(&rig->fake, domain)->uuid : NULL;

	tenants = tenant_store_load(&rig->tenants);
	for (size_t i = 0; i < BOARDS; i++) {
		const TenantFile *file;
		Bdf lead = { 0 };

		assert_int_equal(bdf_parse(leads[i], &lead), 0);
		file = tenants_find(tenants, &lead);
		if (!file || !file->mark || file->mark->state != wanted ||
		    !str_equal(file->mark->domain_uuid, uuid))
			fail_msg("%s: %s is %s of %s", what, leads[i],
				 file && file->mark ? tenant_state_to_string(file->mark->state)
						    : "not marked",
				 file && file->mark ? str_or_empty(file->mark->domain_uuid) : "");
	}
}

static void mark_for(Rig *rig, const char *uuid)
{
	for (size_t i = 0; i < BOARDS; i++) {
		_cleanup_(tenant_mark_clear) TenantMark mark = { .state = TENANT_DIRTY };
		_cleanup_(gpu_set_freep) GpuSet *set = NULL;
		Bdf lead = { 0 };

		assert_int_equal(bdf_parse(leads[i], &lead), 0);
		set = gpu_set_new(rig->fake.snapshot);
		tenant_mark_identify(&mark, gpu_set_find(set, &lead));
		mark.domain_uuid = strdup(uuid);
		mark.why = strdup("a test");
		assert_int_equal(tenant_store_save(&rig->tenants, &mark, 1), 0);
	}
}

/* The world, and its marks, as the first call finds them that puts a function into a domain. */
static Rig *looked_at;
static bool was_marked;

static void look_at_marks(FakeHost *fake, FakeOp op, unsigned nth)
{
	if ((op != FAKE_DEFINE && op != FAKE_ATTACH) || nth != 1)
		return;
	(void)fake;
	check_marks(looked_at, "before the call", TENANT_DIRTY, "vm42");
	was_marked = true;
}

/* promise G4 */
TEST(a_mark_is_on_disk_before_a_domain_has_the_board)
{
	static void (*const arrangements[])(Rig *) = { rig_shut_off, rig_running };

	for (size_t i = 0; i < ELEMENTS(arrangements); i++) {
		JobRequest request = assign_request("vm42", "pair0");
		Rig *rig = rig_new();

		arrangements[i](rig);
		looked_at = rig;
		was_marked = false;
		rig->fake.hook = look_at_marks;
		rig_must(rig, &request);
		assert_true(was_marked);
		rig_free(rig);
	}
}

ON_A_RIG(an_assign_that_is_undone_leaves_the_mark_dirty)
{
	JobRequest request = assign_request("vm42", "pair0"),
		   next = assign_request("vm43", "pair0");
	FakeFault fault = {
		.op = FAKE_DEFINE, .nth = 1, .late = true, .problem = GPUPASS_ERROR_DEFINE_FAILED
	};
	Outcome outcome;

	rig_shut_off(rig);
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
	fake_fail(&rig->fake, &fault);
	outcome = rig_run(rig, &request);
	rig_expect_failure(&outcome, GPUPASS_ERROR_DEFINE_FAILED, "");
	check_marks(rig, "undone", TENANT_DIRTY, "vm42");
	fake_watch(&rig->fake);
	rig_must(rig, &next);
	assert_int_equal(rig->fake.calls[FAKE_RESET], 1);
	check_marks(rig, "given on", TENANT_DIRTY, "vm43");
}

static void assigned_to_the_guest_alone(Rig *rig)
{
	JobRequest request = assign_request("vm42", "pair0");

	rig_running(rig);
	request.live = true;
	rig_must(rig, &request);
}

/* Clean for a moment, and then its domain has it again. */
TEST(a_release_that_is_undone_after_its_reset_is_dirty_again)
{
	static void (*const arrangements[])(Rig *) = { rig_assigned, rig_assigned_live,
						       assigned_to_the_guest_alone };

	for (size_t i = 0; i < ELEMENTS(arrangements); i++) {
		static const FakeMoveFault fault = { .bdf = "0000:61:00.0",
						     .driver = "nvidia",
						     .phase = DRIVER_PHASE_PROBE,
						     .error = -EIO };
		JobRequest release = release_request("vm42");
		Rig *rig = rig_new();
		Outcome outcome;

		arrangements[i](rig);
		fake_watch(&rig->fake);
		fake_fail_move(&rig->fake, &fault);
		outcome = rig_run(rig, &release);
		rig_expect_failure(&outcome, GPUPASS_ERROR_BIND_FAILED, "0000:61:00.0");
		assert_int_equal(rig->fake.calls[FAKE_RESET], 1);
		check_marks(rig, "undone", TENANT_DIRTY, "vm42");
		fake_watch(&rig->fake);
		rig_must(rig, &release);
		check_marks(rig, "released", TENANT_CLEAN, "vm42");
		rig_free(rig);
	}
}

ON_A_RIG(a_board_without_a_method_is_released_dirty_and_given_on_by_a_word_only)
{
	JobRequest release = release_request("vm42"), next = assign_request("vm43", "pair0"),
		   again = assign_request("vm42", "pair0");
	_cleanup_json_ json_t *receipt = NULL;
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	assigned(rig);
	rig->fake.reset_fault =
		(FakeResetFault){ .bdf = "0000:61:00.0", .result = RESET_NO_METHOD };
	outcome = rig_run(rig, &release);
	assert_int_equal(outcome.state, JOB_DONE);
	expect_note(&outcome, JOB_NOTE_NOT_RESET,
		    "pair0 was not reset after vm42: ", "0000:61:00.0: no method");
	/* field: host/15: no tick, and a warning that names the board. */
	assert_true(strv_contains(outcome.steps, "reset: not-done"));
	assert_false(strv_contains(outcome.steps, "reset: done"));
	assert_int_equal(strv_length(outcome.left), 1);
	assert_true(str_starts_with(outcome.left[0], "0000:61:00.0 was not reset: "));
	outcome_clear(&outcome);
	receipt = newest_receipt(rig, 1);
	assert_true(json_is_false(json_object_get(receipt, "good")));

	before = rig_world(rig);
	outcome = rig_run(rig, &next);
	assert_non_null(strstr(outcome.message, fake_domain(&rig->fake, "vm42")->uuid));
	rig_expect_failure(&outcome, GPUPASS_ERROR_RESET_FAILED, "0000:61:00.0 was last used by");
	rig_check_world(rig, before, "refused");

	rig_must(rig, &again);
	rig_must(rig, &release);
	next.accept_dirty = true;
	outcome = rig_run(rig, &next);
	assert_int_equal(outcome.state, JOB_DONE);
	expect_note(&outcome, JOB_NOTE_ACCEPTED,
		    "pair0 is given on without a reset, as was asked for, after vm42", "");
	outcome_clear(&outcome);
	check_marks(rig, "accepted", TENANT_DIRTY, "vm43");
}

/* Somebody's guest ran with it after the plan was made: what the gate sees counts. */
ON_A_RIG(what_was_used_since_the_plan_is_not_given_away)
{
	JobRequest request = assign_request("vm42", "pair0");
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_free_ char *prefix = NULL, *before = NULL;
	Outcome outcome;

	rig_shut_off(rig);
	before = rig_world(rig);
	outcome = rig_prepare(rig, &request, &prepared, &prefix);
	assert_int_equal(outcome.state, JOB_RUNNING);
	mark_for(rig, "00000000-0000-0000-0000-000000000009");
	outcome = rig_execute(rig, prepared, prefix);
	rig_expect_failure(&outcome, GPUPASS_ERROR_RESET_FAILED,
			   "was last used by 00000000-0000-0000-0000-000000000009");
	rig_check_world(rig, before, "refused at the gate");
}

/* Not even a clean mark can be believed then, nor a dirty one be written. */
ON_A_RIG(marks_that_cannot_be_read_give_nobody_a_board)
{
	JobRequest request = assign_request("vm42", "pair0");
	_cleanup_free_ char *before = NULL;
	TenantStore broken;
	Outcome outcome;

	rig_shut_off(rig);
	before = rig_world(rig);
	records_open(&broken, &tenant_kind, "/proc/self/none");
	rig->place.tenants = &broken;
	outcome = rig_run(rig, &request);
	rig_expect_failure(&outcome, GPUPASS_ERROR_STATE_READ_ONLY,
			   "0000:41:00.0 could not be written");
	rig_check_world(rig, before, "no marks");
	records_close(&broken);
}

/* What runs is a tenant, whoever gave it the board: a job sees so itself, before any other look. */
ON_A_RIG(a_job_sees_a_foreign_guest_by_itself)
{
	static const char *const functions[] = { PAIR0_FUNCTIONS };
	JobRequest bind = bind_request("pair0"), next = assign_request("vm42", "pair0");
	Outcome outcome;

	rig_shut_off(rig);
	rig_must(rig, &bind);
	fake_add_domain(&rig->fake, "vm43", "q35-eight-ports", NULL);
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		fake_attach_to_definition(&rig->fake, "vm43", functions[i]);
	fake_start(&rig->fake, "vm43");
	outcome = rig_run(rig, &next);
	rig_expect_failure(&outcome, GPUPASS_ERROR_FOREIGN_OWNER, "vm43");
	check_marks(rig, "seen", TENANT_DIRTY, "vm43");
	fake_shut_off(&rig->fake, "vm43");
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		fake_unplug(&rig->fake, "vm43", functions[i]);
	fake_watch(&rig->fake);
	rig_must(rig, &next);
	assert_int_equal(rig->fake.calls[FAKE_RESET], 1);
	check_marks(rig, "given on", TENANT_DIRTY, "vm42");
}
