/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of drivers, as sysfs has them. */
#pragma once

#include <stdbool.h>

#define VFIO_PCI "vfio-pci"

/* The one rule for "on vfio": vfio-pci, or a vendor's variant of it. */
bool driver_is_vfio(const char *driver);

/*
 * Printable, at most DRIVER_NAME_MAX bytes, without a blank at either end. No path ("a/b", "..").
 * Not "-": on the worker's command line that means no driver.
 */
#define DRIVER_NAME_MAX 127
bool driver_name_valid(const char *name);
/* The kernel takes it as driver_override and shows it unchanged. Others' overrides may be odd. */
#define DRIVER_OVERRIDE_MAX 255
bool driver_override_valid(const char *override);
