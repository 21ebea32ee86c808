/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Config space as the kernel gives its bytes. Reading it resumes a sleeping device. */
#pragma once

#include "core/pci/pcie-config.h"
#include "util/bdf.h"

/*
 * What cannot be read says nothing: *ret is then as it was. A reader without
 * CAP_SYS_ADMIN gets 64 bytes.
 */
void config_space_read(int sysfs_fd, const Bdf *bdf, PcieConfig *ret);
