/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that change something. */
#pragma once

#include "base/client.h"
#include "gpupass/states.h"

/*
 * A call that returns a job: sends the method's string arguments, then the options of the command
 * line, and watches the job. `second` may be NULL. Returns an exit code, or a negative errno.
 */
int act(Client *c, const char *method, Operation operation, const char *first, const char *second);
/* Calls a method that is done at once; `argument` may be NULL. */
int act_plainly(Client *c, const char *method, const char *argument);
