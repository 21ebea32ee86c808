/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The audit trail: takes records from any thread, and writes them on a thread of its own, in their
 * order. A record that could not be written is counted, and the next one that can be says how many
 * are missing.
 *
 * All functions but trail_open() and trail_start() take NULL for a trail that is not kept (tests).
 */
#pragma once

#include "core/facts/inspection.h"
#include "store/caller.h"
#include "store/trail-files.h"

typedef struct Trail Trail;

typedef struct TrailListener {
	/* Called on the trail's thread, once a record is on disk. NULL: not called. */
	void (*written)(const AuditRecord *record, const LineHash *hash, void *userdata);
	/* The same thread; a record could not be written, and the one before could. */
	void (*failed)(int error, void *userdata);
	void *userdata;
} TrailListener;

/*
 * Opens DIRECTORY, and creates it. Reads nothing: lock trail_dir_fd() first, unless it is -1, and
 * the folder cannot be opened: then no record can be written.
 */
Trail *trail_open(const char *directory, const TrailLimits *limits);
int trail_dir_fd(const Trail *trail);
/* For tests, before the start. */
TrailFiles *trail_files(Trail *trail);
/* Finds the end of the trail, and starts its thread. boot_id: copied; NULL: not known. */
int trail_start(Trail *trail, const char *boot_id, const TrailListener *listener);
/* A line for each file that could not be read at the start, or for the folder. NULL: none. */
char *const *trail_faults(const Trail *trail);
/* What it says of jobs, as of the start. NULL: nothing. */
const TrailJobs *trail_jobs(const Trail *trail);

/*
 * Takes what the record owns, and empties it. Sets its time and boot. Never waits. caller: NULL, or
 * fills in who it was.
 */
void trail_add(Trail *trail, AuditRecord *record, CallerIdentity *caller);
/*
 * The same for a record that another one follows soon, such as a call that begins a job: one sync
 * brings both to the disk. It comes there within seconds anyway.
 */
void trail_add_lazily(Trail *trail, AuditRecord *record, CallerIdentity *caller);
/*
 * The same, but waits until it is appended: it survives the daemon, and with the next sync a power
 * cut. -errno: it could not be.
 */
int trail_append(Trail *trail, AuditRecord *record, CallerIdentity *caller);
/* Waits until all is written or lost, or until the timeout. What was added lazily may then still
 * wait for its sync. */
bool trail_flush(Trail *trail, uint64_t timeout_usec);
/* The last record on disk; 0: none. */
uint64_t trail_sequence(Trail *trail);

/* Whether the last record could be written, and how many were lost since the start. */
void trail_health(Trail *trail, bool *ret_writable, uint64_t *ret_lost);

/*
 * Records which processes the inspection found with a device's file open, and which of those that
 * an earlier one found are gone. A holder that is still the same is not recorded again.
 */
void trail_note_holders(Trail *trail, const Inspection *inspection);

/* Waits for its thread (tests). The daemon never frees its trail. */
Trail *trail_free(Trail *trail);
DEFINE_CLEANUP(Trail, trail_free)
