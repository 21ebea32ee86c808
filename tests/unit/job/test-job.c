/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs on threads: what the loop is told, and in which order. */
#include "rig/test.h"

#include <jansson.h>
#include <limits.h>
#include <semaphore.h>
#include <string.h>

#include "gpupass/dbus.h"
#include "job/recover.h"
#include "rig/job-rig.h"
#include "util/json.h"
#include "util/text.h"

ON_A_RIG(a_job_tells_its_plan_its_steps_and_its_end)
{
	_cleanup_free_ char *lines = NULL;
	Told told;

	rig_shut_off(rig);
	rig_tell(rig, 1, &ASSIGN, &told);
	told_expect(&told, JOB_DONE, NULL, NULL);
	lines = strv_join(told.lines, ", ");
	assert_string_equal(lines, "planned pair0 for vm42, 5 steps, 0 running, 0 done, 1 running, "
				   "1 done, 2 running, 2 done, 3 running, 3 done, 4 running, "
				   "4 done");
	assert_true(told.planned.changed);
	assert_int_equal(told.planned.n_functions, 4);
	assert_null(told.ended.message);
	told_clear(&told);
	/* Its claims are let go: the next one does not meet it. */
	rig_tell(rig, 2, &RELEASE, &told);
	told_expect(&told, JOB_DONE, NULL, NULL);
	told_clear(&told);
}

ON_A_RIG(a_refused_job_tells_only_its_end)
{
	_cleanup_(told_clear) Told told;

	rig_tell(rig, 1, &assign_request("vm99", "pair0"), &told);
	assert_null(told.lines);
	assert_int_equal(told.ended.state, JOB_FAILED);
	assert_string_equal(told.ended.error_name, "org.gpupass1.Error.NoSuchDomain");
	assert_string_equal(told.ended.message,
			    "cannot assign pair0 to vm99: there is no domain 'vm99'\n"
			    "State:  nothing was changed\n"
			    "Remedy: see `virsh list --all` for the domains of this host");
}

ON_A_RIG(a_failed_job_tells_what_it_undoes)
{
	static const FakeFault define = { .op = FAKE_DEFINE,
					  .nth = 1,
					  .problem = GPUPASS_ERROR_DEFINE_FAILED };
	_cleanup_free_ char *lines = NULL;
	_cleanup_(told_clear) Told told;

	rig_shut_off(rig);
	fake_fail(&rig->fake, &define);
	rig_tell(rig, 1, &ASSIGN, &told);
	lines = strv_join(told.lines, ", ");
	assert_string_equal(lines, "planned pair0 for vm42, 5 steps, 0 running, 0 done, 1 running, "
				   "1 done, 2 running, 2 failed, rolling back, 2 undone, 1 undone");
	told_expect(&told, JOB_FAILED, ".DefineFailed", "");
	assert_null(told.ended.quarantine);
}

ON_A_RIG(a_job_without_a_result_of_its_own_names_the_errno)
{
	static const FakeFault scan = { .op = FAKE_SCAN, .nth = 1, .error = -EMFILE };
	_cleanup_(told_clear) Told told;

	rig_shut_off(rig);
	fake_fail(&rig->fake, &scan);
	rig_tell(rig, 1, &ASSIGN, &told);
	told_expect(&told, JOB_FAILED, ".Internal", "Too many open files");
}

ON_A_RIG(a_stuck_job_leaves_a_quarantine)
{
	static const FakeMoveFault hangs = { .bdf = "0000:41:00.0",
					     .phase = DRIVER_PHASE_UNBIND,
					     .never_returns = true };
	Told told;

	rig_shut_off(rig);
	fake_fail_move(&rig->fake, &hangs);
	rig_tell(rig, 1, &BIND, &told);
	told_expect(&told, JOB_INCOMPLETE, ".UnbindTimeout", "");
	assert_non_null(strstr(told.ended.quarantine, "worker 4711 still waits"));
	told_clear(&told);
	rig_tell(rig, 2, &ASSIGN, &told);
	told_expect(&told, JOB_FAILED, ".Quarantined", "worker 4711 still waits");
	told_clear(&told);
	rig_tell(rig, 3, &assign_request("vm42", NULL), &told);
	told_clear(&told);
	assert_null(rig->fake.violations);
}

