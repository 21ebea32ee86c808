/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors run out, the disk is full or breaks, at every call of a job: it fails, and the world
 * is as before; or it is done, and the world is as after; or its group is quarantined, which is on
 * disk. Once only, and from some call on for good. The model of the machine makes no such call.
 */
#include "rig/test.h"

#include <string.h>
#include <unistd.h>

#include "rig/job-rig.h"
#include "rig/libc-faults.h"
#include "rig/temp-dir.h"
#include "util/file.h"
#include "util/text.h"

#define N_RUN 5 /* of the scenarios: reconcile, which is next, renames nothing */

/* ret_calls: that the run made. */
static JobState run(Rig *rig, const JobRequest *request, LibcFault kind, unsigned nth,
		    bool all_later, unsigned *ret_calls)
{
	libc_arm(kind, nth, all_later);
	rig_try(rig, request);
	*ret_calls = libc_disarm();
	return rig->last.state;
}

/* Kept from everybody, and nobody harmed; after a restart, too, unless nothing is half done. */
static void check_quarantined(Rig *rig, const JobRequest *request)
{
	_cleanup_strv_ char **files = NULL;

	rig_check_guests(rig, rig->row);
	rig_try(rig, &BIND);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_QUARANTINED, "");
	assert_int_equal(dir_list(rig->quarantine.dir_fd, ".json", &files), 0);
	if (rig_count_open(rig) > 0 || files)
		return;
	rig_new_claims(rig);
	rig_try(rig, request);
	if (rig->last.state != JOB_DONE && (request->plan.operation != OPERATION_RELEASE ||
					    rig->last.error != GPUPASS_ERROR_NOT_ASSIGNED))
		fail_msg("%s: a restart forgets a half of it: %s", rig->row, rig->last.message);
}

/* What became of all runs of a kind. */
typedef struct Tally {
	unsigned done, failed, quarantined;
} Tally;

/* The fence and the trail of a daemon that has looked once. */
typedef struct Beside {
	FenceStore fence;
	Trail *trail;
} Beside;

static void begin_beside(Rig *rig, Beside *beside)
{
	_cleanup_free_ char *audit = strf("%s/audit", rig->state_directory);
	const Fence nothing = { 0 };
	AuditRecord record = AUDIT_RECORD_EMPTY;

	assert_int_equal(fence_store_open(rig->state_directory, &beside->fence), 0);
	assert_int_equal(fence_store_update(&beside->fence, &nothing, NULL, 0, 1), 0);
	beside->trail = trail_open(audit, &TRAIL_LIMITS_DEFAULT);
	assert_int_equal(trail_start(beside->trail, NULL, &(TrailListener){ 0 }), 0);
	record.kind = AUDIT_START;
	trail_add(beside->trail, &record, NULL);
	assert_true(trail_flush(beside->trail, 60000000));
	rig->place.fence = &beside->fence;
	rig->place.trail = beside->trail;
}

/* Returns how many such calls the run made. */
static unsigned run_with(const Scenario *scenario, LibcFault kind, unsigned nth, bool all_later,
			 Tally *tally)
{
	_cleanup_free_ char *what = strf("%s, %s %u fails%s", scenario->name, libc_fault_name(kind),
					 nth, all_later ? " and all later" : "");
	_cleanup_(rig_freep) Rig *rig = rig_for(scenario);
	unsigned calls;
	Beside beside;
	JobState state;

	rig->row = what;
	begin_beside(rig, &beside);
	rig_note_world(rig);
	state = run(rig, &scenario->request, kind, nth, all_later, &calls);
	if (state == JOB_INCOMPLETE) {
		check_quarantined(rig, &scenario->request);
		tally->quarantined++;
	} else if (state == JOB_FAILED) {
		rig_check_noted(rig);
		rig_check_nothing_open(rig);
		/* Nothing is left behind that would stand in the way of another try. */
		rig_must(rig, &scenario->request);
		tally->failed++;
	} else {
		_cleanup_free_ char *after = rig_world(rig);

		/* It was not needed: told to nobody, or only for a better message. */
		rig_check_guests(rig, what);
		if (str_equal(rig->noted, after))
			fail_msg("%s: done, and nothing has changed", what);
		tally->done++;
	}
	trail_free(beside.trail);
	fence_store_close(&beside.fence);
	return calls;
}

