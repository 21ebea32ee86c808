/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds workers that an earlier daemon left behind. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/base/bdf.h"
#include "host/launch/config.h"

/* What there may be only one worker of at a time, on the whole host. */
typedef enum WorkerQuestion {
	WORKER_PROBES,
	WORKER_READS_PERSISTENCE,
	WORKER_QUESTIONS
} WorkerQuestion;

/*
 * Whether a child that asks this may be there. A part is found by its lock; a child only in /proc,
 * which has thousands of processes. Such children come from this daemon, or from one before it,
 * since two never run at once (store/hold.h). So what a look into /proc did not find cannot be
 * there before this daemon starts another one. Zero-initialised: there may be.
 */
typedef struct WorkerChildren {
	struct {
		atomic_uint running; /* calls that may start one, or wait for it */
		atomic_uint started; /* children, ever */
		atomic_uint
			none_of; /* 1 + as many of them as had been started when none was there */
	} of[WORKER_QUESTIONS];
} WorkerChildren;

/*
 * The process that is at work on this function; 0: none. A part has the lock of the function's name
 * (util/pid-lock.h). A child is found in the real /proc; `proc_dir` may be another host's: it has
 * our uids, its program is this file or it is in our service's control group, and its command line
 * says what it does. Nobody else can make such a process.
 */
pid_t worker_find(const WorkerConfig *config, const Bdf *function);

/* A worker that probes on this host, even one of an earlier daemon; 0: none. */
pid_t worker_find_probe(const WorkerConfig *config);

/* A worker that reads modes on this host, even one of an earlier daemon; 0: none. */
pid_t worker_find_persistence(const WorkerConfig *config);

/*
 * Around each call that may start such a child. By its end a child that was started has its name.
 * WORKER_QUESTIONS: of no such question, nothing to do.
 */
void worker_question_begins(const WorkerConfig *config, WorkerQuestion question);
void worker_question_ends(const WorkerConfig *config, WorkerQuestion question, bool started_child);
