/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What follows from the picture: the marks of boards and the kept groups on disk, which a thread
 * writes, and jobs that make groups ready for a domain.
 */
#pragma once

#include "manager/types.h"

/*
 * Who had the board last, and whether it was reset since. Its texts are borrowed from the picture.
 */
Tenancy manager_gpu_tenancy(const Manager *m, const Gpu *gpu);
/* Writes the marks that differ from what the picture shows. */
void manager_note_tenants(Manager *m);
/*
 * Compares the groups with the files of kept.d that the setting KeepBound= has made, by which
 * gpupass-bind knows them at the next boot, and writes what differs. Called after each look:
 * gpupass-bind runs before there are groups.
 */
void manager_follow_kept(Manager *m);
/*
 * Begins a prepare of each group that is unready. One that has just failed is not tried again for a
 * while: what a person mends, a person tries again.
 */
void manager_prepare_groups(Manager *m);
