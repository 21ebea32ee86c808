/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks: what the picture shows after one, who is told, and what is left of one that failed. And
 * looks that cannot be begun at once, because threads have run out. Linked with
 * --wrap=pthread_create, which fails on request.
 */
#include "rig/test.h"

#include <pthread.h>
#include <string.h>

#include "manager/manager-rig.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/text.h"

static bool no_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*work)(void *), void *userdata);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*work)(void *), void *userdata);

/* As the kernel's, when the control group's pids.max is reached. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*work)(void *), void *userdata)
{
	if (no_threads)
		return EAGAIN;
	return __real_pthread_create(thread, attributes, work, userdata);
}

static void look(ManagerRig *rig)
{
	Caller caller = { 0 };

	manager_rescan(rig->manager, caller_done, &caller);
	caller_wait(rig, &caller);
}

/* The next of this kind fails. */
static void fail_next(ManagerRig *rig, FakeOp op)
{
	fake_watch(&rig->rig->fake);
	fake_fail(&rig->rig->fake, &(FakeFault){ .op = op,
						 .nth = 1,
						 .error = op == FAKE_SCAN ? -EIO : 0,
						 .problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE });
}

ON_A_BARE_MANAGER(a_look_that_no_thread_can_be_started_for_is_made_once_one_can)
{
	Caller first = { 0 }, second = { 0 };

	no_threads = true;
	manager_rescan(rig->manager, caller_done, &first);
	manager_refresh(rig->manager, caller_done, &second);
	mailbox_dispatch(rig->mailbox);
	assert_int_equal(first.told + second.told, 0);
	no_threads = false;
	manager_rig_settle(rig);
	assert_int_equal(first.told, 1);
	assert_int_equal(second.told, 1);
}

static void tell_rig(void *userdata)
{
	ManagerRig *rig = userdata;

	strv_append(&rig->told, "caller");
	rig->has_ended = true;
}

ON_A_BARE_MANAGER(who_waits_for_a_look_hears_of_it_after_the_listener)
{
	manager_rescan(rig->manager, tell_rig, rig);
	assert_null(rig->told);
	rig_wait_for(rig->mailbox, &rig->has_ended);
	assert_string_equal(rig->told[0], "objects");
	assert_string_equal(rig->told[strv_length(rig->told) - 1], "caller");
	assert_non_null(manager_inventory(rig->manager));
}

/* What a test's own hooks were called for. */
static unsigned scans, domains;

static void on_scanned(_unused_ Manager *m)
{
	scans++;
}

static void on_domains_read(_unused_ Manager *m)
{
	domains++;
}

static void on_seen(_unused_ void *userdata)
{
}

static void on_drift_found(_unused_ Manager *m)
{
}

static void count_looks(ManagerRig *rig)
{
	static const ManagerHooks hooks = { .scanned = on_scanned,
					    .domains_read = on_domains_read,
					    .drift_found = on_drift_found };

	scans = domains = 0;
	rig->manager->hooks = &hooks;
}

ON_A_BARE_MANAGER(each_look_calls_its_hook_once_also_when_it_failed)
{
	count_looks(rig);
	look(rig);
	assert_int_equal(scans, 1);
	assert_int_equal(domains, 0);
	manager_libvirt_changed(rig->manager, true);
	manager_rig_settle(rig);
	assert_int_equal(domains, 1);
	fail_next(rig, FAKE_SCAN);
	look(rig);
	assert_int_equal(scans, 2);
}

ON_A_BARE_MANAGER(after_a_scan_that_failed_the_picture_stays_and_says_so)
{
	const Inventory *before;

	look(rig);
	before = manager_inventory(rig->manager);
	fail_next(rig, FAKE_SCAN);
	look(rig);
	assert_ptr_equal(manager_inventory(rig->manager), before);
	assert_true(
		manager_rig_notes(rig, "the last scan of this host failed: Input/output error"));
	look(rig);
	assert_ptr_not_equal(manager_inventory(rig->manager), before);
	assert_false(manager_rig_notes(rig, "the last scan of this host failed"));
}

