/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether somebody asked that a job be cancelled, and who. The loop asks; the job's thread looks
 * between its steps, where it may stop. A cancel that was accepted counts: the thread closes this
 * when nothing more is to be done, and from then on a cancel is refused. So no one is told "yes"
 * for a job that is done all the same.
 */
#pragma once

#include <stdint.h>

#include "core/base/problem.h"
#include "core/group/group.h"
#include "gpupass/cleanup.h"

/* Shared by the loop and the job's thread. */
typedef struct Cancellation Cancellation;

void cancellation_new(Cancellation **ret);
DECLARE_REF(Cancellation, cancellation_ref)
DECLARE_FREE(Cancellation, cancellation_unref)

/*
 * Asks in the name of this user. 1: the job will stop. 0: somebody had asked before, who stays on
 * record. -EBUSY: too late, the job is done, or is undone already because it failed.
 */
int cancellation_ask(Cancellation *c, uint32_t uid);

/* 0: go on. PROBLEM (Cancelled): somebody asked. NULL: nobody can. */
int cancellation_check(const Cancellation *c, Problem **ret_problem);
/* The same, and when it is 0, nobody can ask from now on. */
int cancellation_close(Cancellation *c, Problem **ret_problem);

/* Nobody can ask from now on: the job failed by itself, and is undone anyway. NULL: nothing. */
void cancellation_shut(Cancellation *c);

/*
 * The end of a job for this reason, with everything as before; NULL: an error that has no reason.
 */
JobState cancellation_state(const Problem *problem);
