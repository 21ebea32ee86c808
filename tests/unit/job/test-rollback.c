/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When putting back fails as well, when a worker never comes back, and when others interfere. */
#include "rig/test.h"

#include <string.h>

#include "core/domain/xml.h"
#include "job/clear.h"
#include "rig/job-rig.h"
#include "util/text.h"

static const FakeFault define_refused = { .op = FAKE_DEFINE,
					  .nth = 1,
					  .problem = GPUPASS_ERROR_DEFINE_FAILED };

/*
 * Fails at the first look after the definition was written, at which others do something (may be
 * NULL): the first inspection after prepare().
 */
static void fail_at_verify(Rig *rig, const JobRequest *request, void (*others)(Rig *rig))
{
	static const FakeFault first = { .op = FAKE_INSPECT, .nth = 1, .error = -EIO };

	rig_plan(rig, request);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &first);
	if (others)
		rig_at(rig, FAKE_INSPECT, 1, others);
	rig_go(rig);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_PART_FAILED, "");
}

/* The group, whatever is asked of it; the other one is not concerned. */
static void expect_refusal(Rig *rig)
{
	const JobRequest refused[] = { ASSIGN, BIND, UNBIND };

	fake_watch(&rig->fake);
	rig_must(rig, &bind_request("pair1"));
	fake_watch(&rig->fake);
	for (size_t i = 0; i < ELEMENTS(refused); i++)
		rig_fails(rig, &refused[i], GPUPASS_ERROR_QUARANTINED, "");
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	rig_check_guests(rig, "quarantined");
}

/* ---- from some write on everything fails ---- */

/* What becomes of it; done: there was no such write. */
static JobState run_broken(void (*arrange)(Rig *rig), const JobRequest *request, unsigned from)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();
	JobState state;

	arrange(rig);
	rig_note_world(rig);
	rig->fake.broken_from = from;
	state = rig_try(rig, request)->state;
	rig_check_guests(rig, "broken");
	if (state == JOB_INCOMPLETE) {
		rig_expect(rig, state, GPUPASS_ERROR_ROLLBACK_FAILED,
			   "State:  pair0 is quarantined: ");
		expect_refusal(rig);
	} else if (state == JOB_FAILED) {
		rig_check_noted(rig);
	}
	return state;
}

