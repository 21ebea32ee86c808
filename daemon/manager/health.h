/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The health of GPUs in the picture, read on a thread, by workers. */
#pragma once

#include "manager/types.h"

/* Reads the health of GPUs again, unless that was done a moment ago; for a slow timer. */
void manager_look_at_health(Manager *m);
/* As it was last read; NULL: not yet. */
const GpuHealth *manager_gpu_health(const Manager *m, const Bdf *lead);
/* The readings take the place of older ones; a reading of a GPU that is gone, or that a job has in
 * hand by now, is dropped. Takes the items. */
void manager_merge_health(Manager *m, GpuHealth *items, size_t n);
