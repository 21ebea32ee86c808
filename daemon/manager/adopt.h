/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a daemon takes over at its start: groups that domains have, and no record names. */
#pragma once

#include "manager/types.h"

/* Starts a job for each such group, once in the daemon's life: after drift was found the first time
 * with no interrupted job left. */
void manager_adopt(Manager *m);
