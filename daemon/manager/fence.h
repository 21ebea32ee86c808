/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the fence on disk as the picture says, for libvirt's hook. */
#pragma once

#include "manager/types.h"

/* The start of m->fence_look, which is a write. */
void manager_start_fence(Manager *m);

/*
 * Writes the fence, where it says something new. done (may be NULL) is called once the file has
 * what the picture says now, or could not be written.
 */
void manager_write_fence(Manager *m, ManagerDone done, void *userdata);
/* Writes it after a look, unless who waited for the look has done so. */
void manager_renew_fence(Manager *m);
/* The same after a job has ended and a look has seen what it did: lets go of what the job held. */
void manager_open_fence(Manager *m, uint32_t job, ManagerDone done, void *userdata);
