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

/* What one job told. */
typedef struct Told {
	char **lines;
	bool planned, ended, changed;
	JobState state;
	char *error_name, *message, *quarantine;
	OpenJob *open;
	size_t n_functions;
} Told;

static void take(char **to, char **from)
{
	free(*to);
	*to = *from;
	*from = NULL;
}

static void on_event(uint32_t id, JobEvent *event, void *userdata)
{
	Told *told = userdata;

	assert_false(told->ended);
	switch (event->kind) {
	case JOB_EVENT_PLANNED:
		assert_false(told->planned);
		told->planned = true;
		told->changed = event->changed;
		told->n_functions = event->n_functions;
		strv_appendf(&told->lines, "planned %s for %s, %zu steps", event->group,
			     event->domain_name, event->n_steps);
		break;
	case JOB_EVENT_STEP:
		assert_true(told->planned);
		strv_appendf(&told->lines, "%zu %s", event->step,
			     step_state_to_string(event->step_state));
		break;
	case JOB_EVENT_ROLLING_BACK:
		strv_append(&told->lines, "rolling back");
		break;
	case JOB_EVENT_NOTE:
		strv_append(&told->lines, event->note.text);
		break;
	case JOB_EVENT_ENDED:
		told->ended = true;
		told->state = event->state;
		take(&told->error_name, &event->error_name);
		take(&told->message, &event->message);
		take(&told->quarantine, &event->quarantine);
		told->open = TAKE_PTR(event->open);
		break;
	}
}

static void told_clear(Told *told)
{
	strv_free(told->lines);
	free(told->error_name);
	free(told->message);
	free(told->quarantine);
	open_job_free(told->open);
	*told = (Told){ 0 };
}

static void run(Rig *rig, Mailbox *mailbox, uint32_t id, JobRequest request, Told *told)
{
	*told = (Told){ 0 };
	job_start(id, mailbox, &rig->place, &request, on_event, told);
	rig_wait_for(mailbox, &told->ended);
}

static void expect_lines(const Told *told, const char *const *expected)
{
	_cleanup_free_ char *is = strv_join(told->lines, "\n");
	_cleanup_free_ char *should = strv_join((char *const *)expected, "\n");

	assert_string_equal(is, should);
}

static Rig *with_domain(void **state)
{
	Rig *rig = *state;

	rig_shut_off(rig);
	return rig;
}

TEST_WITH(a_job_tells_its_plan_its_steps_and_its_end, rig_setup, rig_teardown)
{
	static const char *const lines[] = { "planned pair0 for vm42, 5 steps",
					     "0 running",
					     "0 done",
					     "1 running",
					     "1 done",
					     "2 running",
					     "2 done",
					     "3 running",
					     "3 done",
					     "4 running",
					     "4 done",
					     NULL };
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	Rig *rig = with_domain(state);
	Told told;

	assert_int_equal(mailbox_new(&mailbox), 0);
	run(rig, mailbox, 1, assign_request("vm42", "pair0"), &told);
	expect_lines(&told, lines);
	assert_int_equal(told.state, JOB_DONE);
	assert_true(told.changed);
	assert_int_equal(told.n_functions, 4);
	assert_null(told.error_name);
	assert_null(told.message);
	told_clear(&told);
	/* Its claims are let go: the next one does not meet it. */
	run(rig, mailbox, 2, release_request("vm42"), &told);
	assert_int_equal(told.state, JOB_DONE);
	told_clear(&told);
}

TEST_WITH(a_refused_job_tells_only_its_end, rig_setup, rig_teardown)
{
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	Rig *rig = with_domain(state);
	_cleanup_(told_clear) Told told;

	assert_int_equal(mailbox_new(&mailbox), 0);
	run(rig, mailbox, 1, assign_request("vm99", "pair0"), &told);
	assert_null(told.lines);
	assert_int_equal(told.state, JOB_FAILED);
	assert_string_equal(told.error_name, "org.gpupass1.Error.NoSuchDomain");
	assert_string_equal(told.message, "cannot assign pair0 to vm99: there is no domain 'vm99'\n"
					  "State:  nothing was changed\n"
					  "Remedy: see `virsh list --all` for the domains "
					  "of this host");
}

