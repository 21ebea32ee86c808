/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call that returns a job. */
#pragma once

#include "base/client.h"
#include "gpupass/states.h"

/*
 * Sends the method's string arguments, then the options of the command line, and watches the job.
 * `second` may be NULL. Returns an exit code, or a negative errno.
 */
int act(Client *c, const char *method, Operation operation, const char *first, const char *second);
