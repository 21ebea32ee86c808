/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds workers that an earlier daemon left behind. */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "host/launch/config.h"
#include "host/wire/question.h"

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
	} of[LOCK_MAX_];	 /* of those that there may be one of on the whole host */
} WorkerChildren;

/*
 * The process that is at work on this; 0: none. `function`: of LOCK_FUNCTION. A part has the lock
 * of this name (util/pid-lock.h), also one of an earlier daemon. A child is found in the real
 * /proc; `proc_dir` may be another host's: it has our uids, its program is this file or it is in
 * our service's control group, and its command line says what it does. Nobody else can make such a
 * process.
 */
pid_t worker_find(const WorkerConfig *config, QuestionLock lock, const Bdf *function);

/*
 * Around each call that may start a child: where there may be only one of its kind, it is counted.
 * By the call's end a child that was started has its name.
 */
void worker_question_begins(const WorkerConfig *config, QuestionLock lock);
void worker_question_ends(const WorkerConfig *config, QuestionLock lock, bool started_child);
