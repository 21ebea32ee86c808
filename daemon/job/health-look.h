/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The health of GPUs, read by workers, one look at a time: config space may hang its reader for good,
 * and one reader that waits is enough. Whoever comes meanwhile waits until that look has ended or
 * met its deadline, and is then told of the reader instead of losing another. Shared by all threads.
 */
#pragma once

#include "host/host/host.h"

typedef struct HealthLook HealthLook;

int health_look_new(HealthLook **ret);
HealthLook *health_look_free(HealthLook *look);
DEFINE_CLEANUP(HealthLook, health_look_free)

/*
 * Of GPUs that are given by their leading functions; one for each in *ret, in their order. Of a GPU
 * for which a worker still waits there is the error of that time, and the worker.
 */
int health_look(HealthLook *look, Host *host, const PciFunction *const *leads, size_t n,
		GpuHealth **ret);
