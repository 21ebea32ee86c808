/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between two tenants: every function is reset, a receipt says so, and otherwise nobody gets it. */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

#define NEXT assign_request("vm43", "pair0")

/* Beside a domain that would be the next one. */
static void assigned(Rig *rig)
{
	rig_assigned(rig);
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
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

/* The newest of so many: whether it is good, and the result of one function. */
static void expect_receipt(const Rig *rig, size_t expected, bool good, const char *bdf,
			   const char *result)
{
	_cleanup_json_ json_t *receipt = newest_receipt(rig, expected);
	const json_t *functions = json_object_get(receipt, "functions"), *function;
	const char *found = "";
	size_t i;

	json_array_foreach (functions, i, function)
		if (str_equal(json_string_value(json_object_get(function, "address")), bdf))
			found = json_string_value(json_object_get(function, "result"));
	assert_int_equal(json_is_true(json_object_get(receipt, "good")), good);
	assert_string_equal(found, result);
}

/* What is told for the log, beside how it ended. */
static void expect_note(const Rig *rig, JobNoteKind kind, const char *begin, const char *words)
{
	const JobNote *note = &rig->last.note;

	if (!note->text || note->kind != kind || !str_starts_with(note->text, begin) ||
	    !strstr(note->text, words))
		fail_msg("the log is told: %s", str_or_empty(note->text));
}

ON_A_RIG(a_release_leaves_a_receipt_of_every_function)
{
	_cleanup_json_ json_t *receipt = NULL;

	assigned(rig);
	rig_must(rig, &release_request("vm42", .plan.caller_uid = 1234));
	expect_note(rig, JOB_NOTE_RESET, "pair0 was reset after vm42: 0000:41:00.0",
		    "; 0000:61:00.1");
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		expect_receipt(rig, 1, true, pair0_bdfs[i], "reset");
	receipt = newest_receipt(rig, 1);
	assert_string_equal(json_string_value(json_object_get(receipt, "group")), "pair0");
	assert_int_equal(json_integer_value(json_object_get(receipt, "uid")), 1234);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(receipt, "domain"), "name")),
		"vm42");
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
	Policy *policy, before;

	rig_shut_off(rig);
	policy = &rig->place.rules->policy;
	before = *policy;
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_json_ json_t *receipt = NULL;
		_cleanup_free_ char *memory = NULL;

		rig_must(rig, &ASSIGN);
		policy->poll_memory_clear = rows[i].poll;
		for (size_t k = 0; k < rig->fake.snapshot->n_functions; k++) {
			char **methods = &rig->fake.snapshot->functions[k]->reset_methods;

			free(*methods);
			*methods = strdup(rows[i].slot ? "bus" : "flr");
		}
		rig_must(rig, &RELEASE);
		receipt = newest_receipt(rig, i + 1);
		memory = memory_of(receipt);
		assert_string_equal(memory, rows[i].memory);
		/* It is told, and decides nothing. */
		assert_true(json_is_true(json_object_get(receipt, "good")));
	}
	assert_int_equal(rig->fake.memory_asked, 2);
	*policy = before;
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
		_cleanup_(rig_freep) Rig *rig = rig_new();

		assigned(rig);
		rig->fake.reset_fault = rows[i];
		rig_fails(rig, &RELEASE, GPUPASS_ERROR_RESET_FAILED, rows[i].bdf);
		expect_note(rig, JOB_NOTE_RESET_FAILED,
			    "pair0 could not be reset after vm42: ", rows[i].bdf);
		assert_null(strstr(rig->last.message, strerror(EPROTO)));
		expect_receipt(rig, 1, false, rows[i].bdf, reset_result_to_string(rows[i].result));
		rig_fails(rig, &NEXT, GPUPASS_ERROR_GROUP_BUSY, "vm42");
		fake_watch(&rig->fake);
		rig_must(rig, &RELEASE);
		rig_must(rig, &NEXT);
	}
}

ON_A_RIG(a_function_without_a_method_is_recorded_and_no_obstacle)
{
	rig_assigned(rig);
	rig->fake.reset_fault =
		(FakeResetFault){ .bdf = "0000:41:00.1", .result = RESET_NO_METHOD };
	rig_must(rig, &RELEASE);
	expect_receipt(rig, 1, true, "0000:41:00.1", "no method");
}

/* fault 23 */
/* Nothing is given back, to nobody: neither to the host nor to the domain. The record stands. */
ON_A_RIG(a_reset_that_never_returns_quarantines_the_group)
{
	assigned(rig);
	rig->fake.reset_fault = (FakeResetFault){ .bdf = "0000:41:00.0", .never_returns = true };
	rig_sticks(rig, &RELEASE, GPUPASS_ERROR_ROLLBACK_FAILED,
		   "worker 4711 still waits in the kernel to reset 0000:41:00.0");
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
	rig_fails(rig, &NEXT, GPUPASS_ERROR_QUARANTINED, "");
	/* The daemon was restarted: the quarantine is forgotten, and the device has come back. */
	rig_new_claims(rig);
	memset(rig->fake.stuck, 0, rig->fake.snapshot->n_functions * sizeof(bool));
	rig_fails(rig, &NEXT, GPUPASS_ERROR_GROUP_BUSY, "vm42");
	fake_watch(&rig->fake);
	rig_must(rig, &RELEASE);
}

