/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What comes in from the bus, seen before any object is: whose it is, how large, and how much its
 * sender's user has asked for lately. Until it is known whose a call is, and while its user is over
 * his budget, it waits here, as far as there is room. So nobody slows the others down, and the loop
 * never waits for the bus to say who somebody is.
 *
 * Root and the daemon's own user have no budget.
 */
#pragma once

#include <systemd/sd-bus.h>

#include "gpupass/cleanup.h"

typedef struct Intake Intake;

/* bus is borrowed, and on a loop already. */
int intake_new(sd_bus *bus, Intake **ret);

/* Whose call it is. < 0: of nobody who is on the bus. */
int intake_uid(Intake *intake, sd_bus_message *call, uid_t *ret);

/* A call that was let in is dispatched once more, and not counted again. */
int intake_let_in_again(Intake *intake, sd_bus_message *call);

/* Is told the unique name of each caller who leaves the bus. */
typedef void (*IntakeLeft)(const char *name, void *userdata);
void intake_on_left(Intake *intake, IntakeLeft left, void *userdata);

Intake *intake_free(Intake *intake);
DEFINE_CLEANUP(Intake, intake_free)
