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

/* ret_calls: that the run made. */
static JobState run(Rig *rig, const JobRequest *request, LibcFault kind, unsigned nth,
		    bool all_later, unsigned *ret_calls)
{
	JobState state;
	Outcome outcome;

	libc_arm(kind, nth, all_later);
	outcome = rig_run(rig, request);
	*ret_calls = libc_disarm();
	state = outcome.state;
	outcome_clear(&outcome);
	return state;
}

/* ---- scenarios ---- */

typedef struct Scenario {
	const char *name;
	void (*setup)(Rig *rig);
	JobRequest request;
} Scenario;

static const Scenario scenarios[] = {
	{ "assign cold", rig_shut_off, RIG_ASSIGN },
	{ "assign live", rig_running, RIG_ASSIGN },
	{ "release cold", rig_assigned, RIG_RELEASE },
	{ "bind", rig_shut_off, RIG_BIND },
};

static unsigned count_files(int dir_fd, const char *suffix)
{
	_cleanup_strv_ char **names = NULL;

	assert_int_equal(dir_list(dir_fd, suffix, &names), 0);
	return (unsigned)strv_length(names);
}

static void check_failed(Rig *rig, const Scenario *scenario, const char *before, const char *what)
{
	rig_check_world(rig, before, what);
	if (rig_count_open(rig) > 0)
		fail_msg("%s: its journal is left open", what);
	/* Nothing is left behind that would stand in the way of another try. */
	rig_must(rig, &scenario->request);
}

/* Kept from everybody, and nobody harmed; after a restart, too, unless nothing is half done. */
static void check_quarantined(Rig *rig, const Scenario *scenario, const char *what)
{
	const JobRequest request = bind_request("pair0");
	Outcome outcome;

	rig_check_guests(rig, what);
	outcome = rig_run(rig, &request);
	if (outcome.state != JOB_FAILED || outcome.error != GPUPASS_ERROR_QUARANTINED)
		fail_msg("%s: it is not kept apart: %s", what, str_or_empty(outcome.message));
	outcome_clear(&outcome);
	if (rig_count_open(rig) > 0 || count_files(rig->quarantine.dir_fd, ".json") > 0)
		return;
	claims_free(rig->claims);
	rig->claims = claims_new();
	rig->place.claims = rig->claims;
	outcome = rig_run(rig, &scenario->request);
	if (outcome.state != JOB_DONE && (scenario->request.operation != OPERATION_RELEASE ||
					  outcome.error != GPUPASS_ERROR_NOT_ASSIGNED))
		fail_msg("%s: a restart forgets a half of it: %s", what, outcome.message);
	outcome_clear(&outcome);
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

static void end_beside(const Rig *rig, Beside *beside)
{
	_cleanup_free_ char *audit = strf("%s/audit", rig->state_directory);

	for (unsigned i = 1; i < 9; i++) {
		_cleanup_free_ char *name = strf("%u.log", i);

		unlinkat(trail_dir_fd(beside->trail), name, 0);
	}
	rmdir(audit);
	trail_free(beside->trail);
	fence_store_close(&beside->fence);
}

/* Returns how many such calls the run made. */
static unsigned run_with(const Scenario *scenario, LibcFault kind, unsigned nth, bool all_later,
			 Tally *tally)
{
	_cleanup_free_ char *before = NULL;
	_cleanup_free_ char *what = strf("%s, %s %u fails%s", scenario->name, libc_fault_name(kind),
					 nth, all_later ? " and all later" : "");
	Rig *rig = rig_new();
	unsigned calls;
	Beside beside;
	JobState state;

	scenario->setup(rig);
	begin_beside(rig, &beside);
	before = rig_world(rig);
	state = run(rig, &scenario->request, kind, nth, all_later, &calls);
	if (state == JOB_INCOMPLETE) {
		check_quarantined(rig, scenario, what);
		tally->quarantined++;
	} else if (state == JOB_FAILED) {
		check_failed(rig, scenario, before, what);
		tally->failed++;
	} else {
		_cleanup_free_ char *after = rig_world(rig);

		/* It was not needed: told to nobody, or only for a better message. */
		rig_check_guests(rig, what);
		if (str_equal(before, after))
			fail_msg("%s: done, and nothing has changed", what);
		tally->done++;
	}
	end_beside(rig, &beside);
	rig_free(rig);
	return calls;
}

static void run_all(LibcFault kind, bool all_later, unsigned stride)
{
	for (size_t i = 0; i < ELEMENTS(scenarios); i++) {
		Tally tally = { 0 };
		unsigned calls = run_with(&scenarios[i], kind, 0, false, &tally);

		for (unsigned nth = 1; nth <= calls; nth += stride)
			run_with(&scenarios[i], kind, nth, all_later, &tally);
		print_message("%s, %s%s: %u calls, %u done, %u failed, %u quarantined\n",
			      scenarios[i].name, libc_fault_name(kind),
			      all_later ? " for good" : "", calls, tally.done, tally.failed,
			      tally.quarantined);
		assert_true(tally.failed > 0);
		/* What fails once can be undone. */
		if (!all_later)
			assert_int_equal(tally.quarantined, 0);
	}
}

/* faults 40, 44 */
TEST(a_missing_descriptor_leaves_it_so)
{
	run_all(LIBC_OPEN, false, 1);
	run_all(LIBC_OPEN, true, 1);
}

/* fault 38 */
TEST(a_full_disk_leaves_it_so)
{
	run_all(LIBC_WRITE, false, 1);
	run_all(LIBC_WRITE, true, 1);
}

/* fault 39 */
TEST(a_disk_that_breaks_leaves_it_so)
{
	run_all(LIBC_SYNC, false, 1);
	run_all(LIBC_SYNC, true, 1);
	run_all(LIBC_RENAME, false, 1);
}

/* fault 39 */
/* fsync(2) tells of a lost page once only: the next one says yes. */
TEST(after_a_failed_sync_nothing_is_begun_until_new_writes_last)
{
	/* Up to the nth that there is not. */
	for (unsigned nth = 1, calls = 1; nth <= calls; nth++) {
		_cleanup_free_ char *before = NULL, *what = strf("sync %u", nth), *why = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();
		Outcome outcome;

		rig->place.disk = disk_watch_new();
		rig_shut_off(rig);
		before = rig_world(rig);
		run(rig, &scenarios[0].request, LIBC_SYNC, nth, false, &calls);
		why = disk_watch_reason(rig->place.disk);
		if (nth <= calls &&
		    (!why || !strstr(why, "could not be written: Input/output error")))
			fail_msg("%s: the disk is taken for well: %s", what, str_or_empty(why));
		if (nth == 1) {
			/* Nobody has the group, which was not even begun to be bound. */
			libc_arm(LIBC_SYNC, 1, true);
			outcome = rig_run(rig, &scenarios[0].request);
			libc_disarm();
			rig_expect_failure(&outcome, GPUPASS_ERROR_STATE_READ_ONLY,
					   "State:  nothing was changed");
			rig_check_world(rig, before, what);
			rig_must(rig, &scenarios[0].request);
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
