/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/plan/types.h"

/*
 * The plan as JSON (schema org.gpupass1.plan/1): steps, each sysfs write in order, the XML diff,
 * warnings. `gpupass plan` prints it, and the D-Bus method Plan returns it.
 */
char *plan_to_json(const Plan *plan);
