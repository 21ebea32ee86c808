/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When putting back fails as well, when a worker never comes back, and when others interfere. */
#include "rig/test.h"

#include <string.h>

#include "core/domain/xml.h"
#include "rig/job-rig.h"
#include "util/text.h"

static const FakeFault define_refused = { .op = FAKE_DEFINE,
					  .nth = 1,
					  .problem = GPUPASS_ERROR_DEFINE_FAILED };

/*
 * Fails at the first look after the definition was written, at which others do something (may be
 * NULL): the first inspection after prepare().
 */
static Outcome run_failing_at_verify(Rig *rig, const JobRequest *request,
				     void (*others)(FakeHost *fake, FakeOp op, unsigned nth))
{
	static const FakeFault first = { .op = FAKE_INSPECT, .nth = 1, .error = -EIO };
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_free_ char *prefix = NULL;
	Outcome outcome = rig_prepare(rig, request, &prepared, &prefix);

	assert_int_equal(outcome.state, JOB_RUNNING);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &first);
	rig->fake.hook = others;
	outcome = rig_execute(rig, prepared, prefix);
	if (outcome.state != JOB_FAILED)
		fail_msg("%s: %s", job_state_to_string(outcome.state),
			 str_or_empty(outcome.message));
	return outcome;
}

static void expect_quarantine(Rig *rig, Outcome *outcome, GpupassError error, const char *reason)
{
	const Bdf function = { 0, 0x41, 0, 0 };
	_cleanup_free_ char *why = NULL, *state = strf("State:  pair0 is quarantined: %s", reason);

	if (outcome->state != JOB_INCOMPLETE || outcome->error != error ||
	    !strstr(outcome->message, state))
		fail_msg("%s: %s", job_state_to_string(outcome->state),
			 str_or_empty(outcome->message));
	assert_false(str_is_empty(outcome->remedy));
	why = claims_quarantine_reason(rig->claims, &function, NULL);
	assert_non_null(why);
	assert_true(str_starts_with(why, reason));
	outcome_clear(outcome);
}

/* The group, whatever is asked of it; the other one is not concerned. */
static void expect_refusal(Rig *rig)
{
	const JobRequest refused[] = { assign_request("vm42", "pair0"), bind_request("pair0"),
				       unbind_request("pair0") };
	_cleanup_free_ char *before = NULL;
	JobRequest other = bind_request("pair1");

	fake_watch(&rig->fake);
	rig_must(rig, &other);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	for (size_t i = 0; i < ELEMENTS(refused); i++) {
		_cleanup_(outcome_clear) Outcome outcome = rig_run(rig, &refused[i]);

		if (outcome.state != JOB_FAILED || outcome.error != GPUPASS_ERROR_QUARANTINED)
			fail_msg("row %zu: %s", i, str_or_empty(outcome.message));
	}
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	rig_check_world(rig, before, "quarantined");
}

/* ---- from some write on everything fails ---- */

static unsigned run_broken(void (*setup)(Rig *rig), const JobRequest *request, unsigned from)
{
	_cleanup_free_ char *before = NULL, *what = strf("from write %u on", from);
	Rig *rig = rig_new();
	unsigned incomplete = 0;
	Outcome outcome;

	setup(rig);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	rig->fake.broken_from = from;
	outcome = rig_run(rig, request);
	rig_check_guests(rig, what);
	if (outcome.state == JOB_INCOMPLETE) {
		incomplete = 1;
		expect_quarantine(rig, &outcome, GPUPASS_ERROR_ROLLBACK_FAILED, "");
		expect_refusal(rig);
	} else if (outcome.state == JOB_FAILED) {
		rig_check_world(rig, before, what);
	} else {
		assert_int_equal(outcome.state, JOB_DONE);
		incomplete = UINT32_MAX; /* there was no such write */
	}
	outcome_clear(&outcome);
	rig_free(rig);
	return incomplete;
}

