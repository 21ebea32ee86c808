/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fresh look at everything that can drift. A worker reads what needs a device's lock. */
#pragma once

#include "core/drift/drift.h"
#include "job/place.h"

/*
 * Leaves out quarantined groups and those that a job works on. Without libvirt its domains_known
 * is false, and the findings are of drivers and boards only. -errno. Blocks.
 */
int drift_look(const JobPlace *place, const BootFaults *boot, Drift **ret);
