/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a quarantine: gpupass clear. */
#pragma once

#include "job/place.h"

/*
 * Lifts the quarantine of a group, or of a file that cannot be read, which it sets aside. PROBLEM:
 * the quarantine stays (NoSuchGroup, Quarantined, LibvirtUnavailable …), because a function does
 * not answer, a worker of any daemon works on one, or a domain has a part of the group. The drivers
 * stay as they are.
 */
int quarantine_lift(const JobPlace *place, const char *name, Problem **ret_problem);