/* fault 15 */
TEST(what_cannot_be_put_back_is_quarantined)
{
	const struct {
		void (*setup)(Rig *rig);
		JobRequest request;
		unsigned incomplete; /* of the points at which everything begins to fail */
	} rows[] = {
		{ rig_shut_off, assign_request("vm42", "pair0"), 2 },
		/* When the definition fails last, the live part cannot be undone, either. */
		{ rig_running, assign_request("vm42", "pair0"), 6 },
		{ rig_assigned, release_request("vm42"), 2 },
		{ rig_assigned_live, release_request("vm42"), 7 },
		{ rig_shut_off, bind_request("pair0"), 1 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		unsigned from = 1, incomplete = 0, n;

		while ((n = run_broken(rows[i].setup, &rows[i].request, from++)) != UINT32_MAX)
			incomplete += n;
		if (incomplete != rows[i].incomplete)
			fail_msg("row %zu: %u of %u points are incomplete", i, incomplete,
				 from - 2);
	}
}

ON_A_RIG(a_guest_that_does_not_let_go_keeps_its_functions_on_vfio)
{
	static const FakeFault third_attach = { .op = FAKE_ATTACH,
						.nth = 3,
						.problem = GPUPASS_ERROR_ATTACH_FAILED };
	static const FakeFault last_detach = { .op = FAKE_DETACH,
					       .nth = 3,
					       .problem = GPUPASS_ERROR_DETACH_TIMEOUT };
	static const char *const functions[] = { PAIR0_FUNCTIONS };
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome;

	rig_running(rig);
	fake_fail(&rig->fake, &third_attach);
	fake_fail(&rig->fake, &last_detach);
	outcome = rig_run(rig, &request);
	assert_true(
		fake_xml_has(fake_domain(&rig->fake, "vm42")->live_xml, &(Bdf){ 0, 0x41, 0, 0 }));
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		assert_true(rig_is_on(rig, functions[i], "vfio-pci", "vfio-pci"));
	rig_check_guests(rig, "a guest that does not let go");
	expect_quarantine(rig, &outcome, GPUPASS_ERROR_ROLLBACK_FAILED, "it fails as");
}

/* libvirt went away: whether it attaches still is not known, so nothing leaves vfio-pci. */
ON_A_RIG(what_may_be_attached_yet_stays_on_vfio)
{
	static const char *const functions[] = { PAIR0_FUNCTIONS };
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome;

	rig_running(rig);
	rig->fake.broken_from = 2; /* the first attach */
	outcome = rig_run(rig, &request);
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		assert_true(rig_is_on(rig, functions[i], "vfio-pci", "vfio-pci"));
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 1);
	expect_quarantine(rig, &outcome, GPUPASS_ERROR_ROLLBACK_FAILED, "it fails as");
}

static void others_take_it_at_define(FakeHost *fake, FakeOp op, unsigned nth)
{
	const Bdf function = { 0, 0x41, 0, 0 };
	_cleanup_free_ char *hostdev = NULL;
	FakeDomain *domain;
	char *live;

	if (op != FAKE_DEFINE || nth != 1)
		return;
	hostdev = domain_xml_hostdev("other", 0, &function);
	domain = fake_domain(fake, "vm77");
	live = fake_xml_attach(domain->live_xml, hostdev);
	free(domain->live_xml);
	domain->live_xml = live;
}

ON_A_RIG(what_another_guest_has_taken_is_not_taken_from_vfio)
{
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome;

	rig_shut_off(rig);
	fake_add_domain(&rig->fake, "vm77", "q35-eight-ports", "q35-eight-ports-live");
	fake_fail(&rig->fake, &define_refused);
	rig->fake.hook = others_take_it_at_define;
	outcome = rig_run(rig, &request);
	assert_true(rig_is_on(rig, "0000:41:00.0", "vfio-pci", "vfio-pci"));
	rig_check_guests(rig, "taken by another");
	expect_quarantine(rig, &outcome, GPUPASS_ERROR_ROLLBACK_FAILED,
			  "a guest runs on 0000:41:00.0");
}

/* What libvirt added of its own goes, too, as long as nobody else has edited the domain. */
ON_A_RIG(an_undo_takes_out_what_libvirt_added)
{
	_cleanup_free_ char *before = NULL;
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome;

	rig_shut_off(rig);
	before = rig_world(rig);
	rig->fake.adds_ports = true;
	outcome = run_failing_at_verify(rig, &request, NULL);
	assert_int_equal(rig->fake.calls[FAKE_DEFINE], 2);
	outcome_clear(&outcome);
	rig_check_world(rig, before, "a port more");
}

/* Three of its four functions: what it did not have it does not get by an undo. */
ON_A_RIG(an_undo_attaches_only_what_the_guest_had)
{
	const Bdf lost = { 0, 0x61, 0, 1 };
	JobRequest request = release_request("vm42");
	_cleanup_free_ char *before = NULL;
	_cleanup_(outcome_clear) Outcome outcome;
	char *live;

	rig_assigned_live(rig);
	live = fake_xml_detach(fake_domain(&rig->fake, "vm42")->live_xml, &lost);
	free(fake_domain(&rig->fake, "vm42")->live_xml);
	fake_domain(&rig->fake, "vm42")->live_xml = live;
	before = rig_world(rig);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &define_refused);
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_FAILED);
	rig_check_world(rig, before, "three of four");
}