/* Somebody's own guest, after the first write. */
static void open_before_the_reset(FakeHost *fake, FakeOp op, _unused_ unsigned nth)
{
	if (op == FAKE_INSPECT && fake->calls[FAKE_DEFINE] > 0 && fake->n_holders == 0)
		fake_hold_by_guest(fake, "0000:41:00.0");
}

ON_A_RIG(what_a_guest_has_open_is_not_reset)
{
	rig_assigned(rig);
	rig->fake.hook = open_before_the_reset;
	rig_fails(rig, &RELEASE, GPUPASS_ERROR_HOST_IN_USE, "a guest runs on 0000:41:00.0");
	assert_int_equal(rig->fake.calls[FAKE_RESET], 0);
}

/* By hand, which no hook of libvirt's sees. */
static void attach_after_the_reset(FakeHost *fake, FakeOp op, _unused_ unsigned nth)
{
	if (op != FAKE_USES || fake->calls[FAKE_RESET] == 0 || fake_domain(fake, "vm43")->live_xml)
		return;
	fake_attach_to_definition(fake, "vm43", "0000:41:00.0");
	fake_start(fake, "vm43");
}

ON_A_RIG(what_a_domain_got_after_the_reset_is_not_given_back)
{
	assigned(rig);
	rig->fake.hook = attach_after_the_reset;
	rig_try(rig, &RELEASE);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_HOST_IN_USE, "a guest runs on 0000:41:00.0");
	assert_int_equal(rig->fake.calls[FAKE_RESET], 1);
	assert_true(rig_is_bound(rig));
	rig_check_guests(rig, "attached by hand");
}

/* Not even a clean mark can be believed where marks cannot be read, nor a dirty one be written. */
ON_A_RIG(without_its_store_nothing_is_given_back_or_away)
{
	RecordStore nowhere;

	rig_assigned(rig);
	records_open(&nowhere, &receipt_kind, "/proc/self/none");
	rig->place.receipts = &nowhere;
	rig_fails(rig, &RELEASE, GPUPASS_ERROR_STATE_READ_ONLY, "receipt");
	rig->place.receipts = &rig->receipts;
	records_close(&nowhere);
	rig_must(rig, &RELEASE);
	records_open(&nowhere, &tenant_kind, "/proc/self/none");
	rig->place.tenants = &nowhere;
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_STATE_READ_ONLY, "0000:41:00.0 could not be written");
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

static const Bdf leads[] = { { .bus = 0x41 }, { .bus = 0x61 } };

static void check_marks(Rig *rig, TenantState wanted, const char *domain)
{
	_cleanup_(tenants_freep) Tenants *tenants = tenant_store_load(&rig->tenants);
	const char *uuid = fake_domain(&rig->fake, domain)->uuid;

	for (size_t i = 0; i < ELEMENTS(leads); i++) {
		const TenantFile *file = tenants_find(tenants, &leads[i]);
		const TenantMark *mark = file ? file->mark : NULL;

		if (!mark || mark->state != wanted || !str_equal(mark->domain_uuid, uuid))
			fail_msg("%s is %s of %s", BDF_TEXT(&leads[i]),
				 mark ? tenant_state_to_string(mark->state) : "not marked",
				 mark ? str_or_empty(mark->domain_uuid) : "");
	}
}

static void mark_for(Rig *rig, const char *uuid)
{
	for (size_t i = 0; i < ELEMENTS(leads); i++) {
		_cleanup_(tenant_mark_clear) TenantMark mark = { .state = TENANT_DIRTY };
		_cleanup_(gpu_set_freep) GpuSet *set = gpu_set_new(rig->fake.snapshot);

		tenant_mark_identify(&mark, gpu_set_find(set, &leads[i]));
		mark.domain_uuid = strdup(uuid);
		mark.why = strdup("a test");
		assert_int_equal(tenant_store_save(&rig->tenants, &mark, 1), 0);
	}
}

static bool was_marked;

static void look_at_marks(Rig *rig)
{
	check_marks(rig, TENANT_DIRTY, "vm42");
	was_marked = true;
}

/* promise G4 */
/* The first call that puts a function into the domain finds it. */
TEST(a_mark_is_on_disk_before_a_domain_has_the_board)
{
	for (int running = 0; running <= 1; running++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		(running ? rig_running : rig_shut_off)(rig);
		was_marked = false;
		rig_at(rig, running ? FAKE_ATTACH : FAKE_DEFINE, 1, look_at_marks);
		rig_must(rig, &ASSIGN);
		assert_true(was_marked);
	}
}

