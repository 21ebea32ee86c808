/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a quarantine: gpupass clear. */
#pragma once

#include "job/place.h"

/*
 * Lifts the quarantine of a group, or of a file that cannot be read, which is set aside; if each of its functions answers, no worker of any daemon is
 * at work on one, and no domain has a part of it. PROBLEM (NoSuchGroup, Quarantined,
 * LibvirtUnavailable …): it stays. What the functions are then is what is found.
 */
int quarantine_lift(const JobPlace *place, const char *name, Problem **ret_problem);
