/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mock of /sys (its PCI part) and /proc in a temporary directory, built in the words of the
 * domain. Plain files and links: what the kernel would do on a write is sysfs-kernel.h's.
 *
 * Helpers of tests: on any failure they say what failed and abort.
 */
#pragma once

#include "core/pci/pci-snapshot.h"
#include "host/device/inspect.h"

typedef struct SysfsTree {
	char *path;  /* holds sys, proc, root and modules */
	char *sysfs; /* PATH/sys */
	char *proc;  /* PATH/proc */
	Roots roots;
} SysfsTree;

/* In a new directory below `parent`; NULL: below /tmp. */
SysfsTree *sysfs_tree_new(const char *parent);
/* Removes it all. */
SysfsTree *sysfs_tree_free(SysfsTree *tree);
DEFINE_CLEANUP(SysfsTree, sysfs_tree_free)

Bdf tree_bdf(const char *text);

/*
 * A golden host (tests/fixtures/hosts) as a scan shows it: its time cleared; of functions that do
 * not matter to a GPU the ids only; the name of a physical slot, which a fixture may give for one
 * function, is that of all functions in it, as in sysfs.
 */
PciSnapshot *tree_read_golden(int dir_fd, const char *name);

/* "../../../" from a directory so many levels below sysfs. */
char *tree_way_up(const char *path);

/* Registers a driver: bus/pci/drivers/NAME. */
void tree_add_driver(SysfsTree *tree, const char *name);

/* Any function, as a snapshot would show it, all details included. Its driver and its IOMMU group
 * come into being with it; its bridges' directories do, too, but are not functions by that. */
void tree_add_function(SysfsTree *tree, const PciFunction *function);

/* A PCI bridge directly below the host bridge, in IOMMU group `iommu_group`. */
void tree_add_bridge(SysfsTree *tree, const char *bdf, int iommu_group);

/*
 * A board of NVIDIA: display function on `driver`, audio function after it on snd_hda_intel, both
 * in one IOMMU group, below the bridge `upstream` (NULL: none). `driver` NULL: neither has one.
 */
void tree_add_gpu(SysfsTree *tree, const char *bdf, uint16_t device, const char *driver,
		  int iommu_group, const char *upstream);

/* Files below sys, proc, root or modules, with the directories that need be. */
void tree_write(SysfsTree *tree, const char *path, const char *content);
void tree_write_bytes(SysfsTree *tree, const char *path, const void *content, size_t size);
void tree_link(SysfsTree *tree, const char *path, const char *target);
void tree_remove(SysfsTree *tree, const char *path);

/* An attribute of a function: path below its directory. */
void tree_write_attribute(SysfsTree *tree, const char *bdf, const char *name, const char *content);
void tree_remove_attribute(SysfsTree *tree, const char *bdf, const char *name);

/* The function is gone, as after a hot-unplug. */
void tree_remove_function(SysfsTree *tree, const char *bdf);

/* What the nvidia driver tells of a GPU. */
void tree_add_nvidia_information(SysfsTree *tree, const char *bdf, const char *uuid, int minor);

/*
 * A process with its cgroup file; then what it has open (fd 0, 1, …) and mapped. A number is that
 * of the file that `target` leads to: what stands for a GPU's device file here is one that is on
 * every host, such as /dev/full, and sysfs says that this is the number of the GPU's.
 */
void tree_add_process(SysfsTree *tree, pid_t pid, const char *comm, const char *cgroup);
void tree_process_opens(SysfsTree *tree, pid_t pid, int fd, const char *target);
void tree_process_maps(SysfsTree *tree, pid_t pid, const char *maps);
void tree_process_maps_file(SysfsTree *tree, pid_t pid, const char *range, const char *target);

/* Numbers of files that are on every host. */
#define NUMBER_OF_NULL "1:3\n"
#define NUMBER_OF_ZERO "1:5\n"
#define NUMBER_OF_FULL "1:7\n"
/* /proc/devices of a host whose /dev/nvidia3 is /dev/null. */
#define DEVICES_WITH_NVIDIA_AS_MEM                                                                 \
	"Character devices:\n  1 nvidia-frontend\n  5 /dev/tty\n\nBlock devices:\n  8 nvidia\n"