/* Better not known than old. */
ON_A_BARE_MANAGER(domains_that_cannot_be_read_are_not_known)
{
	fake_add_domain(&rig->rig->fake, "vm42", "q35", NULL);
	manager_rig_connect(rig);
	assert_non_null(manager_uses(rig->manager));
	fail_next(rig, FAKE_USES);
	manager_rig_look(rig);
	assert_null(manager_uses(rig->manager));
	assert_non_null(manager_inventory(rig->manager));
	assert_true(manager_rig_notes(rig, "libvirt's domains cannot be read, so nothing can be "
					   "assigned or released"));
	manager_rig_look(rig);
	assert_non_null(manager_uses(rig->manager));
	assert_false(manager_rig_notes(rig, "libvirt"));
	/* It went: likewise, and at once. */
	manager_rig_forget_told(rig);
	manager_libvirt_changed(rig->manager, false);
	assert_null(manager_uses(rig->manager));
	assert_true(manager_rig_was_told(rig, "objects"));
	assert_true(manager_rig_notes(rig, "libvirt does not answer"));
}

/* ---- lost events ---- */

static bool has_a_board(const ManagerRig *rig)
{
	size_t at = 0;

	return domain_uses_holding(manager_uses(rig->manager), &(Bdf){ .bus = 0x41 }, &at);
}

/* LookIntervalSec= brings it. */
ON_A_BARE_MANAGER(what_no_event_told_is_in_the_picture_after_the_daemons_own_look)
{
	fake_add_domain(&rig->rig->fake, "vm42", "q35", NULL);
	manager_rig_connect(rig);
	rig->rig->fake.silent = true;
	fake_attach_to_definition(&rig->rig->fake, "vm42", "0000:41:00.0");
	manager_libvirt_changed(rig->manager, true); /* by the event of another */
	manager_rig_settle(rig);
	assert_false(has_a_board(rig));
	manager_rig_look(rig);
	assert_true(has_a_board(rig));
}

/* Nor does the look after a job that was about functions. */
ON_A_BARE_MANAGER(of_all_domains_only_the_daemons_own_look_reads_each)
{
	static const Bdf changed = { .bus = 0x41 };

	manager_rig_make_ready(rig);
	fake_watch(&rig->rig->fake);
	manager_libvirt_changed(rig->manager, true);
	manager_rig_settle(rig);
	manager_refresh_changed(rig->manager, &changed, 1, on_seen, NULL);
	manager_rig_settle(rig);
	manager_refresh_changed(rig->manager, NULL, 0, on_seen, NULL);
	manager_rig_settle(rig);
	assert_int_equal(rig->rig->fake.calls[FAKE_USES], 3);
	assert_int_equal(rig->rig->fake.fresh_uses, 0);
	manager_rig_look(rig);
	assert_int_equal(rig->rig->fake.fresh_uses, 1);
}

/*
 * Of those who ask while a look runs, none is told by that one: it may be older than their
 * question. A start settles with the last look that was asked for.
 */
ON_A_BARE_MANAGER(who_asks_during_a_look_is_told_by_the_next)
{
	Caller first = { 0 }, second = { 0 }, third = { 0 }, settled = { 0 };

	manager_rescan(rig->manager, caller_done, &first);
	fake_watch(&rig->rig->fake);
	manager_rescan(rig->manager, caller_done, &second);
	manager_rescan(rig->manager, caller_done, &third);
	manager_settle(rig->manager, caller_done, &settled);
	caller_wait(rig, &first);
	assert_int_equal(second.told + settled.told, 0);
	rig_wait_for(rig->mailbox, &settled.was_told);
	manager_rig_settle(rig);
	assert_int_equal(first.told, 1);
	assert_int_equal(second.told, 1);
	assert_int_equal(third.told, 1);
	assert_int_equal(settled.told, 1);
}

/* A start: the looks that it has asked for are all that there is to wait for. */
ON_A_BARE_MANAGER(who_lets_a_start_settle_makes_no_look_of_their_own)
{
	Caller first = { 0 }, later = { 0 };

	count_looks(rig);
	manager_rescan(rig->manager, NULL, NULL);
	manager_libvirt_changed(rig->manager, true);
	manager_settle(rig->manager, caller_done, &first);
	assert_int_equal(first.told, 0);
	rig_wait_for(rig->mailbox, &first.was_told);
	assert_non_null(manager_inventory(rig->manager));
	assert_non_null(manager_uses(rig->manager));
	manager_settle(rig->manager, caller_done, &later);
	manager_rig_settle(rig);
	assert_int_equal(first.told, 1);
	assert_int_equal(later.told, 1);
	assert_int_equal(scans, 1);
	assert_int_equal(domains, 1);
}

static unsigned changed_scans;