/* ---- a worker that never comes back ---- */

static const FakeMoveFault hangs_off_nvidia = { .bdf = "0000:61:00.0",
						.driver = "vfio-pci",
						.phase = DRIVER_PHASE_UNBIND,
						.never_returns = true };
static const FakeMoveFault hangs_off_vfio = { .bdf = "0000:41:00.0",
					      .driver = "nvidia",
					      .phase = DRIVER_PHASE_UNBIND,
					      .never_returns = true };

/* fault 3 */
ON_A_RIG(a_bind_that_never_ends_quarantines_and_leaves_the_rest_as_it_was)
{
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome;

	rig_shut_off(rig);
	fake_fail_move(&rig->fake, &hangs_off_nvidia);
	outcome = rig_run(rig, &request);
	assert_non_null(
		strstr(outcome.message, "0000:61:00.0 to vfio-pci did not end within 30 s"));
	expect_quarantine(rig, &outcome, GPUPASS_ERROR_UNBIND_TIMEOUT,
			  "worker 4711 still waits in the kernel to move 0000:61:00.0");
	assert_true(rig_is_on(rig, "0000:61:00.0", "", "vfio-pci"));
	assert_true(rig_is_on(rig, "0000:61:00.1", "snd_hda_intel", ""));
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
	assert_true(rig_is_on(rig, "0000:41:00.1", "snd_hda_intel", ""));
	expect_refusal(rig);
	rig_check_guests(rig, "stuck");
}

/* faults 3, N2 */
TEST(the_remedy_of_a_stuck_unbind_is_that_of_the_driver_s_release)
{
	static const struct {
		const char *version; /* NULL: not known */
		bool off_nvidia;
		const char *has, *lacks;
	} rows[] = {
		{ "550.54.15", true, "rmmod nvidia_drm: with driver 550.54.15 the wait then ends",
		  "not known" },
		{ "595.71.05", true, "with driver 595.71.05 nothing ends the wait", "nvidia_drm" },
		{ NULL, true, "whether the wait ends without them is not known of this driver",
		  "then ends" },
		{ "595.71.05", false, "look for holders", "595.71.05" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		JobRequest assign = assign_request("vm42", "pair0");
		JobRequest release = release_request("vm42");
		_cleanup_(rig_freep) Rig *rig = rig_new();
		Outcome outcome;

		rig_shut_off(rig);
		rig->fake.nvidia_version = rows[i].version;
		if (!rows[i].off_nvidia)
			rig_must(rig, &assign);
		fake_watch(&rig->fake);
		fake_fail_move(&rig->fake,
			       rows[i].off_nvidia ? &hangs_off_nvidia : &hangs_off_vfio);
		outcome = rig_run(rig, rows[i].off_nvidia ? &assign : &release);
		if (!strstr(outcome.remedy, rows[i].has) || strstr(outcome.remedy, rows[i].lacks))
			fail_msg("row %zu: %s", i, outcome.remedy);
		assert_non_null(strstr(outcome.remedy, "QUARANTINE"));
		outcome_clear(&outcome);
	}
}

/* fault 5 */
TEST(a_restore_that_never_ends_gives_nothing_back_to_the_domain)
{
	for (int live = 0; live <= 1; live++) {
		JobRequest request = release_request("vm42");
		_cleanup_free_ char *world = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();
		FakeDomain *domain;
		Outcome outcome;

		(live ? rig_assigned_live : rig_assigned)(rig);
		fake_watch(&rig->fake);
		fake_fail_move(&rig->fake, &hangs_off_vfio);
		outcome = rig_run(rig, &request);
		expect_quarantine(rig, &outcome, GPUPASS_ERROR_UNBIND_TIMEOUT,
				  "worker 4711 still waits in the kernel to move 0000:41:00.0");
		/* All of the group is out of the domain, and on vfio-pci but for the one. */
		domain = fake_domain(&rig->fake, "vm42");
		assert_false(fake_xml_has(domain->config_xml, &(Bdf){ 0, 0x61, 0, 0 }));
		assert_false(fake_xml_has(domain->live_xml, &(Bdf){ 0, 0x61, 0, 0 }));
		assert_int_equal(rig->fake.calls[FAKE_ATTACH], 0);
		assert_true(rig_is_on(rig, "0000:41:00.0", "", ""));
		assert_true(rig_is_on(rig, "0000:61:00.0", "vfio-pci", "vfio-pci"));
		assert_true(rig_is_on(rig, "0000:61:00.1", "vfio-pci", "vfio-pci"));
		/* The wish stands: the release has not come about. */
		world = rig_world(rig);
		assert_non_null(strstr(world, "4242.json"));
		expect_refusal(rig);
		rig_check_guests(rig, "stuck");
	}
}

/* faults 5, 15 */
ON_A_RIG(an_undo_that_never_ends_quarantines)
{
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome;

	rig_shut_off(rig);
	fake_fail(&rig->fake, &define_refused);
	fake_fail_move(&rig->fake, &hangs_off_vfio);
	outcome = rig_run(rig, &request);
	expect_quarantine(rig, &outcome, GPUPASS_ERROR_ROLLBACK_FAILED,
			  "moving 0000:41:00.0 to nvidia did not end");
	assert_true(rig_is_on(rig, "0000:61:00.0", "nvidia", ""));
	expect_refusal(rig);
	rig_check_guests(rig, "stuck");
}

/* ---- others interfere ---- */

static void others_edit_at_verify(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == FAKE_INSPECT && nth == 1)
		fake_retitle(fake, "vm42", "by hand");
}