TEST_WITH(a_failed_job_tells_what_it_undoes, rig_setup, rig_teardown)
{
	static const FakeFault define = { .op = FAKE_DEFINE,
					  .nth = 1,
					  .problem = GPUPASS_ERROR_DEFINE_FAILED };
	static const char *const lines[] = { "planned pair0 for vm42, 5 steps",
					     "0 running",
					     "0 done",
					     "1 running",
					     "1 done",
					     "2 running",
					     "2 failed",
					     "rolling back",
					     "2 undone",
					     "1 undone",
					     NULL };
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	Rig *rig = with_domain(state);
	_cleanup_(told_clear) Told told;

	assert_int_equal(mailbox_new(&mailbox), 0);
	fake_fail(&rig->fake, &define);
	run(rig, mailbox, 1, assign_request("vm42", "pair0"), &told);
	expect_lines(&told, lines);
	assert_int_equal(told.state, JOB_FAILED);
	assert_string_equal(told.error_name, "org.gpupass1.Error.DefineFailed");
	assert_null(told.quarantine);
}

TEST_WITH(a_job_without_a_result_of_its_own_names_the_errno, rig_setup, rig_teardown)
{
	static const FakeFault scan = { .op = FAKE_SCAN, .nth = 1, .error = -EMFILE };
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	Rig *rig = with_domain(state);
	_cleanup_(told_clear) Told told;

	assert_int_equal(mailbox_new(&mailbox), 0);
	fake_fail(&rig->fake, &scan);
	run(rig, mailbox, 1, assign_request("vm42", "pair0"), &told);
	assert_int_equal(told.state, JOB_FAILED);
	assert_string_equal(told.error_name, "org.gpupass1.Error.Internal");
	assert_non_null(strstr(told.message, "Too many open files"));
}

TEST_WITH(a_stuck_job_leaves_a_quarantine, rig_setup, rig_teardown)
{
	static const FakeMoveFault hangs = { .bdf = "0000:41:00.0",
					     .phase = DRIVER_PHASE_UNBIND,
					     .never_returns = true };
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	Rig *rig = with_domain(state);
	Told told;

	assert_int_equal(mailbox_new(&mailbox), 0);
	fake_fail_move(&rig->fake, &hangs);
	run(rig, mailbox, 1, bind_request("pair0"), &told);
	assert_int_equal(told.state, JOB_INCOMPLETE);
	assert_string_equal(told.error_name, "org.gpupass1.Error.UnbindTimeout");
	assert_non_null(strstr(told.quarantine, "worker 4711 still waits"));
	told_clear(&told);
	run(rig, mailbox, 2, assign_request("vm42", "pair0"), &told);
	assert_int_equal(told.state, JOB_FAILED);
	assert_string_equal(told.error_name, "org.gpupass1.Error.Quarantined");
	assert_non_null(strstr(told.message, "worker 4711 still waits"));
	told_clear(&told);
	run(rig, mailbox, 3, assign_request("vm42", NULL), &told);
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

TEST_WITH(what_one_job_has_in_hand_no_other_gets, rig_setup, rig_teardown)
{
	static const struct {
		const char *domain, *group;
		const char *words; /* NULL: it may */
	} rows[] = {
		{ "vm42", "pair0", "job 7 has pair0 in hand" },
		{ "vm77", "pair0", "job 7 has pair0 in hand" },
		{ "vm42", "pair1", "job 7 has pair0 in hand" },
		{ "vm77", "pair1", NULL },
	};
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	JobRequest first = assign_request("vm42", "pair0");
	Rig *rig = with_domain(state);
	Told slow = { 0 };

	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	assert_int_equal(mailbox_new(&mailbox), 0);
	sem_init(&gate.reached, 0, 0);
	sem_init(&gate.open, 0, 0);
	rig->fake.hook = wait_at_the_first_move;
	job_start(7, mailbox, &rig->place, &first, on_event, &slow);
	sem_wait(&gate.reached);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(told_clear) Told told;

		run(rig, mailbox, 8 + (uint32_t)i, assign_request(rows[i].domain, rows[i].group),
		    &told);
		if (rows[i].words ? told.state != JOB_FAILED || !strstr(told.message, rows[i].words)
				  : told.state != JOB_DONE)
			fail_msg("row %zu: %s", i, str_or_empty(told.message));
	}
	sem_post(&gate.open);
	rig_wait_for(mailbox, &slow.ended);
	assert_int_equal(slow.state, JOB_DONE);
	told_clear(&slow);
	sem_destroy(&gate.reached);
	sem_destroy(&gate.open);
}

