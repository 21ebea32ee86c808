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

static const FakeOp of_libvirt[] = { FAKE_GET, FAKE_DEFINE, FAKE_ATTACH, FAKE_DETACH };

static void check_world(const Rig *rig, const char *wanted)
{
	_cleanup_free_ char *now = rig_timeless_world(rig), *diff = text_diff(wanted, now);

	if (!str_equal(now, wanted))
		fail_msg("%s:\n%s", rig->row, diff);
	rig_check_guests(rig, rig->row);
	rig_check_nothing_open(rig);
}

/* Every call to libvirt that the job makes after its plan: lost before it was done, and after. */
static void at_every_call(void (*run)(Rig *rig, const JobRequest *request, const FakeFault *fault,
				      const char *after))
{
	for (size_t i = 0; i < N_MAIN_SCENARIOS; i++) {
		Undisturbed all;

		rig_run_undisturbed(&scenarios[i], &all);
		for (size_t k = 0; k < ELEMENTS(of_libvirt); k++)
			for (unsigned n = 2 * all.planned[of_libvirt[k]];
			     n < 2 * all.calls[of_libvirt[k]]; n++) {
				const FakeFault fault = {
					.op = of_libvirt[k],
					.nth = n / 2 + 1,
					.late = n % 2,
					.problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
				};
				_cleanup_(rig_freep) Rig *rig = rig_for(&scenarios[i]);
				_cleanup_free_ char *row =
					strf("%s, libvirt is lost %s %s %u", scenarios[i].name,
					     fault.late ? "after" : "before",
					     fake_op_to_string(fault.op), fault.nth);

				rig->row = row;
				run(rig, &scenarios[i].request, &fault, all.world);
			}
		free(all.world);
	}
}

static void restart(Rig *rig, const JobRequest *request, const FakeFault *fault, const char *after)
{
	fake_fail(&rig->fake, fault);
	rig->fake.comes_back = 1;
	rig_must(rig, request);
	check_world(rig, after);
}

/* fault 27 */
TEST(a_restart_of_libvirt_at_any_call_does_not_fail_the_job)
{
	at_every_call(restart);
}

static const FakeFault *gone_at;

/* From this call on it is gone, for longer than a job waits. */
static void go(Rig *rig)
{
	fake_fail(&rig->fake, gone_at);
	for (size_t i = 0; i < ELEMENTS(of_libvirt); i++) {
		FakeFault all = {
			.op = of_libvirt[i],
			.nth = of_libvirt[i] == gone_at->op ? gone_at->nth : 0,
			.from_then_on = true,
			.problem = gone_at->problem,
		};

		fake_fail(&rig->fake, &all);
	}
}

static void recover_left_open(Rig *rig)
{
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	_cleanup_(recovery_clear) Recovery recovery = { 0 };

	assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
	if (found.n_jobs != 1 || found.notes)
		fail_msg("%s: %zu journals are open", rig->row, found.n_jobs);
	recover_claim(&rig->place, found.jobs[0], "waits");
	assert_int_equal(recover_job(&rig->place, found.jobs[0], 0, &recovery), 0);
	if (recovery.outcome == RECOVERED_QUARANTINED || recovery.outcome == RECOVERED_WAITING)
		fail_msg("%s: %s", rig->row, recovery.reason);
}

/* Who was told that the job failed does not find it done later, even if all of it was done when its
 * undo began. */
static void stop(Rig *rig, const JobRequest *request, const FakeFault *fault,
		 _unused_ const char *after)
{
	_cleanup_free_ char *before = rig_timeless_world(rig);

	gone_at = fault;
	rig_at(rig, fault->op, fault->nth, go);
	if (rig_try(rig, request)->state == JOB_INCOMPLETE) {
		_cleanup_strv_ char **quarantines = NULL;

		assert_non_null(strstr(rig->last.message, "as soon as libvirt answers"));
		assert_int_equal(dir_list(rig->quarantine.dir_fd, "", &quarantines), 0);
		assert_null(quarantines);
		fake_watch(&rig->fake);
		recover_left_open(rig);
	} else if (rig->last.state != JOB_FAILED) {
		fail_msg("%s: %s", rig->row, job_state_to_string(rig->last.state));
	}
	check_world(rig, before);
}

/* fault 27 */
TEST(what_libvirt_left_half_done_is_undone_when_it_is_back)
{
	at_every_call(stop);
}

/* ---- domains that end, or go ---- */

static void destroy(Rig *rig)
{
	fake_shut_off(&rig->fake, "vm42");
}

static void undefine(Rig *rig)
{
	fake_set_config(&rig->fake, "vm42", NULL);
}

static void remove_domain(Rig *rig)
{
	if (fake_domain(&rig->fake, "vm42"))
		fake_undefine(&rig->fake, "vm42");
}

