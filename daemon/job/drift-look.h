/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fresh look at everything that can have drifted, by a worker where a device's lock is needed. */
#pragma once

#include "core/drift/drift.h"
#include "job/place.h"

/*
 * Groups that a job has, and quarantined ones, are left out. Without libvirt *ret_domains_known is
 * false, and only drivers and boards are told. -errno. Blocks.
 */
int drift_look(const JobPlace *place, const BootFaults *boot, Drift **ret, bool *ret_domains_known);
