/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MIG mode, which parts a board into slices. In MIG mode NVLink is off (NVIDIA's MIG user guide,
 * "Application Considerations": no GPU to GPU peer access). The board keeps the mode without its
 * driver, so a guest finds it as the host left it.
 */
#pragma once

#include "gpupass/string-table.h"

#define MIG_MODES(X)                                                                               \
	X(MIG_UNKNOWN, "unknown") /* NVML does not say: most boards cannot do it */                \
	X(MIG_OFF, "off")                                                                          \
	X(MIG_ON, "on")

DECLARE_ENUM(mig_mode, MigMode, MIG_MODES, MIG_MODE_MAX_);
