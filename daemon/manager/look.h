/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at the machine and at libvirt's domains, off the loop. */
#pragma once

#include "manager/types.h"

/* Looks at the machine again, and calls `done` (may be NULL) when the picture is current. */
void manager_rescan(Manager *m, ManagerDone done, void *userdata);
/*
 * The kernel says that these functions have come, gone or changed, and no others. They are read
 * again; everything is where that does not do. The picture is made anew if a GPU is concerned.
 */
void manager_rescan_changed(Manager *m, const Bdf *changed, size_t n);
/* As manager_rescan(), and then for the domains if libvirt is connected: all are read anew. */
void manager_refresh(Manager *m, ManagerDone done, void *userdata);
/*
 * The same after these functions were changed by this daemon: of the machine, only they are read,
 * and of the domains, what libvirt has told of. None: all of the machine is. The file of libvirt's
 * hook the caller writes.
 */
void manager_refresh_changed(Manager *m, const Bdf *changed, size_t n, ManagerDone done,
			     void *userdata);
/*
 * For the start, while this daemon has changed nothing yet: calls `done` once the looks that were
 * asked for have ended, and what they saw is in the file of libvirt's hook. Looks at nothing twice.
 */
void manager_settle(Manager *m, ManagerDone done, void *userdata);
/* libvirt came, went, or changed a domain. */
void manager_libvirt_changed(Manager *m, bool connected);

void manager_init_looks(Manager *m);