/* fault 15 */
TEST(what_cannot_be_put_back_is_quarantined)
{
	const struct {
		void (*arrange)(Rig *rig);
		JobRequest request;
		unsigned incomplete; /* of the points at which everything begins to fail */
	} rows[] = {
		{ rig_shut_off, ASSIGN, 2 },
		/* When the definition fails last, the live part cannot be undone, either. */
		{ rig_running, ASSIGN, 6 },
		{ rig_assigned, RELEASE, 2 },
		{ rig_assigned_live, RELEASE, 7 },
		{ rig_shut_off, BIND, 1 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		unsigned from = 1, incomplete = 0;
		JobState end;

		do {
			end = run_broken(rows[i].arrange, &rows[i].request, from++);
			incomplete += end == JOB_INCOMPLETE;
		} while (end != JOB_DONE);
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

	rig_running(rig);
	fake_fail(&rig->fake, &third_attach);
	fake_fail(&rig->fake, &last_detach);
	rig_sticks(rig, &ASSIGN, GPUPASS_ERROR_ROLLBACK_FAILED, "it fails as");
	rig_expect_devices(rig, "vm42", 0, 1);
	assert_true(rig_is_bound(rig));
}

/* libvirt went away: whether it attaches still is not known, so nothing leaves vfio-pci. */
ON_A_RIG(what_may_be_attached_yet_stays_on_vfio)
{
	rig_running(rig);
	rig->fake.broken_from = 2; /* the first attach */
	rig_sticks(rig, &ASSIGN, GPUPASS_ERROR_ROLLBACK_FAILED, "it fails as");
	assert_true(rig_is_bound(rig));
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 1);
}

static void others_take_it(Rig *rig)
{
	_cleanup_free_ char *hostdev = domain_xml_hostdev("other", 0, &(Bdf){ .bus = 0x41 });
	FakeDomain *domain = fake_domain(&rig->fake, "vm77");
	char *live = fake_xml_attach(domain->live_xml, hostdev);

	free(domain->live_xml);
	domain->live_xml = live;
}

ON_A_RIG(what_another_guest_has_taken_is_not_taken_from_vfio)
{
	rig_shut_off(rig);
	fake_add_domain(&rig->fake, "vm77", "q35-eight-ports", "q35-eight-ports-live");
	fake_fail(&rig->fake, &define_refused);
	rig_at(rig, FAKE_DEFINE, 1, others_take_it);
	rig_sticks(rig, &ASSIGN, GPUPASS_ERROR_ROLLBACK_FAILED, "a guest runs on 0000:41:00.0");
	assert_true(rig_is_on(rig, "0000:41:00.0", "vfio-pci", "vfio-pci"));
}

/* What libvirt added of its own goes, too, as long as nobody else has edited the domain. */
ON_A_RIG(an_undo_takes_out_what_libvirt_added)
{
	rig_shut_off(rig);
	rig_note_world(rig);
	rig->fake.adds_ports = true;
	fail_at_verify(rig, &ASSIGN, NULL);
	assert_int_equal(rig->fake.calls[FAKE_DEFINE], 2);
	rig_check_noted(rig);
}

/* Three of its four functions: what it did not have it does not get by an undo. */
ON_A_RIG(an_undo_attaches_only_what_the_guest_had)
{
	rig_assigned_live(rig);
	fake_unplug_live(&rig->fake, "vm42", "0000:61:00.1");
	fake_fail(&rig->fake, &define_refused);
	rig_fails(rig, &RELEASE, GPUPASS_ERROR_DEFINE_FAILED, "");
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
	rig_shut_off(rig);
	fake_fail_move(&rig->fake, &hangs_off_nvidia);
	rig_sticks(rig, &ASSIGN, GPUPASS_ERROR_UNBIND_TIMEOUT,
		   "worker 4711 still waits in the kernel to move 0000:61:00.0");
	assert_non_null(
		strstr(rig->last.message, "0000:61:00.0 to vfio-pci did not end within 30 s"));
	assert_true(rig_is_on(rig, "0000:61:00.0", "", "vfio-pci"));
	assert_true(rig_is_on(rig, "0000:61:00.1", "snd_hda_intel", ""));
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
	assert_true(rig_is_on(rig, "0000:41:00.1", "snd_hda_intel", ""));
	expect_refusal(rig);
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
		bool off_nvidia = rows[i].off_nvidia;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		(off_nvidia ? rig_shut_off : rig_assigned)(rig);
		rig->fake.nvidia_version = rows[i].version;
		fake_fail_move(&rig->fake, off_nvidia ? &hangs_off_nvidia : &hangs_off_vfio);
		rig_try(rig, off_nvidia ? &ASSIGN : &RELEASE);
		if (!strstr(rig->last.remedy, rows[i].has) ||
		    strstr(rig->last.remedy, rows[i].lacks))
			fail_msg("row %zu: %s", i, rig->last.remedy);
		assert_non_null(strstr(rig->last.remedy, "QUARANTINE"));
	}
}

