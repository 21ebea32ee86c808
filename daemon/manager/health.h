/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The health of GPUs in the picture. A thread reads it, with workers. */
#pragma once

#include "manager/types.h"

/*
 * Reads the health of GPUs again, unless the last reading is a few seconds old; after each look.
 */
void manager_look_at_health(Manager *m);
/*
 * Somebody calls, and may do so again: reads it again if it is a minute old. While nobody does, no
 * timer of its own wakes the daemon for it.
 */
void manager_asked(Manager *m);
/* As it was last read; NULL: not yet. */
const GpuHealth *manager_gpu_health(const Manager *m, const Bdf *lead);
/* All of them. */
const GpuHealth *manager_gpu_healths(const Manager *m, size_t *ret_n);
/* Replaces older readings by these, and drops readings of a GPU that is gone, or that a job works
 * on by now. Takes the items. */
void manager_merge_health(Manager *m, GpuHealth *items, size_t n);
