/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at the machine and at libvirt's domains, off the loop. */
#pragma once

#include "manager/types.h"

/* Looks at the machine again, and calls `done` (may be NULL) when the picture is current. < 0:
 * `done` is not called. */
int manager_rescan(Manager *m, ManagerDone done, void *userdata);
/* The same for the machine, and then for the domains if libvirt is connected. */
int manager_refresh(Manager *m, ManagerDone done, void *userdata);
/* libvirt came, went, or changed a domain. */
void manager_libvirt_changed(Manager *m, bool connected);

void manager_init_looks(Manager *m);
void manager_clear_looks(Manager *m);
