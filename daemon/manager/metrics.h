/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the manager counted since its start, and what it alone knows of the present. */
#pragma once

#include "manager/types.h"

/* Schema org.gpupass1.metrics/1. denied, limited: calls, by the bus. */
char *manager_metrics(const Manager *m, uint64_t denied, uint64_t limited);
