/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watches for domains that have a part of a group, or a group that is not assigned to them. */
#pragma once

#include "core/fence/report.h"
#include "manager/types.h"

/* Looks for them in the picture, and logs what came and what went. */
void manager_observe_foreign(Manager *m);
/* What was found last; NULL: nothing was looked at yet. Also what a metric counts. */
const FenceReport *manager_foreign(const Manager *m);
