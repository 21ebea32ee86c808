/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libvirt restarts, stops, or its domains are destroyed, undefined and replaced while a job is at
 * work: the world is as before or as after, and nothing is given to anybody else.
 */
#include "rig/test.h"

#include <string.h>

#include "job/clear.h"
#include "job/recover.h"
#include "rig/job-rig.h"
#include "rig/text-diff.h"
#include "util/file.h"
#include "util/text.h"

static void devices_edited(Rig *rig)
{
	rig_assigned(rig);
	fake_edit_hostdevs(&rig->fake, "vm42");
}

typedef struct Scenario {
	const char *name;
	void (*setup)(Rig *rig);
	JobRequest request;
} Scenario;

static const Scenario scenarios[] = {
	{ "assign cold", rig_shut_off, RIG_ASSIGN },
	{ "assign live", rig_running, RIG_ASSIGN },
	{ "release cold", rig_assigned, RIG_RELEASE },
	{ "release live", rig_assigned_live, RIG_RELEASE },
	{ "reconcile",
	  devices_edited,
	  { .operation = OPERATION_RECONCILE, .group = (char *)"pair0" } },
};

static const FakeOp of_libvirt[] = { FAKE_GET, FAKE_DEFINE, FAKE_ATTACH, FAKE_DETACH };

static void check_world(const Rig *rig, const char *wanted, const char *what)
{
	_cleanup_free_ char *now = rig_timeless_world(rig), *diff = text_diff(wanted, now);

	if (!str_equal(now, wanted))
		fail_msg("%s:\n%s", what, diff);
	rig_check_guests(rig, what);
}

static void check_nothing_left(const Rig *rig, const char *what)
{
	_cleanup_strv_ char **quarantines = NULL;
	_cleanup_free_ char *reason = NULL;
	Bdf function;

	assert_int_equal(bdf_parse("0000:41:00.0", &function), 0);
	reason = claims_quarantine_reason(rig->claims, &function, NULL);
	if (reason)
		fail_msg("%s: quarantined: %s", what, reason);
	assert_int_equal(dir_list(rig->quarantine.dir_fd, "", &quarantines), 0);
	if (rig_count_open(rig) > 0 || quarantines)
		fail_msg("%s: a file is left", what);
}

/* What the scenario leads to undisturbed, and how often it calls what. */
static char *undisturbed(const Scenario *scenario, unsigned first[FAKE_OP_MAX_],
			 unsigned counts[FAKE_OP_MAX_])
{
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_free_ char *prefix = NULL;
	Rig *rig = rig_new();
	Outcome outcome;
	char *world;

	scenario->setup(rig);
	fake_watch(&rig->fake);
	outcome = rig_prepare(rig, &scenario->request, &prepared, &prefix);
	assert_int_equal(outcome.state, JOB_RUNNING);
	memcpy(first, rig->fake.calls, sizeof(rig->fake.calls));
	outcome = rig_execute(rig, prepared, prefix);
	assert_int_equal(outcome.state, JOB_DONE);
	memcpy(counts, rig->fake.calls, sizeof(rig->fake.calls));
	world = rig_timeless_world(rig);
	outcome_clear(&outcome);
	rig_free(rig);
	return world;
}

typedef void (*LossRun)(const Scenario *scenario, const FakeFault *fault, const char *after,
			const char *what);

/* Every call to libvirt that the job makes after its plan: lost before it was done, and after. */
static void at_every_call(LossRun run)
{
	for (size_t i = 0; i < ELEMENTS(scenarios); i++) {
		unsigned first[FAKE_OP_MAX_], counts[FAKE_OP_MAX_];
		_cleanup_free_ char *after = undisturbed(&scenarios[i], first, counts);

		for (size_t k = 0; k < ELEMENTS(of_libvirt); k++)
			for (unsigned nth = first[of_libvirt[k]] + 1; nth <= counts[of_libvirt[k]];
			     nth++)
				for (int late = 0; late <= 1; late++) {
					FakeFault fault = {
						.op = of_libvirt[k],
						.nth = nth,
						.late = late,
						.problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
					};
					_cleanup_free_ char *what =
						strf("%s, libvirt is lost %s %s %u",
						     scenarios[i].name, late ? "after" : "before",
						     fake_op_to_string(fault.op), nth);

					run(&scenarios[i], &fault, after, what);
				}
	}
}

static void restart(const Scenario *scenario, const FakeFault *fault, const char *after,
		    const char *what)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();
	Outcome outcome;

	scenario->setup(rig);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, fault);
	rig->fake.comes_back = 1;
	outcome = rig_run(rig, &scenario->request);
	if (outcome.state != JOB_DONE)
		fail_msg("%s: %s", what, outcome.message);
	check_world(rig, after, what);
	check_nothing_left(rig, what);
	outcome_clear(&outcome);
}

/* fault 27 */
TEST(a_restart_of_libvirt_at_any_call_does_not_fail_the_job)
{
	at_every_call(restart);
}

