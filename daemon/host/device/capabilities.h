/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Config space through libpci: Device Serial Number and PCIe link. Reading it resumes a sleeping
 * device and waits for a reset in progress. So read it only on request, and in a worker process:
 * libpci ends the process when it meets something that it did not foresee.
 */
#pragma once

#include "core/facts/inspection.h"

/*
 * Sets serial_number, link_* and config_all_ones of *into, whose bdf names the function. Fields
 * that config space does not give (64 bytes only without CAP_SYS_ADMIN, no such capability) stay
 * unset.
 */
int capabilities_read(int sysfs_fd, FunctionFacts *into);
