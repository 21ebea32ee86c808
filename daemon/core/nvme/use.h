/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What on this host uses an NVMe controller by its block devices, and what is on them. A part reads
 * it (host/nvme); processes that have a file of it open are in an Inspection, as those of a GPU.
 */
#pragma once

#include "core/base/json-struct.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"
#include "util/text.h"

#define NVME_DRIVER "nvme"

/* Of one controller. There is no end to the files in which a host may name a disk. */
#define NVME_HOLDS_MAX 4096
#define NVME_LABELS_MAX 4096

/* With what comes between node and holder. */
#define NVME_HOLD_KINDS(X)                                                                         \
	X(NVME_HOLD_MOUNT, "mount", "is mounted at")                                               \
	X(NVME_HOLD_SWAP, "swap", "is swap space")                                                 \
	/* Perhaps of several disks. */                                                            \
	X(NVME_HOLD_BTRFS, "btrfs", "is of the mounted btrfs")                                     \
	/* LVM, dm-crypt, multipath. */                                                            \
	X(NVME_HOLD_DM, "dm", "is held by the device mapper's")                                    \
	X(NVME_HOLD_MD, "md", "is in the RAID")                                                    \
	/* Of another kind: bcache. */                                                             \
	X(NVME_HOLD_HOLDER, "holder", "is held by")                                                \
	X(NVME_HOLD_LOOP, "loop", "is behind")                                                     \
	/* nvmet, LIO. */                                                                          \
	X(NVME_HOLD_EXPORT, "export", "is served to others by")                                    \
	X(NVME_HOLD_BOOT, "boot", "is named on the kernel's command line:")                        \
	X(NVME_HOLD_FSTAB, "fstab", "is named in /etc/fstab:")                                     \
	/* Open with O_EXCL is refused. */                                                         \
	X(NVME_HOLD_CLAIM, "claim",                                                                \
	  "is claimed by something that the kernel does not name (ZFS, another name space's "      \
	  "mount)")

DECLARE_ENUM(nvme_hold_kind, NvmeHoldKind, NVME_HOLD_KINDS);

typedef struct NvmeHold {
	NvmeHoldKind kind _json_(wrong "is none that there is");
	char *node;			 /* "/dev/nvme0n1p2" */
	char *who _json_(plain, if_any); /* "/srv, in the mount name space of mysqld (pid 812)" */
} NvmeHold;
DECLARE_JSON(NvmeHold, nvme_hold_members)

/* What libblkid knows of a namespace or a partition. A tenant chooses all of it. */
typedef struct NvmeLabel {
	char *node;
	char *type _json_(plain, if_any); /* "zfs_member"; of a partition table, "gpt" */
	char *uuid _json_(plain, if_any);
	char *name _json_(plain, if_any);
	char *part_uuid _json_(plain, if_any);
	char *part_name _json_(plain, if_any);
} NvmeLabel;
DECLARE_JSON(NvmeLabel, nvme_label_members)

typedef struct NvmeUse {
	Bdf bdf;
	char *controller _json_(if_any);   /* "nvme0"; NULL: the nvme driver does not have it */
	char *state _json_(plain, if_any); /* "live" */
	/* Of its subsystem: they reach the same namespaces. */
	char **siblings;
	char **nodes; /* "/dev/nvme0n1", with partitions */
	/* Links to them, and patterns (fnmatch(3)) of what udev calls them: "/dev/disk/by-id/…". */
	char **aliases;
	NvmeHold *holds _json_(max NVME_HOLDS_MAX);
	size_t n_holds;
	NvmeLabel *labels _json_(max NVME_LABELS_MAX);
	size_t n_labels;
	char **unread; /* what could not be looked at, and so is not known */
} NvmeUse;
DECLARE_CLEAR(NvmeUse, nvme_use_clear)
DECLARE_JSON(NvmeUse, nvme_use_members)

/* NULL: none of them. `list` may be NULL. */
DECLARE_FIND(NvmeUse, nvme_use_find)

/*
 * Behind Intel's Volume Management Device the kernel numbers PCI segments from 0x10000
 * (vmd_find_free_domain(), drivers/pci/controller/vmd.c). What is there belongs to the VMD's own
 * IOMMU group and interrupts, and cannot be passed alone.
 */
bool nvme_is_behind_vmd(const Bdf *bdf);

/* "/dev/nvme0n1p2 is mounted at /srv" */
char *nvme_hold_text(const NvmeHold *hold);
/* "/dev/nvme0n1p1: zfs_member "tank"" */
char *nvme_label_text(const NvmeLabel *label);

/*
 * It is one of the nodes, or leads to one, or would if udev had made its link: as a domain's XML or
 * a file names a disk.
 */
bool nvme_use_has_path(const NvmeUse *use, const char *path);

/*
 * The node, or the word itself, that a word of fstab or of the kernel's command line means: a path,
 * UUID=, LABEL=, PARTUUID= or PARTLABEL=, with or without quotes. NULL: none of this controller.
 */
const char *nvme_use_resolve(const NvmeUse *use, const char *spec);

/* ---- names and texts of the kernel's ---- */

/* "nvme12" */
bool nvme_is_controller(const char *name);
/*
 * The block device of an entry in a controller's folder: "nvme0n1", or of one path of several
 * "nvme0c1n1", whose own is hidden: what is used is the head's, "nvme0n1"
 * (nvme_mpath_set_disk_name(), drivers/nvme/host/multipath.c). NULL: it is no namespace.
 */
char *nvme_disk_name(const char *entry);

/*
 * Of a mountinfo (proc(5)): calls `each` for every mount of a device number ("259:1") that `nodes`
 * has, as a list of numbers, with its index there. `point` is unescaped.
 */
void nvme_mounts_find(const char *mountinfo, char *const *numbers,
		      void (*each)(size_t node, const char *point, void *userdata), void *userdata);

/* "\040" of /proc and fstab back to a blank, in place. */
void nvme_unescape(char *text);
