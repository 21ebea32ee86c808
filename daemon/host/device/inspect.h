/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inspection of a few functions (core/facts/inspection.h). May wait for the device's lock and for
 * config space, and needs CAP_SYS_PTRACE to see others' files: runs in a worker process.
 */
#pragma once

#include "core/facts/inspection.h"
#include "host/device/roots.h"

/* Without functions it reads only the host's facts. -ENOENT when a function is not there. */
int inspect_functions(const Roots *roots, const Bdf *functions, size_t n, Inspection **ret);

/* Of the functions only, and not who holds them: looks at no process. */
int inspect_glance(const Roots *roots, const Bdf *functions, size_t n, Inspection **ret);

/*
 * Of GPUs, NICs and NVMes only what config space says, through libpci (serial number, PCIe link),
 * and nothing of the host. libpci ends the process when it fails in a way it did not foresee:
 * worker processes only.
 */
int inspect_config(const Roots *roots, const Bdf *functions, size_t n, InspectConfig config,
		   Inspection **ret);
