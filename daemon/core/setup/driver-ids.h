/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ids= of vfio-pci and pci-stub: which functions it has these drivers take. */
#pragma once

#include "core/pci/pci-snapshot.h"

/*
 * The first entry of `ids`, the value of the parameter, that takes the function; NULL: none does.
 * *ret_size: how long the entry is. A value that is too long for the drivers takes nothing.
 */
const char *driver_ids_find(const char *ids, const PciFunction *function, size_t *ret_size);
