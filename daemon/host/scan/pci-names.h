/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of NVIDIA's devices, from the list pci.ids. */
#pragma once

#include <stdint.h>

#include "gpupass/cleanup.h"

typedef struct PciNames PciNames;

/*
 * Reads the list at `path`, of which it keeps NVIDIA's part. Also works without a list, and with
 * one that cannot be understood: names are then numbers.
 */
PciNames *pci_names_new(const char *path);
/* "NVIDIA Corporation GA102 [GeForce RTX 3090]"; caller frees. */
char *pci_names_device(const PciNames *names, uint16_t vendor, uint16_t device);
DECLARE_FREE(PciNames, pci_names_free)
