/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workers read the health of GPUs, one look at a time: a read of config space may hang for good,
 * and one hung worker for a GPU is enough. A second caller waits until the look under way has ended
 * or met its deadline. For a GPU whose worker hangs, it then gets that worker's error, and starts
 * no other. Shared by all threads.
 */
#pragma once

#include "host/host/questions.h"

typedef struct HealthLook HealthLook;

DECLARE_NEW(HealthLook, health_look_new)
DECLARE_FREE(HealthLook, health_look_free)

/*
 * leads: the leading function of each GPU. *ret: one entry for each, in the same order. For a GPU
 * with a hung worker, the entry has the error of that time, and the worker.
 */
void health_look(HealthLook *look, Host *host, const PciFunction *const *leads, size_t n,
		 GpuHealth **ret);
