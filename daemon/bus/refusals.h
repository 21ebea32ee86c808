/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of what was refused: by polkit, and by a limit. Both are what any user can have as often
 * as he likes, so that a burst gets a line at its begin, and one at its end that says how many
 * there were.
 */
#pragma once

#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "bus/quota.h"
#include "gpupass/cleanup.h"

typedef struct Refusals Refusals;

/* bus is borrowed; its event loop is used. */
int refusals_new(sd_bus *bus, Refusals **ret);

/* The user may not: `action` is a GPUPASS_ACTION_…, `why` for the log's reader. */
void refusals_denied(Refusals *refusals, uid_t uid, const char *action, const char *why);
/* The same of one who left the bus before there was an answer. */
void refusals_left(Refusals *refusals, uid_t uid, const char *action);
/* The user has met a limit: `what` is a constant, "dry runs and looks". */
void refusals_limited(Refusals *refusals, uid_t uid, const char *what);
/* The same, with *error for the caller. r: the error of quota_take(). */
int refusals_over_quota(Refusals *refusals, uid_t uid, const Quota *quota, int r, const char *what,
			sd_bus_error *error);

/* Tells of what has not ended yet, too. */
Refusals *refusals_free(Refusals *refusals);
DEFINE_CLEANUP(Refusals, refusals_free)
