/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking for a plan, and printing it. */
#pragma once

#include "base/client.h"
#include "gpupass/states.h"

/* `group` may be NULL. Returns an exit code, or a negative errno. */
int plan_show(Client *c, Operation operation, const char *target, const char *group);
/* Whether the plan would change something. Prints nothing; a refusal is the client's failure. */
int plan_changes(Client *c, Operation operation, const char *target, const char *group, bool *ret);
