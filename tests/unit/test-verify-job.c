/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verification as a job: what it tells the loop, and that it changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <string.h>

#include "job-rig.h"
#include "util/json.h"
#include "util/text.h"

#define PATIENCE_MSEC 30000

typedef struct Told {
	bool planned, ended;
	JobState state;
	char *group, *error_name, *message, *result;
	Verdict verdict;
	size_t n_functions;
} Told;

static void on_event(_unused_ uint32_t id, JobEvent *event, void *userdata)
{
	Told *told = userdata;

	if (event->kind == JOB_EVENT_PLANNED) {
		told->planned = true;
		told->group = TAKE_PTR(event->group);
		/* It has nothing in hand, and no steps. */
		assert_int_equal(event->n_functions, 0);
		assert_int_equal(event->n_steps, 0);
		assert_false(event->changed);
		return;
	}
	assert_int_equal(event->kind, JOB_EVENT_ENDED);
	told->ended = true;
	told->state = event->state;
	told->verdict = event->verdict;
	told->n_functions = event->n_functions;
	told->error_name = TAKE_PTR(event->error_name);
	told->message = TAKE_PTR(event->message);
	told->result = TAKE_PTR(event->result);
}

static void told_clear(Told *told)
{
	free(told->group);
	free(told->error_name);
	free(told->message);
	free(told->result);
	*told = (Told){ 0 };
}

/* Runs it on its thread; the world must be as before. */
static void verify(Rig *rig, const char *domain, Told *told)
{
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	_cleanup_free_ char *before = rig_world(rig);
	JobRequest request = verify_request(domain);

	*told = (Told){ 0 };
	assert_int_equal(mailbox_new(&mailbox), 0);
	assert_int_equal(job_start(9, mailbox, &rig->place, &request, on_event, told), 0);
	while (!told->ended) {
		struct pollfd pollfd = { .fd = mailbox_fd(mailbox), .events = POLLIN };

		if (poll(&pollfd, 1, PATIENCE_MSEC) != 1)
			fail_msg("nothing came within %d s", PATIENCE_MSEC / 1000);
		mailbox_dispatch(mailbox);
	}
	rig_check_world(rig, before, "verify");
	assert_int_equal(fake_write_calls(&rig->fake), 0);
}

/* The running vm42 with pair0 in it, and a guest. */
static FakeDomain *assigned(Rig *rig, const char *guest)
{
	FakeDomain *domain = fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	JobRequest request = assign_request("vm42", "pair0");

	rig_must(rig, &request);
	fake_start(&rig->fake, "vm42");
	fake_watch(&rig->fake);
	domain->guest = guest;
	return domain;
}

static char *member(const char *json, const char *key)
{
	_cleanup_json_ json_t *document = NULL;
	const char *value;

	assert_non_null(json);
	assert_int_equal(
		json_parse_document(json, strlen(json), "org.gpupass1.verify/1", &document, NULL),
		0);
	value = json_string_value(json_object_get(document, key));
	return strdup(str_or_empty(value));
}

static void expect(Told *told, Verdict verdict, const char *cause)
{
	_cleanup_free_ char *is = NULL, *reason = NULL;

	if (told->state != JOB_DONE)
		fail_msg("failed: %s", str_or_empty(told->message));
	is = member(told->result, "cause");
	reason = member(told->result, "reason");
	if (told->verdict != verdict || strcmp(is, cause) != 0)
		fail_msg("%s, %s: %s", verdict_to_string(told->verdict), is, reason);
	assert_true(told->planned);
	assert_string_equal(told->group, "pair0");
	assert_int_equal(told->n_functions, 2);
	told_clear(told);
}

static void the_verdict_is_the_result_of_the_job(void **state)
{
	static const struct {
		const char *guest;
		Verdict verdict;
		const char *cause;
	} rows[] = {
		{ "ga102-rtx-a6000", VERDICT_VERIFIED, "none" },
		{ "ga102-half", VERDICT_DEGRADED, "few-links" },
		{ "ga102-no-bridge", VERDICT_BROKEN, "no-nvlink" },
		{ "mig", VERDICT_BROKEN, "mig" },
		{ "confidential", VERDICT_BROKEN, "confidential-computing" },
		{ "no-driver", VERDICT_UNKNOWN, "no-driver" },
		{ NULL, VERDICT_UNKNOWN, "no-agent" },
	};
	FakeDomain *domain = assigned(*state, NULL);
	Told told;

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		domain->guest = rows[i].guest;
		verify(*state, "vm42", &told);
		expect(&told, rows[i].verdict, rows[i].cause);
	}
}

static void a_guest_that_stops_answering_proves_nothing(void **state)
{
	FakeDomain *domain = assigned(*state, "ga102-rtx-a6000");
	Told told;

	domain->guest_fails = GUEST_TIMEOUT;
	for (domain->guest_nth = 0; domain->guest_nth < VERIFY_RUNS; domain->guest_nth++) {
		verify(*state, "vm42", &told);
		expect(&told, VERDICT_UNKNOWN, "timeout");
	}
}

