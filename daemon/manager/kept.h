/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files by which gpupass-bind knows, at the next boot, what KeepBound= keeps. */
#pragma once

#include "manager/types.h"

/*
 * Compares the groups with the files of kept.d that the setting has made, and has a thread write
 * what differs. Called after each look: gpupass-bind runs before there are groups.
 */
void manager_follow_kept(Manager *m);