static void run_scenario(const Scenario *scenario, LibcFault kind, bool all_later)
{
	Tally tally = { 0 };
	unsigned calls = run_with(scenario, kind, 0, false, &tally);

	for (unsigned nth = 1; nth <= calls; nth++)
		run_with(scenario, kind, nth, all_later, &tally);
	print_message("%s, %s%s: %u calls, %u done, %u failed, %u quarantined\n", scenario->name,
		      libc_fault_name(kind), all_later ? " for good" : "", calls, tally.done,
		      tally.failed, tally.quarantined);
	assert_true(tally.failed > 0);
	/* What fails once can be undone. */
	if (!all_later)
		assert_int_equal(tally.quarantined, 0);
}

static void run_all(LibcFault kind, bool all_later)
{
	for (size_t i = 0; i < N_RUN; i++)
		run_scenario(&scenarios[i], kind, all_later);
}

/* faults 40, 44 */
TEST(a_missing_descriptor_leaves_it_so)
{
	run_all(LIBC_OPEN, false);
	run_all(LIBC_OPEN, true);
}

/* fault 38 */
TEST(a_full_disk_leaves_it_so)
{
	run_all(LIBC_WRITE, false);
	run_all(LIBC_WRITE, true);
}

/* fault 39 */
TEST(a_disk_that_breaks_leaves_it_so)
{
	run_all(LIBC_SYNC, false);
	run_all(LIBC_SYNC, true);
	run_all(LIBC_RENAME, false);
}

/* fault 39 */
/* fsync(2) tells of a lost page once only: the next one says yes. */
TEST(after_a_failed_sync_nothing_is_begun_until_new_writes_last)
{
	/* Up to the nth that there is not. */
	for (unsigned nth = 1, calls = 1; nth <= calls; nth++) {
		_cleanup_free_ char *why = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig->place.disk = disk_watch_new();
		rig_shut_off(rig);
		run(rig, &ASSIGN, LIBC_SYNC, nth, false, &calls);
		why = disk_watch_reason(rig->place.disk);
		if (nth <= calls &&
		    (!why || !strstr(why, "could not be written: Input/output error")))
			fail_msg("sync %u: the disk is taken for well: %s", nth, str_or_empty(why));
		if (nth == 1) {
			/* Nobody has the group, which was not even begun to be bound. */
			libc_arm(LIBC_SYNC, 1, true);
			rig_fails(rig, &ASSIGN, GPUPASS_ERROR_STATE_READ_ONLY,
				  "State:  nothing was changed");
			libc_disarm();
			rig_must(rig, &ASSIGN);
			assert_null(disk_watch_reason(rig->place.disk));
		}
		disk_watch_free(rig->place.disk);
	}
}

/* What a power cut brings back must refuse all that the new file refuses; the folder is synced, too,
 * where it may not. On an unsafe group a vGPU may start. */
TEST_WITH(a_fence_that_refuses_more_is_synced_with_its_folder, temp_dir_setup, temp_dir_teardown)
{
	static const struct {
		FenceState was, is;
		unsigned syncs;
	} rows[] = {
		{ FENCE_OPEN, FENCE_BUSY, 2 },	 { FENCE_UNSAFE, FENCE_BUSY, 2 },
		{ FENCE_OPEN, FENCE_UNSAFE, 2 }, { FENCE_BUSY, FENCE_OPEN, 1 },
		{ FENCE_BUSY, FENCE_UNSAFE, 1 }, { FENCE_QUARANTINED, FENCE_BUSY, 1 },
		{ FENCE_UNREAD, FENCE_OPEN, 1 },
	};
	const TempDir *dir = *state;

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		FenceFunction function = { .bdf = { .bus = 0x41 } };
		FenceGroup group = { .name = (char *)"pair0",
				     .functions = &function,
				     .n_functions = 1 };
		const Fence fence = { .groups = &group, .n_groups = 1 };
		_cleanup_(fence_store_close) FenceStore store;
		unsigned syncs;

		assert_int_equal(fence_store_open(dir->path, &store), 0);
		group.state = rows[i].was;
		group.reason = (char *)(rows[i].was == FENCE_OPEN ? NULL : "x");
		assert_int_equal(fence_store_update(&store, &fence, NULL, 0, 1), 0);
		group.state = rows[i].is;
		group.reason = (char *)(rows[i].is == FENCE_OPEN ? NULL : "x");
		libc_arm(LIBC_SYNC, 0, false);
		assert_int_equal(fence_store_update(&store, &fence, NULL, 0, 2), 0);
		syncs = libc_disarm();
		if (syncs != rows[i].syncs)
			fail_msg("row %zu: %u syncs", i, syncs);
	}
}
