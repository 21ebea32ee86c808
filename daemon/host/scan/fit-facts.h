/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts about the host that a guest has to fit: NUMA nodes, huge pages, memory, width of addresses.
 */
#pragma once

#include "core/pci/host-facts.h"

/*
 * Never waits, because these attributes take no device's lock. Values that are absent or make no
 * sense stay unknown (a kernel without NUMA, another architecture, a sandbox).
 */
HostFacts *fit_facts_read(int sysfs_fd, int proc_fd);