static void others_take_it_out_at_verify(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == FAKE_INSPECT && nth == 1)
		fake_redefine(fake, "vm42", "q35");
}

static void run_edited(void (*setup)(Rig *rig), const JobRequest *request)
{
	_cleanup_free_ char *before = NULL;
	_cleanup_(rig_freep) Rig *rig = rig_new(), *like = rig_new();
	Outcome outcome;

	setup(rig);
	/* What it must be in the end: as before, with the others' edit. */
	setup(like);
	fake_retitle(&like->fake, "vm42", "by hand");
	before = fake_world(&like->fake, rig->store.records.dir_fd);
	outcome = run_failing_at_verify(rig, request, others_edit_at_verify);
	rig_check_world(rig, before, operation_to_string(request->operation));
	outcome_clear(&outcome);
}

TEST(an_undo_keeps_what_others_edited_meanwhile)
{
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("vm42");

	run_edited(rig_shut_off, &assign);
	run_edited(rig_assigned, &release);
}

ON_A_RIG(what_others_took_out_meanwhile_needs_no_undo)
{
	_cleanup_free_ char *before = NULL;
	JobRequest request = assign_request("vm42", "pair0");
	_cleanup_(outcome_clear) Outcome outcome;

	rig_shut_off(rig);
	before = rig_world(rig);
	outcome = run_failing_at_verify(rig, &request, others_take_it_out_at_verify);
	assert_int_equal(rig->fake.calls[FAKE_DEFINE], 1);
	rig_check_world(rig, before, "taken out by others");
}

static void others_start_it(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == FAKE_DEFINE && nth == 1)
		fake_start(fake, "vm42");
}

/* Between the preflight and the restore: the definition still had the group. */
ON_A_RIG(a_domain_started_during_its_release_keeps_its_functions)
{
	JobRequest request = release_request("vm42");
	_cleanup_(outcome_clear) Outcome outcome;

	rig_assigned(rig);
	fake_watch(&rig->fake);
	rig->fake.hook = others_start_it;
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_FAILED);
	assert_int_equal(outcome.error, GPUPASS_ERROR_HOST_IN_USE);
	assert_true(rig_is_on(rig, "0000:41:00.0", "vfio-pci", "vfio-pci"));
	assert_true(
		fake_xml_has(fake_domain(&rig->fake, "vm42")->config_xml, &(Bdf){ 0, 0x41, 0, 0 }));
	rig_check_guests(rig, "started meanwhile");
}

static void one_vanishes_at_define(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == FAKE_DEFINE && nth == 1)
		fake_vanish(fake, "0000:61:00.0");
}

/* fault 12 */
ON_A_RIG(a_function_that_vanishes_does_not_keep_the_others_from_going_back)
{
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome;

	rig_shut_off(rig);
	fake_fail(&rig->fake, &define_refused);
	rig->fake.hook = one_vanishes_at_define;
	outcome = rig_run(rig, &request);
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
	assert_true(rig_is_on(rig, "0000:41:00.1", "snd_hda_intel", ""));
	assert_true(rig_is_on(rig, "0000:61:00.1", "snd_hda_intel", ""));
	expect_quarantine(rig, &outcome, GPUPASS_ERROR_ROLLBACK_FAILED,
			  "0000:61:00.0 could not be moved to nvidia");
}