/* ---- two at a time ---- */

typedef struct Gate {
	sem_t reached, open;
} Gate;

static Gate gate; /* a hook has no userdata */

static void wait_at_the_first_move(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op != FAKE_MOVE || nth != 1)
		return;
	sem_post(&gate.reached);
	/* Others may look meanwhile. */
	pthread_mutex_unlock(&fake->lock);
	sem_wait(&gate.open);
	pthread_mutex_lock(&fake->lock);
}

ON_A_RIG(what_one_job_has_in_hand_no_other_gets)
{
	static const struct {
		JobRequest request;
		const char *words; /* NULL: it may */
	} rows[] = {
		{ ASSIGN, "job 7 has pair0 in hand" },
		{ assign_request("vm77", "pair0"), "job 7 has pair0 in hand" },
		{ assign_request("vm42", "pair1"), "job 7 has pair0 in hand" },
		{ assign_request("vm77", "pair1"), NULL },
	};
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	Told slow;

	rig_two_domains(rig);
	assert_int_equal(mailbox_new(&mailbox), 0);
	sem_init(&gate.reached, 0, 0);
	sem_init(&gate.open, 0, 0);
	rig->fake.hook = wait_at_the_first_move;
	rig_start(rig, mailbox, 7, &ASSIGN, &slow);
	sem_wait(&gate.reached);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(told_clear) Told told;

		rig_tell(rig, 8 + (uint32_t)i, &rows[i].request, &told);
		told_expect(&told, rows[i].words ? JOB_FAILED : JOB_DONE,
			    rows[i].words ? ".GroupBusy" : NULL, rows[i].words);
	}
	sem_post(&gate.open);
	rig_wait_for(mailbox, &slow.done);
	told_expect(&slow, JOB_DONE, NULL, NULL);
	told_clear(&slow);
	sem_destroy(&gate.reached);
	sem_destroy(&gate.open);
}

/* Another job, of this function, that ends in each of so many looks. */
static struct {
	Bdf function;
	unsigned looks;
} other;

static void another_job_ends(FakeHost *fake, FakeOp op, unsigned nth)
{
	Claims *claims = ((Rig *)fake)->claims;

	if (op != FAKE_SCAN || nth > other.looks)
		return;
	rig_claim(claims, 99, "its", &other.function, 1);
	claims_release(claims, 99);
}

ON_A_RIG(a_look_during_which_a_job_on_the_group_ended_is_taken_again)
{
	static const struct {
		uint8_t bus;
		unsigned ends_in, looks;
	} cases[] = { { 0x41, 1, 2 }, { 0x41, 3, 4 }, { 0xa1, 99, 1 } };

	rig_shut_off(rig);
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		other.function = (Bdf){ .bus = cases[i].bus };
		other.looks = cases[i].ends_in;
		fake_watch(&rig->fake);
		rig->fake.hook = another_job_ends;
		rig_must(rig, &ASSIGN);
		assert_int_equal(rig->fake.calls[FAKE_SCAN], cases[i].looks);
		rig->fake.hook = NULL;
		rig_must(rig, &RELEASE);
	}
}

ON_A_RIG(a_group_that_never_holds_still_is_busy)
{
	rig_shut_off(rig);
	other.function = (Bdf){ .bus = 0x61 };
	other.looks = UINT_MAX;
	rig->fake.hook = another_job_ends;
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_GROUP_BUSY, "cannot assign pair0 to vm42: ");
	assert_int_equal(fake_write_calls(&rig->fake), 0);
}

