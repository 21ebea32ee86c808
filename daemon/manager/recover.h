/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs and quarantines of the daemon before this one. */
#pragma once

#include "manager/types.h"

/* Reads what a daemon before this one left open or quarantined; before anything else. */
int manager_load_state(Manager *m);
/* Finishes or undoes what was left open, as far as libvirt answers. -EBUSY: it is at it. */
int manager_recover(Manager *m, ManagerDone done, void *userdata);
/* A job of this daemon that libvirt's end left open: recovered when libvirt answers. Takes it. */
void manager_take_open_job(Manager *m, OpenJob *job);
/* This group's job waits to be recovered, or a thread recovers jobs just now. */
bool manager_is_recovering(const Manager *m, const char *group);
