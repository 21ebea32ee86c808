/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of drivers, as sysfs has them. */
#pragma once

#include <stdbool.h>

#define VFIO_PCI "vfio-pci"

/* vfio-pci or a vendor's variant of it. */
bool driver_is_vfio(const char *driver);

/*
 * Printable, no blank at either end, at most DRIVER_NAME_MAX bytes, no path ("a/b", ".."), and not
 * "-", which stands for none on the worker's command line.
 */
#define DRIVER_NAME_MAX 127
bool driver_name_valid(const char *name);
/* What can be written to and read back from driver_override. Others' overrides may be odd. */
#define DRIVER_OVERRIDE_MAX 255
bool driver_override_valid(const char *override);
