/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names from pci.ids through libpci; touches no device. */
#pragma once

#include <stdint.h>

#include "gpupass/cleanup.h"

typedef struct PciNames PciNames;

/* Also works without a pci.ids file: names are then numbers. Not thread-safe. */
int pci_names_new(PciNames **ret);
/* The same, with the list at `path`; NULL: libpci's own. */
int pci_names_new_from(const char *path, PciNames **ret);
/* "NVIDIA Corporation GA102 [GeForce RTX 3090]"; caller frees. NULL when out of memory. */
char *pci_names_device(PciNames *names, uint16_t vendor, uint16_t device);
PciNames *pci_names_free(PciNames *names);
DEFINE_CLEANUP(PciNames, pci_names_free)
