/* SPDX-License-Identifier: GPL-2.0-or-later */
/* At its start a daemon writes the records that are missing, of groups that domains have by
 * gpupass. */
#pragma once

#include "manager/types.h"

/* Starts a job for each such group. Does so once in the daemon's life: after the first search for
 * drift with no interrupted job left. */
void manager_adopt(Manager *m);