/* Another job, of this function, that ends in each of so many looks. */
static struct {
	Claims *claims;
	Bdf function;
	unsigned looks;
} other;

static void another_job_ends(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op != FAKE_SCAN || nth > other.looks)
		return;
	rig_claim(other.claims, 99, "its", &other.function, 1);
	claims_release(other.claims, 99);
}

TEST_WITH(a_look_during_which_a_job_on_the_group_ended_is_taken_again, rig_setup, rig_teardown)
{
	static const struct {
		uint8_t bus;
		unsigned ends_in, looks;
	} cases[] = { { 0x41, 1, 2 }, { 0x41, 3, 4 }, { 0xa1, 99, 1 } };
	Rig *rig = with_domain(state);
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("vm42");

	other.claims = rig->claims;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		other.function = (Bdf){ .bus = cases[i].bus };
		other.looks = cases[i].ends_in;
		fake_watch(&rig->fake);
		rig->fake.hook = another_job_ends;
		rig_must(rig, &assign);
		assert_int_equal(rig->fake.calls[FAKE_SCAN], cases[i].looks);
		rig->fake.hook = NULL;
		rig_must(rig, &release);
	}
}

TEST_WITH(a_group_that_never_holds_still_is_busy, rig_setup, rig_teardown)
{
	Rig *rig = with_domain(state);
	JobRequest request = assign_request("vm42", "pair0");
	_cleanup_(outcome_clear) Outcome outcome;

	other.claims = rig->claims;
	other.function = (Bdf){ .bus = 0x61 };
	other.looks = UINT_MAX;
	rig->fake.hook = another_job_ends;
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_FAILED);
	assert_int_equal(outcome.error, GPUPASS_ERROR_GROUP_BUSY);
	assert_non_null(strstr(outcome.message, "cannot assign pair0 to vm42: "));
	assert_int_equal(fake_write_calls(&rig->fake), 0);
}

/* What is in hand before it looks, or from its first look on. */
TEST_WITH(who_names_no_group_gets_one_that_no_job_has_in_hand, rig_setup, rig_teardown)
{
	const Bdf first = { .bus = 0x41 };
	Rig *rig = with_domain(state);
	JobRequest any = assign_request("vm42", NULL);
	Outcome outcome;

	rig_claim(rig->claims, 99, "pair0", &first, 1);
	rig_must(rig, &any);
	outcome = rig_run(
		rig, &(JobRequest){ .operation = OPERATION_RELEASE, .target = (char *)"pair1" });
	assert_int_equal(outcome.state, JOB_DONE);
	outcome_clear(&outcome);
	rig_claim(rig->claims, 98, "pair1", &(Bdf){ .bus = 0xa1 }, 1);
	outcome = rig_run(rig, &any);
	rig_expect_failure(&outcome, GPUPASS_ERROR_GROUP_BUSY, "job 99 has pair0 in hand");
	claims_release(rig->claims, 98);
	claims_release(rig->claims, 99);
}

TEST_WITH(what_is_refused_its_group_keeps_no_release_waiting, rig_setup, rig_teardown)
{
	Rig *rig = with_domain(state);
	JobRequest mine = assign_request("vm42", "pair0"), theirs = assign_request("vm77", "pair0");
	uint64_t before;
	Outcome outcome;

	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	rig_must(rig, &mine);
	before = claims_now(rig->claims);
	outcome = rig_run(rig, &theirs);
	rig_expect_failure(&outcome, GPUPASS_ERROR_GROUP_BUSY, "it is assigned to vm42");
	/* It never had it. */
	assert_int_equal(claims_now(rig->claims), before);
}