/* libvirt is gone from this call on, for longer than a job waits. */
static void gone(FakeHost *fake, const FakeFault *fault)
{
	fake_fail(fake, fault);
	for (size_t i = 0; i < ELEMENTS(of_libvirt); i++) {
		FakeFault all = {
			.op = of_libvirt[i],
			.nth = of_libvirt[i] == fault->op ? fault->nth : 0,
			.from_then_on = true,
			.problem = fault->problem,
		};

		fake_fail(fake, &all);
	}
}

static const FakeFault *gone_at;

/* Only once the call is reached at which it goes. */
static void then_gone(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == gone_at->op && nth == gone_at->nth && fake->n_faults == 0)
		gone(fake, gone_at);
}

static void recover_left_open(Rig *rig, const char *what)
{
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	_cleanup_(recovery_clear) Recovery recovery = { 0 };

	assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
	if (found.n_jobs != 1 || found.notes)
		fail_msg("%s: %zu journals are open", what, found.n_jobs);
	recover_claim(&rig->place, found.jobs[0], "waits");
	assert_int_equal(recover_job(&rig->place, found.jobs[0], 0, &recovery), 0);
	if (recovery.outcome == RECOVERED_QUARANTINED || recovery.outcome == RECOVERED_WAITING)
		fail_msg("%s: %s", what, recovery.reason);
}

static void stop(const Scenario *scenario, const FakeFault *fault, _unused_ const char *after,
		 const char *what)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	scenario->setup(rig);
	before = rig_timeless_world(rig);
	fake_watch(&rig->fake);
	gone_at = fault;
	rig->fake.hook = then_gone;
	outcome = rig_run(rig, &scenario->request);
	if (outcome.state == JOB_INCOMPLETE) {
		_cleanup_strv_ char **quarantines = NULL;

		assert_non_null(strstr(outcome.message, "as soon as libvirt answers"));
		assert_int_equal(dir_list(rig->quarantine.dir_fd, "", &quarantines), 0);
		assert_null(quarantines);
		fake_watch(&rig->fake);
		recover_left_open(rig, what);
	} else if (outcome.state != JOB_FAILED) {
		fail_msg("%s: %s", what, job_state_to_string(outcome.state));
	}
	/* Who was told that the job failed does not find it done later, even if all of it was done
	 * when its undo began. */
	check_world(rig, before, what);
	check_nothing_left(rig, what);
	outcome_clear(&outcome);
}

/* fault 27 */
TEST(what_libvirt_left_half_done_is_undone_when_it_is_back)
{
	at_every_call(stop);
}

/* ---- domains that end, or go ---- */

static FakeOp event_op;
static unsigned event_nth;
static void (*event)(FakeHost *fake);

static void on_call(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == event_op && nth == event_nth)
		event(fake);
}

static void destroy(FakeHost *fake)
{
	fake_shut_off(fake, "vm42");
}

static void undefine(FakeHost *fake)
{
	fake_set_config(fake, "vm42", NULL);
}

static void remove_domain(FakeHost *fake)
{
	if (fake_domain(fake, "vm42"))
		fake_undefine(fake, "vm42");
}

static bool all_are_on_their_own_drivers(const Rig *rig)
{
	return rig_is_on(rig, "0000:41:00.0", "nvidia", "") &&
	       rig_is_on(rig, "0000:41:00.1", "snd_hda_intel", "") &&
	       rig_is_on(rig, "0000:61:00.0", "nvidia", "") &&
	       rig_is_on(rig, "0000:61:00.1", "snd_hda_intel", "");
}