/* fault 5 */
TEST(a_restore_that_never_ends_gives_nothing_back_to_the_domain)
{
	for (int live = 0; live <= 1; live++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		(live ? rig_assigned_live : rig_assigned)(rig);
		fake_fail_move(&rig->fake, &hangs_off_vfio);
		rig_sticks(rig, &RELEASE, GPUPASS_ERROR_UNBIND_TIMEOUT,
			   "worker 4711 still waits in the kernel to move 0000:41:00.0");
		/* All of the group is out of the domain, and on vfio-pci but for the one. */
		rig_expect_devices(rig, "vm42", 0, 0);
		assert_int_equal(rig->fake.calls[FAKE_ATTACH], 0);
		assert_true(rig_is_on(rig, "0000:41:00.0", "", ""));
		assert_true(rig_is_on(rig, "0000:61:00.0", "vfio-pci", "vfio-pci"));
		assert_true(rig_is_on(rig, "0000:61:00.1", "vfio-pci", "vfio-pci"));
		/* The wish stands: the release has not come about. */
		assert_true(rig_is_recorded(rig));
		expect_refusal(rig);
	}
}

/* faults 5, 15 */
ON_A_RIG(an_undo_that_never_ends_quarantines)
{
	rig_shut_off(rig);
	fake_fail(&rig->fake, &define_refused);
	fake_fail_move(&rig->fake, &hangs_off_vfio);
	rig_sticks(rig, &ASSIGN, GPUPASS_ERROR_ROLLBACK_FAILED,
		   "moving 0000:41:00.0 to nvidia did not end");
	assert_true(rig_is_on(rig, "0000:61:00.0", "nvidia", ""));
	expect_refusal(rig);
}

/* ---- others interfere ---- */

static void others_edit_it(Rig *rig)
{
	fake_retitle(&rig->fake, "vm42", "by hand");
}

static void others_take_it_out(Rig *rig)
{
	fake_redefine(&rig->fake, "vm42", "q35");
}

/* What it must be in the end: as before, with the others' edit. */
TEST(an_undo_keeps_what_others_edited_meanwhile)
{
	for (int released = 0; released <= 1; released++) {
		_cleanup_(rig_freep) Rig *rig = rig_new(), *like = rig_new();
		_cleanup_free_ char *before = NULL;

		(released ? rig_assigned : rig_shut_off)(rig);
		(released ? rig_assigned : rig_shut_off)(like);
		others_edit_it(like);
		before = fake_world(&like->fake, rig->store.records.dir_fd);
		fail_at_verify(rig, released ? &RELEASE : &ASSIGN, others_edit_it);
		rig_check_world(rig, before, released ? "release" : "assign");
	}
}

ON_A_RIG(what_others_took_out_meanwhile_needs_no_undo)
{
	rig_shut_off(rig);
	rig_note_world(rig);
	fail_at_verify(rig, &ASSIGN, others_take_it_out);
	assert_int_equal(rig->fake.calls[FAKE_DEFINE], 1);
	rig_check_noted(rig);
}

static void others_start_it(Rig *rig)
{
	fake_start(&rig->fake, "vm42");
}

/* Between the preflight and the restore: the definition still had the group. */
ON_A_RIG(a_domain_started_during_its_release_keeps_its_functions)
{
	rig_assigned(rig);
	rig_at(rig, FAKE_DEFINE, 1, others_start_it);
	rig_try(rig, &RELEASE);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_HOST_IN_USE, "");
	assert_true(rig_is_bound(rig));
	rig_expect_devices(rig, "vm42", 4, 4);
	rig_check_guests(rig, "started meanwhile");
}

static void one_vanishes(Rig *rig)
{
	fake_vanish(&rig->fake, "0000:61:00.0");
}

/* fault 12 */
ON_A_RIG(a_function_that_vanishes_does_not_keep_the_others_from_going_back)
{
	rig_shut_off(rig);
	fake_fail(&rig->fake, &define_refused);
	rig_at(rig, FAKE_DEFINE, 1, one_vanishes);
	rig_sticks(rig, &ASSIGN, GPUPASS_ERROR_ROLLBACK_FAILED,
		   "0000:61:00.0 could not be moved to nvidia");
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
	assert_true(rig_is_on(rig, "0000:41:00.1", "snd_hda_intel", ""));
	assert_true(rig_is_on(rig, "0000:61:00.1", "snd_hda_intel", ""));
}

