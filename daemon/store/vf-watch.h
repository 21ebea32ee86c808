/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which VFs are kept to their own address, as this daemon set it or saw it since each appeared. A
 * VF that is made anew lost its rules: mlx5 clears them (mlx5_eswitch_clear_vf_vports_info()).
 * Nor is one on vfio-pci known to have them: what made it may have bound it.
 *
 * And which NVMes were compared with the receipts of their erases since each appeared: on vfio-pci
 * nothing tells a clean one from another of its model, which somebody has put into its slot.
 *
 * In memory only, so that after a start each is looked at again. Shared by all job threads.
 */
#pragma once

#include "core/facts/nic.h"
#include "core/group/group.h"

typedef struct VfWatch VfWatch;

DECLARE_NEW(VfWatch, vf_watch_new)
DECLARE_FREE(VfWatch, vf_watch_free)

/* All of these do nothing with NULL. */
void vf_watch_add(VfWatch *watch, const Bdf *vfs, size_t n);
/* What an inspection saw, for better or worse. */
void vf_watch_note(VfWatch *watch, const NicUse *uses, size_t n);
/* The NVMe is as the receipt of its erase has it, or is not. */
void vf_watch_note_nvme(VfWatch *watch, const Bdf *bdf, bool as_erased);
/* VFs of this NIC are made or end: they are looked at again. Without a scan, those of all NICs. */
void vf_watch_forget(VfWatch *watch, const PciSnapshot *snapshot, const Bdf *nic);
/*
 * Sets `unruled` of each VF of these groups, and `unseen` of each NVMe. By a new scan it forgets
 * those that are not there.
 */
void vf_watch_settle(VfWatch *watch, GroupSet *groups, bool scanned);
