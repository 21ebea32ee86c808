/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Config space through libpci: Device Serial Number and PCIe link. Reading it resumes a sleeping
 * device and waits for a reset in progress, so only on request, and in a worker process: when
 * libpci meets what it did not foresee it can only end the process.
 */
#pragma once

#include "core/facts/inspection.h"

/*
 * Sets serial_number, link_* and config_all_ones of *into, whose bdf says which function. What is
 * not told (config space cut to 64 bytes without CAP_SYS_ADMIN, no such capability) stays unset.
 */
int capabilities_read(int sysfs_fd, FunctionFacts *into);
