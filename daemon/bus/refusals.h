/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs what polkit or a limit refused. Any user can cause any number of refusals. So a burst gets
 * one line at its start, and one at its end with the number of refusals.
 */
#pragma once

#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "bus/quota.h"
#include "gpupass/cleanup.h"

typedef struct Refusals Refusals;

/* bus is borrowed; its event loop is used. */
int refusals_new(sd_bus *bus, Refusals **ret);

/* polkit denied the action, a GPUPASS_ACTION_…; `why` is for the log. */
void refusals_denied(Refusals *refusals, uid_t uid, const char *action, const char *why);
/* The same, because the caller left the bus before polkit answered. */
void refusals_left(Refusals *refusals, uid_t uid, const char *action);
/* The user has reached a limit on `what`, a constant: "looks and dry runs". */
void refusals_limited(Refusals *refusals, uid_t uid, const char *what);
/* The same, with *error for the caller. r: the error of quota_take(). */
int refusals_over_quota(Refusals *refusals, uid_t uid, const Quota *quota, int r, const char *what,
			sd_bus_error *error);

/* Also logs the bursts that have not ended yet. */
Refusals *refusals_free(Refusals *refusals);
DEFINE_CLEANUP(Refusals, refusals_free)