/* fault 30 */
TEST(a_domain_that_ends_during_an_attach_leaves_both_gpus_with_the_host)
{
	static const struct {
		const char *what;
		void (*event)(FakeHost *fake);
		FakeOp op;
		unsigned n;
	} rows[] = {
		{ "destroyed at an attach", destroy, FAKE_ATTACH, 4 },
		{ "removed at an attach", remove_domain, FAKE_ATTACH, 4 },
		{ "undefined at an attach", undefine, FAKE_ATTACH, 4 },
		{ "undefined at the define", undefine, FAKE_DEFINE, 1 },
		{ "removed at the define", remove_domain, FAKE_DEFINE, 1 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		for (unsigned nth = 1; nth <= rows[i].n; nth++) {
			_cleanup_free_ char *what = strf("%s %u", rows[i].what, nth);
			JobRequest request = assign_request("vm42", "pair0");
			_cleanup_(rig_freep) Rig *rig = rig_new();
			Outcome outcome;

			rig_running(rig);
			fake_watch(&rig->fake);
			event = rows[i].event;
			event_op = rows[i].op;
			event_nth = nth;
			rig->fake.hook = on_call;
			outcome = rig_run(rig, &request);
			if (outcome.state != JOB_FAILED)
				fail_msg("%s: %s, %s", what, job_state_to_string(outcome.state),
					 str_or_empty(outcome.message));
			if (!all_are_on_their_own_drivers(rig))
				fail_msg("%s: a function was not given back", what);
			rig_check_guests(rig, what);
			check_nothing_left(rig, what);
			outcome_clear(&outcome);
		}
}

/* fault 30 */
TEST(a_domain_that_ends_during_its_release_is_released)
{
	for (unsigned nth = 1; nth <= 4; nth++) {
		JobRequest request = release_request("vm42");
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig_assigned_live(rig);
		fake_watch(&rig->fake);
		event = destroy;
		event_op = FAKE_DETACH;
		event_nth = nth;
		rig->fake.hook = on_call;
		rig_must(rig, &request);
		assert_true(all_are_on_their_own_drivers(rig));
		check_nothing_left(rig, "destroyed at a detach");
	}
}

/* What it had before is not attached to a guest that is no more. */
TEST(a_release_that_fails_after_its_guest_ended_is_undone_without_it)
{
	JobRequest request = release_request("vm42");
	_cleanup_(rig_freep) Rig *rig = rig_new();
	Outcome outcome;

	rig_assigned_live(rig);
	fake_watch(&rig->fake);
	rig->fake.reset_fault =
		(FakeResetFault){ .bdf = "0000:61:00.0", .result = RESET_FAILED, .error = -EIO };
	event = destroy;
	event_op = FAKE_DETACH;
	event_nth = 2;
	rig->fake.hook = on_call;
	outcome = rig_run(rig, &request);
	rig_expect_failure(&outcome, GPUPASS_ERROR_RESET_FAILED, "0000:61:00.0");
	check_nothing_left(rig, "a failed release");
	assert_true(rig_is_on(rig, "0000:41:00.0", "vfio-pci", "vfio-pci"));
}

/* ---- a device that libvirt has forgotten ---- */

#define FORGOTTEN "0000:41:00.1"

static void qemu_takes_it(FakeHost *fake)
{
	fake_hold(fake, FORGOTTEN, "qemu-system-x86");
	fake->holders[fake->n_holders - 1].vfio = true;
}

/* fault 27 */
/* libvirtd was killed after QEMU had taken the second function, and before libvirt had noted it. */
TEST(a_device_that_libvirt_has_forgotten_is_quarantined_until_its_guest_ends)
{
	static const FakeFault killed = { .op = FAKE_ATTACH,
					  .nth = 2,
					  .problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	static const FakeFault duplicate = { .op = FAKE_ATTACH,
					     .nth = 3,
					     .problem = GPUPASS_ERROR_ATTACH_FAILED };
	_cleanup_(problem_freep) Problem *in_use = NULL, *problem = NULL;
	JobRequest request = assign_request("vm42", "pair0");
	_cleanup_(rig_freep) Rig *rig = rig_new();
	Outcome outcome;

	rig_running(rig);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &killed);
	fake_fail(&rig->fake, &duplicate);
	rig->fake.comes_back = 1;
	event = qemu_takes_it;
	event_op = FAKE_ATTACH;
	event_nth = 2;
	rig->fake.hook = on_call;
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_INCOMPLETE);
	assert_non_null(strstr(outcome.message, "a guest runs on " FORGOTTEN));
	assert_string_equal(outcome.remedy, "shut that guest down; then: gpupass clear pair0");
	rig_check_guests(rig, "forgotten");
	outcome_clear(&outcome);
	assert_true(rig_is_on(rig, FORGOTTEN, "vfio-pci", "vfio-pci"));
	fake_watch(&rig->fake);
	assert_int_equal(quarantine_lift(&rig->place, "pair0", &in_use), PROBLEM);
	assert_non_null(strstr(in_use->reason, FORGOTTEN " is in use through vfio"));
	assert_non_null(strstr(in_use->cause, "qemu-system-x86 (pid 4242)"));
	fake_shut_off(&rig->fake, "vm42");
	while (rig->fake.n_holders > 0)
		free(rig->fake.holders[--rig->fake.n_holders].command);
	assert_int_equal(quarantine_lift(&rig->place, "pair0", &problem), 0);
	rig_must(rig, &request);
}

/* ---- names and UUIDs ---- */

/* fault 32 */
TEST(a_name_that_another_domain_has_now_gets_nothing)
{
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("vm42");
	JobRequest reconcile = reconcile_request("pair0"), by_group = release_request("pair0");
	_cleanup_(rig_freep) Rig *rig = rig_new();
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	rig_assigned(rig);
	fake_undefine(&rig->fake, "vm42");
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
	fake_rename(&rig->fake, "vm43", "vm42");
	before = rig_world(rig);
	outcome = rig_run(rig, &assign);
	assert_non_null(strstr(outcome.message, "which libvirt no longer has"));
	rig_expect_failure(&outcome, GPUPASS_ERROR_GROUP_BUSY, "assigned to vm42");
	outcome = rig_run(rig, &release);
	rig_expect_failure(&outcome, GPUPASS_ERROR_NOT_ASSIGNED, "vm42");
	outcome = rig_run(rig, &reconcile);
	assert_non_null(strstr(outcome.message, "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4343"));
	rig_expect_failure(&outcome, GPUPASS_ERROR_NO_SUCH_DOMAIN, "the domain of that name is");
	rig_check_world(rig, before, "another vm42");
	rig_must(rig, &by_group);
	assert_true(all_are_on_their_own_drivers(rig));
}
