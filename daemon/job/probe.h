/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe of the links: finds the GPUs that can be asked, has a worker ask them, and keeps the
 * answers. Its job has no plan, and writes nothing to the machine.
 */
#pragma once

#include "job/place.h"
#include "job/request.h"

typedef struct Probe {
	Inventory *inventory;
	Bdf *nvml, *mmio; /* leading functions to ask */
	size_t n_nvml, n_mmio;
	char **warnings; /* which GPUs were left out, and why; which answers could not be kept */
} Probe;

/*
 * Claims for this job all GPUs that NVML may open, and those whose registers are read: see claim().
 * The caller releases them. PROBLEM: no GPU can be asked, or another job has one of them. Blocks.
 */
int probe_prepare(const JobPlace *place, const JobRequest *request, uint32_t job, Probe *ret,
		  Problem **ret_problem);
/* PROBLEM (ProbeFailed): nothing was seen. May take as long as the request says. */
int probe_run(const JobPlace *place, const JobRequest *request, Probe *probe,
	      Problem **ret_problem);
DECLARE_CLEAR(Probe, probe_clear)
