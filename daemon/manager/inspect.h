/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Close looks that a caller asks for: at one GPU, and at everything that has drifted. */
#pragma once

#include "manager/types.h"

/* A close look at one GPU for `show`, which wakes no device. One of the two is NULL. */
typedef void (*ManagerInspected)(const Inspection *inspection, const Problem *problem,
				 void *userdata);
int manager_inspect(Manager *m, const Bdf *functions, size_t n, ManagerInspected done,
		    void *userdata);

/*
 * Looks afresh for everything that has drifted: schema org.gpupass1.drift/1. Without JSON: `error`.
 */
typedef void (*ManagerDrift)(const char *json, int error, void *userdata);
int manager_get_drift(Manager *m, ManagerDrift done, void *userdata);
