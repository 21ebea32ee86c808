/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of physical slots. */
#pragma once

#include "core/pci/pci-snapshot.h"

/* Sets physical_slot in the functions that are in a slot with a GPU and have no name yet. */
int slots_name_functions(int sysfs_fd, PciFunction *functions, size_t n);