static void a_domain_that_does_not_run_is_not_asked(void **state)
{
	Rig *rig = *state;
	Told told;

	assigned(rig, "ga102-rtx-a6000");
	fake_shut_off(&rig->fake, "vm42");
	verify(rig, "vm42", &told);
	expect(&told, VERDICT_UNKNOWN, "not-running");
	assert_int_equal(rig->fake.calls[FAKE_GUEST_RUN], 0);
}

static void a_running_domain_without_the_gpus_is_not_asked(void **state)
{
	Rig *rig = *state;
	FakeDomain *domain = assigned(rig, "ga102-rtx-a6000");
	Bdf bdf = { .bus = 0x61 };
	char *live = fake_xml_detach(domain->live_xml, &bdf);
	Told told;

	free(domain->live_xml);
	domain->live_xml = live;
	verify(rig, "vm42", &told);
	expect(&told, VERDICT_UNKNOWN, "not-attached");
	assert_int_equal(rig->fake.calls[FAKE_GUEST_RUN], 0);
}

static void detach_behind_the_back(FakeHost *fake, FakeOp op, _unused_ unsigned nth)
{
	FakeDomain *domain = fake_domain(fake, "vm42");
	Bdf bdf = { .bus = 0x61 };
	char *live;

	if (op != FAKE_GUEST_RUN)
		return;
	live = fake_xml_detach(domain->live_xml, &bdf);
	free(domain->live_xml);
	domain->live_xml = live;
}

static void what_was_seen_does_not_count_when_the_gpus_went_meanwhile(void **state)
{
	Rig *rig = *state;
	Told told;

	assigned(rig, "ga102-rtx-a6000");
	rig->fake.hook = detach_behind_the_back;
	/* Not verify(): the world does change, by another's hand. */
	{
		JobRequest request = verify_request("vm42");
		_cleanup_(verification_freep) Verification *v = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *prefix = NULL;

		assert_int_equal(verification_new(&rig->place, &request, &v, &problem, &prefix), 0);
		assert_int_equal(verification_run(&rig->place, &request, v, &problem), 0);
		assert_int_equal(v->report->verdict, VERDICT_UNKNOWN);
		assert_int_equal(v->report->cause, VERIFY_CHANGED);
	}
	rig->fake.hook = NULL;
	verify(rig, "vm42", &told);
	expect(&told, VERDICT_UNKNOWN, "not-attached");
}

static void what_cannot_be_asked_about_is_an_error(void **state)
{
	static const FakeFault lost = { .op = FAKE_GUEST_RUN,
					.nth = 1,
					.problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	Rig *rig = *state;
	Told told;

	verify(rig, "vm99", &told);
	assert_int_equal(told.state, JOB_FAILED);
	assert_string_equal(told.error_name, "org.gpupass1.Error.NoSuchDomain");
	assert_non_null(strstr(told.message, "cannot verify vm99: there is no domain"));
	assert_null(told.result);
	told_clear(&told);
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	verify(rig, "vm77", &told);
	assert_string_equal(told.error_name, "org.gpupass1.Error.NotAssigned");
	assert_non_null(strstr(told.message, "cannot verify vm77: vm77 has no group"));
	told_clear(&told);
	assigned(rig, "ga102-rtx-a6000");
	fake_fail(&rig->fake, &lost);
	verify(rig, "vm42", &told);
	assert_int_equal(told.state, JOB_FAILED);
	assert_string_equal(told.error_name, "org.gpupass1.Error.LibvirtUnavailable");
	assert_non_null(strstr(told.message, "cannot verify pair0 in vm42: "));
	told_clear(&told);
}

static void it_does_not_meet_other_jobs(void **state)
{
	Rig *rig = *state;
	Bdf functions[] = { { .bus = 0x41 }, { .bus = 0x61 } };
	_cleanup_(problem_freep) Problem *problem = NULL;
	Told told;

	assigned(rig, "ga102-rtx-a6000");
	assert_int_equal(claims_take(rig->claims, claims_generation(rig->claims), 77, "pair0",
				     functions, 2, NULL, &problem),
			 0);
	verify(rig, "vm42", &told);
	expect(&told, VERDICT_VERIFIED, "none");
	claims_release(rig->claims, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_verdict_is_the_result_of_the_job, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(a_guest_that_stops_answering_proves_nothing,
						rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(a_domain_that_does_not_run_is_not_asked, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(a_running_domain_without_the_gpus_is_not_asked,
						rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			what_was_seen_does_not_count_when_the_gpus_went_meanwhile, rig_setup,
			rig_teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_asked_about_is_an_error, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(it_does_not_meet_other_jobs, rig_setup,
						rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
