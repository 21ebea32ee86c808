/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe of the links: which GPUs can be asked, asking them by a worker, and keeping what they
 * said. Its job has no plan, and writes nothing to the machine.
 */
#pragma once

#include "job/place.h"
#include "job/request.h"

typedef struct Probe {
	Inventory *inventory;
	Bdf *nvml, *mmio; /* leading functions to ask */
	size_t n_nvml, n_mmio;
	char **warnings; /* who was left out, and why; what could not be kept */
} Probe;

/*
 * Takes all GPUs that NVML may open, and those whose registers are read, for this job: see claim(). The
 * caller lets them go. PROBLEM: nobody can be asked, or somebody else is at work. Blocks.
 */
int probe_prepare(const JobPlace *place, const JobRequest *request, uint32_t job, Probe *ret,
		  Problem **ret_problem);
/* PROBLEM (ProbeFailed): nothing was seen. May take as long as the request says. */
int probe_run(const JobPlace *place, const JobRequest *request, Probe *probe,
	      Problem **ret_problem);
void probe_clear(Probe *probe);
