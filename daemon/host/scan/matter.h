/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions matter to GPUs of NVIDIA: kin (pci_function_is_kin()), what is on a GPU's bus or
 * on the way to it, and what shares an IOMMU group with a function in its slot, or with a NIC or
 * NVMe. Nothing is asked of the others but what they are.
 */
#pragma once

#include "core/pci/pci-snapshot.h"

/* The index after the last function of the slot that begins at `from`, of sorted functions. */
size_t matter_slot_end(const PciFunction *functions, size_t n, size_t from, bool *ret_gpu);

/*
 * Marks those that matter by their place; functions are sorted, and GPUs and their slots were read
 * with all details. Where the members of an IOMMU group cannot be listed, all do.
 */
void matter_mark(int sysfs_fd, const PciFunction *functions, size_t n, bool *marks);

/* Whether one function matters to the GPUs of a snapshot; its IOMMU group is known. */
bool matter_to(const PciSnapshot *snapshot, const PciFunction *function);
