/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host offers for VFIO: driver, module, and the parameters that make it unsafe. */
#pragma once

#include "core/facts/inspection.h"
#include "host/device/roots.h"

/* Sets vfio_pci, vfio_loadable, noiommu and unsafe_interrupts of *into. */
int vfio_facts_read(const InspectRoots *roots, Inspection *into);
