/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what a guest has to fit into: NUMA nodes, huge pages, memory, width of addresses. */
#pragma once

#include "core/pci/host-facts.h"

/*
 * Never waits: these attributes take no device's lock. What is absent or makes no sense stays
 * unknown (a kernel without NUMA, another architecture, a sandbox). -ENOMEM only.
 */
int fit_facts_read(int sysfs_fd, int proc_fd, HostFacts **ret);
