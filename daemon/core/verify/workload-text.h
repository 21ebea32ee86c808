/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was measured in a guest, in words and as JSON. */
#pragma once

#include <jansson.h>

#include "core/verify/guest-agent.h"
#include "core/verify/report.h"
#include "core/verify/workload.h"

/*
 * Writes reason and remedy for the cause. `path` (may be NULL): the slowest one. `run` (may be
 * NULL): the program that failed.
 */
void workload_explain(Workload *w, const VerifyInput *input, const VerifyReport *report,
		      const WorkloadPath *path, const GuestRun *run);

/* The member "workload" of org.gpupass1.verify/1. */
json_t *workload_to_json(const Workload *w, const VerifyReport *report);
