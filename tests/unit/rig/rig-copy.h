/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a rig has on disk, a second time: a process that was forked off works on the copy, and the
 * one that it came from goes on with its own.
 */
#pragma once

#include "job-rig.h"

typedef struct RigCopy {
	char directory[64];
} RigCopy;

/*
 * A hash of all that outlives the daemon: its files, and the machine. Two points between which it
 * is the same are one to whoever comes after.
 */
uint64_t rig_what_lasts(const Rig *rig);

void rig_copy_make(const Rig *rig, RigCopy *ret);
/* From here on this process's rig works on the copy. There is no way back. */
void rig_copy_enter(Rig *rig, const RigCopy *copy);
void rig_copy_remove(const RigCopy *copy);