/* fault 30 */
TEST(a_domain_that_ends_meanwhile_leaves_both_gpus_with_the_host)
{
	static const struct {
		const char *what;
		void (*event)(Rig *rig);
		FakeOp op;
		unsigned n;
		bool released; /* its release goes on */
	} rows[] = {
		{ "destroyed at an attach", destroy, FAKE_ATTACH, 4, false },
		{ "removed at an attach", remove_domain, FAKE_ATTACH, 4, false },
		{ "undefined at an attach", undefine, FAKE_ATTACH, 4, false },
		{ "undefined at the define", undefine, FAKE_DEFINE, 1, false },
		{ "removed at the define", remove_domain, FAKE_DEFINE, 1, false },
		{ "destroyed at a detach", destroy, FAKE_DETACH, 4, true },
		{ "removed at a detach", remove_domain, FAKE_DETACH, 4, true },
		{ "removed at the define of its release", remove_domain, FAKE_DEFINE, 1, true },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		for (unsigned nth = 1; nth <= rows[i].n; nth++) {
			bool released = rows[i].released;
			_cleanup_(rig_freep) Rig *rig = rig_new();

			rig->row = rows[i].what;
			(released ? rig_assigned_live : rig_running)(rig);
			rig_at(rig, rows[i].op, nth, rows[i].event);
			rig_try(rig, released ? &RELEASE : &ASSIGN);
			if (rig->last.state != (released ? JOB_DONE : JOB_FAILED) ||
			    !rig_is_home(rig))
				fail_msg("%s %u: %s, %s", rows[i].what, nth,
					 job_state_to_string(rig->last.state),
					 str_or_empty(rig->last.message));
			rig_check_guests(rig, rows[i].what);
			rig_check_nothing_open(rig);
		}
}

/* What it had before is not attached to a guest that is no more. */
ON_A_RIG(a_release_that_fails_after_its_guest_ended_is_undone_without_it)
{
	rig_assigned_live(rig);
	rig->fake.reset_fault =
		(FakeResetFault){ .bdf = "0000:61:00.0", .result = RESET_FAILED, .error = -EIO };
	rig_at(rig, FAKE_DETACH, 2, destroy);
	rig_try(rig, &RELEASE);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_RESET_FAILED, "0000:61:00.0");
	rig_check_nothing_open(rig);
	assert_true(rig_is_bound(rig));
}

/* ---- a device that libvirt has forgotten ---- */

#define FORGOTTEN "0000:41:00.1"

static void qemu_takes_it(Rig *rig)
{
	fake_hold_by_guest(&rig->fake, FORGOTTEN);
}

/* fault 27 */
/* libvirtd was killed after QEMU had taken the second function, and before libvirt had noted it. */
ON_A_RIG(a_device_that_libvirt_has_forgotten_is_quarantined_until_its_guest_ends)
{
	static const FakeFault killed = { .op = FAKE_ATTACH,
					  .nth = 2,
					  .problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	static const FakeFault duplicate = { .op = FAKE_ATTACH,
					     .nth = 3,
					     .problem = GPUPASS_ERROR_ATTACH_FAILED };
	_cleanup_(problem_freep) Problem *in_use = NULL;

	rig_running(rig);
	fake_fail(&rig->fake, &killed);
	fake_fail(&rig->fake, &duplicate);
	rig->fake.comes_back = 1;
	rig_at(rig, FAKE_ATTACH, 2, qemu_takes_it);
	rig_sticks(rig, &ASSIGN, GPUPASS_ERROR_ROLLBACK_FAILED, "a guest runs on " FORGOTTEN);
	assert_string_equal(rig->last.remedy, "shut that guest down; then: gpupass clear pair0");
	assert_true(rig_is_on(rig, FORGOTTEN, "vfio-pci", "vfio-pci"));
	fake_watch(&rig->fake);
	assert_int_equal(quarantine_lift(&rig->place, "pair0", &in_use), PROBLEM);
	assert_non_null(strstr(in_use->reason, FORGOTTEN " is in use through vfio"));
	assert_non_null(strstr(in_use->cause, "qemu-system-x86 (pid 4242)"));
	destroy(rig);
	fake_let_go(&rig->fake);
	assert_int_equal(quarantine_lift(&rig->place, "pair0", NULL), 0);
	rig_must(rig, &ASSIGN);
}

/* ---- names and UUIDs ---- */

/* fault 32 */
ON_A_RIG(a_name_that_another_domain_has_now_gets_nothing)
{
	rig_assigned(rig);
	fake_undefine(&rig->fake, "vm42");
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
	fake_rename(&rig->fake, "vm43", "vm42");
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_GROUP_BUSY, "assigned to vm42");
	assert_non_null(strstr(rig->last.message, "which libvirt no longer has"));
	rig_fails(rig, &RELEASE, GPUPASS_ERROR_NOT_ASSIGNED, "vm42");
	rig_fails(rig, &RECONCILE, GPUPASS_ERROR_NO_SUCH_DOMAIN, "the domain of that name is");
	assert_non_null(strstr(rig->last.message, "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4343"));
	rig_must(rig, &release_request("pair0"));
	assert_true(rig_is_home(rig));
}