/* What is in hand before it looks, or from its first look on. */
ON_A_RIG(who_names_no_group_gets_one_that_no_job_has_in_hand)
{
	const JobRequest any = assign_request("vm42", NULL);

	rig_shut_off(rig);
	rig_claim(rig->claims, 99, "pair0", &(Bdf){ .bus = 0x41 }, 1);
	rig_must(rig, &any);
	rig_must(rig, &release_request("pair1"));
	rig_claim(rig->claims, 98, "pair1", &(Bdf){ .bus = 0xa1 }, 1);
	rig_fails(rig, &any, GPUPASS_ERROR_GROUP_BUSY, "job 99 has pair0 in hand");
	claims_release(rig->claims, 98);
	claims_release(rig->claims, 99);
}

/* ---- dry runs ---- */

typedef struct Answer {
	bool given;
	PlanResult result;
} Answer;

static void on_plan(PlanResult *result, void *userdata)
{
	Answer *answer = userdata;

	answer->given = true;
	answer->result = *result;
	*result = (PlanResult){ 0 };
}

static PlanResult ask(Rig *rig, const JobRequest *request)
{
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	Answer answer = { 0 };

	assert_int_equal(mailbox_new(&mailbox), 0);
	plan_start(mailbox, &rig->place, request, on_plan, &answer);
	rig_wait_for(mailbox, &answer.given);
	return answer.result;
}

ON_A_RIG(a_dry_run_gives_a_document_and_touches_nothing)
{
	_cleanup_free_ char *message = NULL;
	_cleanup_json_ json_t *json = NULL;
	_cleanup_(plan_result_clear) PlanResult plan = { 0 };

	rig_shut_off(rig);
	rig_note_world(rig);
	plan = ask(rig, &ASSIGN);
	assert_null(plan.error_name);
	assert_int_equal(json_parse_document(plan.json, strlen(plan.json), GPUPASS_SCHEMA_PLAN,
					     &json, &message),
			 0);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	rig_check_noted(rig);
}

ON_A_RIG(a_dry_run_is_refused_as_the_job_would_be)
{
	static const struct {
		const char *domain, *group, *name;
	} rows[] = {
		{ "vm99", "pair0", "org.gpupass1.Error.NoSuchDomain" },
		{ "vm42", "pair0", "org.gpupass1.Error.Quarantined" },
		{ "vm42", "pair1", "org.gpupass1.Error.GroupBusy" },
	};

	rig_shut_off(rig);
	rig_claim(rig->claims, 1, "pair0", &(Bdf){ .bus = 0x41 }, 1);
	rig_claim(rig->claims, 2, "pair1", &(Bdf){ .bus = 0xa1 }, 1);
	claims_quarantine(rig->claims, 1, "it hangs");
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(plan_result_clear) PlanResult plan =
			ask(rig, &assign_request(rows[i].domain, rows[i].group));

		assert_null(plan.json);
		assert_string_equal(plan.error_name, rows[i].name);
		assert_non_null(strstr(plan.message, "cannot assign "));
	}
}

/* libvirt is gone from the definition on: who is told gets what recovery needs. */
ON_A_RIG(a_job_that_libvirt_left_is_handed_over_open)
{
	const FakeFault gone = { .op = FAKE_GET,
				 .nth = 3,
				 .from_then_on = true,
				 .problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	_cleanup_(recovery_clear) Recovery recovery = { 0 };
	_cleanup_(told_clear) Told told;

	rig_shut_off(rig);
	rig_note_world(rig);
	rig->fake.broken_from = 2;
	fake_fail(&rig->fake, &gone);
	rig_tell(rig, 1, &ASSIGN, &told);
	assert_int_equal(told.ended.state, JOB_INCOMPLETE);
	assert_non_null(strstr(told.ended.quarantine, "recovered as soon as libvirt answers"));
	assert_non_null(told.ended.open);
	assert_int_equal(told.ended.open->id, 1);
	fake_watch(&rig->fake);
	recover_claim(&rig->place, told.ended.open, "waits");
	assert_int_equal(recover_job(&rig->place, told.ended.open, 0, &recovery), 0);
	assert_int_equal(recovery.outcome, RECOVERED_UNDONE);
	rig_check_noted(rig);
}