ON_A_RIG(an_assign_that_is_undone_leaves_the_mark_dirty)
{
	FakeFault fault = {
		.op = FAKE_DEFINE, .nth = 1, .late = true, .problem = GPUPASS_ERROR_DEFINE_FAILED
	};

	rig_shut_off(rig);
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
	fake_fail(&rig->fake, &fault);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_DEFINE_FAILED, "");
	check_marks(rig, TENANT_DIRTY, "vm42");
	fake_watch(&rig->fake);
	rig_must(rig, &NEXT);
	assert_int_equal(rig->fake.calls[FAKE_RESET], 1);
	check_marks(rig, TENANT_DIRTY, "vm43");
}

static void assigned_to_the_guest_alone(Rig *rig)
{
	rig_running(rig);
	rig_must(rig, &assign_request("vm42", "pair0", .plan.live = true));
	fake_watch(&rig->fake);
}

/* Clean for a moment, and then its domain has it again. */
TEST(a_release_that_is_undone_after_its_reset_is_dirty_again)
{
	static void (*const arrangements[])(Rig *) = { rig_assigned, rig_assigned_live,
						       assigned_to_the_guest_alone };
	static const FakeMoveFault fault = { .bdf = "0000:61:00.0",
					     .driver = "nvidia",
					     .phase = DRIVER_PHASE_PROBE,
					     .error = -EIO };

	for (size_t i = 0; i < ELEMENTS(arrangements); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		arrangements[i](rig);
		fake_fail_move(&rig->fake, &fault);
		rig_fails(rig, &RELEASE, GPUPASS_ERROR_BIND_FAILED, "0000:61:00.0");
		assert_int_equal(rig->fake.calls[FAKE_RESET], 1);
		check_marks(rig, TENANT_DIRTY, "vm42");
		fake_watch(&rig->fake);
		rig_must(rig, &RELEASE);
		check_marks(rig, TENANT_CLEAN, "vm42");
	}
}

ON_A_RIG(a_board_without_a_method_is_released_dirty_and_given_on_by_a_word_only)
{
	assigned(rig);
	rig->fake.reset_fault =
		(FakeResetFault){ .bdf = "0000:61:00.0", .result = RESET_NO_METHOD };
	rig_must(rig, &RELEASE);
	expect_note(rig, JOB_NOTE_NOT_RESET,
		    "pair0 was not reset after vm42: ", "0000:61:00.0: no method");
	/* field: host/15: no tick, and a warning that names the board. */
	assert_true(strv_contains(rig->last.steps, "reset: not-done"));
	assert_false(strv_contains(rig->last.steps, "reset: done"));
	assert_int_equal(strv_length(rig->last.left), 1);
	assert_true(str_starts_with(rig->last.left[0], "0000:61:00.0 was not reset: "));
	expect_receipt(rig, 1, false, "0000:61:00.0", "no method");

	rig_fails(rig, &NEXT, GPUPASS_ERROR_RESET_FAILED, "0000:61:00.0 was last used by");
	assert_non_null(strstr(rig->last.message, VM42));

	rig_must(rig, &ASSIGN);
	rig_must(rig, &RELEASE);
	rig_must(rig, &assign_request("vm43", "pair0", .plan.accept_dirty = true));
	expect_note(rig, JOB_NOTE_ACCEPTED,
		    "pair0 is given on without a reset, as was asked for, after vm42", "");
	check_marks(rig, TENANT_DIRTY, "vm43");
}

/* Somebody's guest ran with it after the plan was made: what the gate sees counts. */
ON_A_RIG(what_was_used_since_the_plan_is_not_given_away)
{
	rig_shut_off(rig);
	rig_note_world(rig);
	rig_plan(rig, &ASSIGN);
	mark_for(rig, "00000000-0000-0000-0000-000000000009");
	rig_go(rig);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_RESET_FAILED,
		   "was last used by 00000000-0000-0000-0000-000000000009");
	rig_check_noted(rig);
}

/* What runs is a tenant, whoever gave it the board: a job sees so itself, before any other look. */
ON_A_RIG(a_job_sees_a_foreign_guest_by_itself)
{
	rig_shut_off_bound(rig);
	fake_add_domain(&rig->fake, "vm43", "q35-eight-ports", NULL);
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_attach_to_definition(&rig->fake, "vm43", pair0_bdfs[i]);
	fake_start(&rig->fake, "vm43");
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_FOREIGN_OWNER, "vm43");
	check_marks(rig, TENANT_DIRTY, "vm43");
	fake_shut_off(&rig->fake, "vm43");
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_unplug(&rig->fake, "vm43", pair0_bdfs[i]);
	fake_watch(&rig->fake);
	rig_must(rig, &ASSIGN);
	assert_int_equal(rig->fake.calls[FAKE_RESET], 1);
	check_marks(rig, TENANT_DIRTY, "vm42");
}
