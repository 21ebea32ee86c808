/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fence on disk: fence.json in the state directory, replaced atomically and durably. The
 * threads of jobs and of looks share it.
 *
 * A job closes its group before its first step, so that no domain starts with it half way, nor
 * after the daemon was killed. The group opens again with a fence that was made after the job's
 * end.
 */
#pragma once

#include <pthread.h>

#include "core/fence/fence.h"

#define FENCE_FILE "fence.json"
/* A fence that says nothing new is written again after this time, so that its age tells whether the
 * daemon still looks. */
#define FENCE_REFRESH_USEC 60000000ULL

typedef struct FenceHold FenceHold;
struct FenceHold {
	FenceHold *next _borrowed_;
	uint32_t job;
	char *group;
	Bdf *functions;
	size_t n_functions;
};
DECLARE_FREE(FenceHold, fence_hold_free)

typedef struct FenceStore {
	int dir_fd;		 /* owned */
	pthread_mutex_t writing; /* protects the file, and: */
	Fence *written;		 /* as it is on disk; NULL: not known */
	uint64_t generation;
	pthread_mutex_t lock; /* taken behind `writing`; protects: */
	Fence *last;	      /* as last given or read, without the jobs' holds; NULL: none */
	FenceHold *holds;
} FenceStore;

/*
 * Opens STATE_DIRECTORY, and creates it if it is missing. A file that cannot be read stays: the
 * hook refuses all GPUs until the next fence replaces it. The store must not move in memory.
 */
int fence_store_open(const char *state_directory, FenceStore *ret);

/*
 * Takes a fence that was made after these jobs ended, and lets go of what they hold. Does not write
 * what is on disk already. After an error the jobs still hold their groups.
 */
int fence_store_update(FenceStore *store, const Fence *fence, const uint32_t *ended, size_t n_ended,
		       uint64_t now_usec);

/*
 * Reads the file as the hook does. Returns why the hook cannot use it, or that it is not what was
 * written; the next update then writes it again. NULL: all is well.
 */
char *fence_store_check(FenceStore *store);

/* Closes the group for a job. On disk when this returns 0. Jobs that begin at once share a write. */
int fence_store_hold(FenceStore *store, uint32_t job, const char *group, const Bdf *functions,
		     size_t n, uint64_t now_usec);
/* Some group is closed for this job. */
bool fence_store_holds(FenceStore *store, uint32_t job);
