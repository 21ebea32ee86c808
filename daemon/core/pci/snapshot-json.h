/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots as JSON (schema org.gpupass1.snapshot/1): golden hosts in tests, and bug reports. */
#pragma once

#include "core/pci/pci-snapshot.h"

char *pci_snapshot_to_json(const PciSnapshot *snapshot);
int pci_snapshot_from_json(const char *text, size_t size, PciSnapshot **ret, char **ret_message);
