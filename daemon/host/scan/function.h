/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One PCI function as a scan reads it. All of it the kernel serves without the device's lock: see
 * scan.h. -ENOENT and -ENODEV: there is no such function, or none any more.
 */
#pragma once

#include "core/pci/pci-snapshot.h"

/*
 * "pci:v000010DEd00002204sv000010DEsd00001467bc03sc00i00", with nothing before or after. Sets the
 * ids and class of *into; on -EINVAL they stay as they were.
 */
int modalias_parse(const char *text, PciFunction *into);

/* Vendor, device, subsystem and class of one function. */
int scan_ids(int sysfs_fd, const Bdf *bdf, PciFunction *f);

/* The bridges above f->bdf. */
int scan_upstream(int sysfs_fd, PciFunction *f);

/* The same as scan_ids(); f->bdf says of which. One read of one file. */
int function_read_ids(int devices_fd, PciFunction *f);

/* IOMMU_GROUP_NONE: it is in none. */
int function_read_iommu_group(int devices_fd, const Bdf *bdf, int *ret);

/*
 * Ids, driver, IOMMU group, and what else is read of functions that matter; with details, also what
 * is read of a GPU's slot only, except for the slot's name (slots.h). What f had before is freed.
 */
int function_read(int devices_fd, bool details, PciFunction *f);