/* ---- dry runs ---- */

typedef struct Answer {
	bool given;
	char *json, *error_name, *message;
} Answer;

static void on_plan(PlanResult *result, void *userdata)
{
	Answer *answer = userdata;

	answer->given = true;
	take(&answer->json, &result->json);
	take(&answer->error_name, &result->error_name);
	take(&answer->message, &result->message);
}

static Answer ask(Rig *rig, Mailbox *mailbox, JobRequest request)
{
	Answer answer = { 0 };

	plan_start(mailbox, &rig->place, &request, on_plan, &answer);
	rig_wait_for(mailbox, &answer.given);
	return answer;
}

static void given_clear(Answer *answer)
{
	free(answer->json);
	free(answer->error_name);
	free(answer->message);
}

TEST_WITH(a_dry_run_gives_a_document_and_touches_nothing, rig_setup, rig_teardown)
{
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	Rig *rig = with_domain(state);
	_cleanup_free_ char *before = rig_world(rig), *message = NULL;
	_cleanup_json_ json_t *json = NULL;
	_cleanup_(given_clear) Answer answer;

	assert_int_equal(mailbox_new(&mailbox), 0);
	answer = ask(rig, mailbox, assign_request("vm42", "pair0"));
	assert_null(answer.error_name);
	assert_int_equal(json_parse_document(answer.json, strlen(answer.json), GPUPASS_SCHEMA_PLAN,
					     &json, &message),
			 0);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	rig_check_world(rig, before, "a dry run");
}

TEST_WITH(a_dry_run_is_refused_as_the_job_would_be, rig_setup, rig_teardown)
{
	static const struct {
		const char *domain, *group, *name;
	} rows[] = {
		{ "vm99", "pair0", "org.gpupass1.Error.NoSuchDomain" },
		{ "vm42", "pair0", "org.gpupass1.Error.Quarantined" },
		{ "vm42", "pair1", "org.gpupass1.Error.GroupBusy" },
	};
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	const Bdf first = { 0, 0x41, 0, 0 }, second = { 0, 0xa1, 0, 0 };
	Rig *rig = with_domain(state);

	assert_int_equal(mailbox_new(&mailbox), 0);
	rig_claim(rig->claims, 1, "pair0", &first, 1);
	rig_claim(rig->claims, 2, "pair1", &second, 1);
	claims_quarantine(rig->claims, 1, "it hangs");
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(given_clear) Answer answer =
			ask(rig, mailbox, assign_request(rows[i].domain, rows[i].group));

		if (answer.json || !str_equal(answer.error_name, rows[i].name))
			fail_msg("row %zu: %s", i, str_or_empty(answer.error_name));
		assert_non_null(strstr(answer.message, "cannot assign "));
	}
}

/* libvirt is gone from the definition on: who is told gets what recovery needs. */
TEST_WITH(a_job_that_libvirt_left_is_handed_over_open, rig_setup, rig_teardown)
{
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	_cleanup_(recovery_clear) Recovery recovery = { 0 };
	Rig *rig = with_domain(state);
	_cleanup_free_ char *before = rig_world(rig);
	_cleanup_(told_clear) Told told;

	assert_int_equal(mailbox_new(&mailbox), 0);
	rig->fake.broken_from = 2;
	fake_fail(&rig->fake, &(FakeFault){ .op = FAKE_GET,
					    .nth = 3,
					    .from_then_on = true,
					    .problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE });
	run(rig, mailbox, 1, assign_request("vm42", "pair0"), &told);
	assert_int_equal(told.state, JOB_INCOMPLETE);
	assert_non_null(strstr(told.quarantine, "recovered as soon as libvirt answers"));
	assert_non_null(told.open);
	assert_int_equal(told.open->id, 1);
	fake_watch(&rig->fake);
	recover_claim(&rig->place, told.open, "waits");
	assert_int_equal(recover_job(&rig->place, told.open, 0, &recovery), 0);
	assert_int_equal(recovery.outcome, RECOVERED_UNDONE);
	rig_check_world(rig, before, "libvirt is back");
}
