/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at each incoming call before any object sees it: which user sent it, how large it is, and
 * how much that user has asked for lately. A call waits here, while there is room, until its user
 * is known and within budget. So no user slows others down, and the loop never blocks on the
 * question who a caller is.
 *
 * Root and the daemon's own user have no budget.
 */
#pragma once

#include <systemd/sd-bus.h>

#include "gpupass/cleanup.h"
#include "store/caller.h"

typedef struct Intake Intake;

/* bus and resolver are borrowed; the bus must be attached to a loop. */
int intake_new(sd_bus *bus, CallerResolver *resolver, Intake **ret);

/* The user who sent the call. < 0: the sender has left the bus. */
int intake_uid(Intake *intake, sd_bus_message *call, uid_t *ret);

/* Who sent the call, for the audit trail. Borrowed until the sender leaves; NULL: not known. */
CallerIdentity *intake_identity(Intake *intake, sd_bus_message *call);

/* Dispatches a call that was let in once more, without counting it again. */
int intake_let_in_again(Intake *intake, sd_bus_message *call);

/* Called with the unique name of each caller that leaves the bus. */
typedef void (*IntakeLeft)(const char *name, void *userdata);
void intake_on_left(Intake *intake, IntakeLeft left, void *userdata);

/*
 * Called for each call that the intake refuses. uid: (uid_t)-1 if it is not known yet. why: a
 * constant.
 */
typedef void (*IntakeRefused)(sd_bus_message *call, uid_t uid, const char *why, void *userdata);
void intake_on_refused(Intake *intake, IntakeRefused refused, void *userdata);

Intake *intake_free(Intake *intake);
DEFINE_CLEANUP(Intake, intake_free)
