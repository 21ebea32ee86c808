/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at the machine and at libvirt's domains, off the loop. */
#pragma once

#include "manager/types.h"

/* Looks at the machine again; `done` (may be NULL) is told when the picture is current. */
int manager_rescan(Manager *m, ManagerDone done, void *userdata);
/* The same for the machine and then, while libvirt is connected, for its domains. */
int manager_refresh(Manager *m, ManagerDone done, void *userdata);
/* libvirt came, went, or changed a domain. */
void manager_libvirt_changed(Manager *m, bool connected);

void manager_init_looks(Manager *m);
void manager_clear_looks(Manager *m);
