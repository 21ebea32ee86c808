/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of drivers, as sysfs has them. */
#pragma once

#include <stdbool.h>

#define NVME_DRIVER "nvme"
#define VFIO_PCI "vfio-pci"

/*
 * vfio-pci, or a vendor's variant of it, as far as its name tells. That decides for a driver to be;
 * for one that is bound, driver_on_vfio() is the one rule.
 */
bool driver_is_vfio(const char *driver);
/*
 * The function is on vfio: by the driver's name, or because the driver made a device of vfio of it,
 * the folder vfio-dev in sysfs (Linux 6.1). A variant may have any name.
 */
bool driver_on_vfio(const char *driver, bool vfio_dev);

/*
 * Printable, at most DRIVER_NAME_MAX bytes, without a blank at either end. No path ("a/b", "..").
 * Not "-": on the worker's command line that means no driver.
 */
#define DRIVER_NAME_MAX 127
bool driver_name_valid(const char *name);
/* The kernel takes it as driver_override and shows it unchanged. Others' overrides may be odd. */
#define DRIVER_OVERRIDE_MAX 255
bool driver_override_valid(const char *override);
