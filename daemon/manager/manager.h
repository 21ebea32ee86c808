/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owns what the daemon knows: inventory, groups, domains' uses, assignments and jobs. Everything
 * here runs on the loop and never blocks. Threads do what may block, and return through the
 * mailbox. This header includes all others of the room, for the rooms above.
 */
#pragma once

#include "manager/asks.h"
#include "manager/audit.h"
#include "manager/declare.h"
#include "manager/fence.h"
#include "manager/health.h"
#include "manager/jobs.h"
#include "manager/look.h"
#include "manager/picture.h"
#include "manager/records.h"
#include "manager/recover.h"
#include "manager/types.h"
#include "manager/upkeep.h"

int manager_new(const ManagerPlace *place, Manager **ret);
void manager_set_listener(Manager *m, const ManagerListener *listener);
/* Only when no thread works for the manager any more. */
Manager *manager_free(Manager *m);
DEFINE_CLEANUP(Manager, manager_free)