/* ---- the host uses what it got back ---- */

#define USES "the host uses it again: "

static void a_process_opens_it(Rig *rig)
{
	fake_hold(&rig->fake, "0000:41:00.0", "python3");
}

static void its_port_gets_an_address(Rig *rig)
{
	rig->fake.nic_address = "10.0.0.5/24";
}

static void assigned_with_nics(Rig *rig)
{
	rig_with_nics(rig);
	rig_assigned(rig);
}

static void it_is_mounted(Rig *rig)
{
	rig->fake.nvme.mount = "/srv";
}

static void assigned_with_an_nvme(Rig *rig)
{
	rig_unready(rig);
	rig_must(rig, &PREPARE);
	rig_assigned(rig);
}

/* Its verify finds the drivers back, and the host is quick; then the job is cancelled. */
static void cancel_its_release(Rig *rig, void (*uses)(Rig *rig), const char *reason)
{
	rig_at(rig, FAKE_INSPECT, 3, uses);
	rig->cancel_at = 5;
	rig_sticks(rig, &RELEASE, GPUPASS_ERROR_ROLLBACK_FAILED, reason);
	rig_expect_steps(rig, "preflight: done, define: done, reset: done, give back: done, "
			      "verify: done, give back: undo-failed");
}

/* fault 63 */
TEST(what_the_host_uses_again_is_not_unbound_and_its_quarantine_can_be_lifted)
{
	static const struct {
		void (*arrange)(Rig *rig);
		void (*uses)(Rig *rig);
		const char *reason;
	} rows[] = {
		{ rig_assigned, a_process_opens_it,
		  USES "0000:41:00.0: /dev/nvidia0 by python3 (pid 4242)" },
		{ assigned_with_nics, its_port_gets_an_address,
		  USES "0000:e2:00.0: eth5 has the address 10.0.0.5/24" },
		{ assigned_with_an_nvme, it_is_mounted,
		  USES NVME ": /dev/nvme0n1 is mounted at /srv" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rows[i].arrange(rig);
		cancel_its_release(rig, rows[i].uses, rows[i].reason);
		assert_string_equal(rig->last.remedy, "stop that; then: gpupass clear pair0");
		assert_int_equal(rig->fake.calls[FAKE_MOVE], 1);
		assert_true(rig_is_home(rig));
		assert_true(rig_is_recorded(rig));
		assert_int_equal(quarantine_lift(&rig->place, "pair0", NULL), 0);
		rig->cancel_at = 0;
		rig_let_cancel(rig);
		fake_watch(&rig->fake);
		rig_must(rig, &RELEASE);
		assert_false(rig_is_recorded(rig));
	}
}

/* fault 63 */
/* The daemon was killed behind the restore. */
ON_A_RIG(recovery_does_not_unbind_what_the_host_uses_again)
{
	_cleanup_(journal_job_freep) JournalJob *log = NULL;
	_cleanup_free_ char *why = NULL;
	const Assignment *record;
	const Plan *plan;

	rig_assigned(rig);
	plan = rig_plan(rig, &RELEASE);
	record = assignments_find_same(rig->planned->assignments, plan->assignment);
	assert_int_equal(journal_begin(&rig->journal, 7, plan, record, NULL, plan->n_steps, &log),
			 0);
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_set_driver(&rig->fake, pair0_bdfs[i], i % 2 ? "snd_hda_intel" : "nvidia",
				NULL);
	a_process_opens_it(rig);
	rig_new_claims(rig);
	rig_recover(rig, RECOVERED_QUARANTINED, NULL);
	why = rig_quarantined(rig);
	assert_non_null(strstr(why, USES "0000:41:00.0: /dev/nvidia0"));
	assert_true(rig_is_home(rig));
	assert_true(rig_is_recorded(rig));
	assert_int_equal(fake_write_calls(&rig->fake), 0);
}