/* A network card has come, on a bus of its own. */
static int scan_card(Host *host _unused_, const PciSnapshot *before, const Bdf *changed, size_t n,
		     PciSnapshot **ret)
{
	PciFunction *card = calloc(1, sizeof(*card));

	assert_non_null(card);
	assert_int_equal(n, 1);
	*card = (PciFunction){
		.bdf = *changed,
		.vendor = 0x15b3,
		.class_code = 0x010601,
		.iommu_group = IOMMU_GROUP_NONE,
		.numa_node = NUMA_NODE_NONE,
	};
	changed_scans++;
	*ret = pci_snapshot_replace(before, changed, 1, card, 1);
	return 0;
}

static const Bdf card_bdf = { .bus = 0xf1 };

static bool knows_card(const ManagerRig *rig)
{
	return pci_snapshot_find(manager_inventory(rig->manager)->snapshot, &card_bdf) != NULL;
}

static void look_before(ManagerRig *rig)
{
	look(rig);
	manager_rig_settle(rig);
	manager_rig_forget_told(rig);
}

/* The kernel tells of the card so often, at once. */
static void tell_of_card(ManagerRig *rig, unsigned n)
{
	changed_scans = 0;
	rig->ops.scan_changed = scan_card;
	while (n-- > 0)
		manager_rescan_changed(rig->manager, &card_bdf, 1);
}

ON_A_MANAGER(a_card_that_concerns_no_gpu_is_known_and_told_to_nobody)
{
	look_before(rig);
	tell_of_card(rig, 1);
	manager_rig_settle(rig);
	assert_int_equal(changed_scans, 1);
	assert_true(knows_card(rig));
	assert_null(rig->told);
	/* The groups have the same functions as before, which must still be there. */
	assert_non_null(manager_rig_group(rig, "pair0")->gpus[0]->lead->driver);
}

ON_A_MANAGER(a_change_of_a_gpu_makes_the_picture_anew)
{
	Bdf gpu;

	look_before(rig);
	gpu = manager_rig_group(rig, "pair0")->gpus[0]->lead->bdf;
	fake_set_driver(&rig->rig->fake, BDF_TEXT(&gpu), NULL, NULL);
	manager_rescan_changed(rig->manager, &gpu, 1);
	manager_rig_settle(rig);
	assert_int_equal(rig->rig->fake.changed_scans, 1);
	assert_true(manager_rig_was_told(rig, "objects"));
	assert_null(manager_rig_group(rig, "pair0")->gpus[0]->lead->driver);
}

/* The fake host has no card, so that a look at everything does not find it. */
ON_A_MANAGER(who_asks_for_everything_does_not_get_some_of_it)
{
	look_before(rig);
	tell_of_card(rig, 2);
	look(rig);
	manager_rig_settle(rig);
	assert_int_equal(changed_scans, 1);
	assert_false(knows_card(rig));
}

/* Before the first look there is nothing that could be the same as before. */
ON_A_BARE_MANAGER(the_first_look_is_at_everything)
{
	assert_null(manager_inventory(rig->manager));
	tell_of_card(rig, 1);
	manager_rig_settle(rig);
	assert_int_equal(changed_scans, 0);
	assert_non_null(manager_inventory(rig->manager));
}

/* No event tells of a GPU that is lost, and at rest no timer looks for it. */
ON_A_BARE_MANAGER(health_is_read_again_for_who_asks_once_it_is_a_minute_old)
{
	static const struct {
		unsigned seconds;
		bool again;
	} rows[] = { { 0, false }, { 59, false }, { 61, true } };

	look(rig);
	manager_asked(rig->manager);
	assert_false(rig->manager->health_running);
	manager_look_at_health(rig->manager);
	manager_rig_settle(rig);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		rig->manager->health_usec -= rows[i].seconds * USEC_PER_SEC;
		manager_asked(rig->manager);
		if (rig->manager->health_running != rows[i].again)
			fail_msg("after %u s", rows[i].seconds);
		manager_rig_settle(rig);
		rig->manager->health_usec = now_monotonic();
	}
}

ON_A_READY_MANAGER(a_job_that_is_refused_with_nothing_in_hand_costs_no_look_of_ours)
{
	const JobRequest assign = assign_request("vm42", "nosuch");

	fake_watch(&rig->rig->fake);
	assert_int_equal(manager_rig_run(rig, &assign), JOB_FAILED);
	manager_rig_settle(rig);
	/* Its own: the second with all domains read. */
	assert_int_equal(rig->rig->fake.calls[FAKE_SCAN], 2);
	assert_true(manager_rig_was_told(rig, "ended 1 failed"));
}
