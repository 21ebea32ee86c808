/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is wrong with this host, or with one domain and its group, as a report of all checks in the
 * register (core/checks/checks.h).
 */
#pragma once

#include "core/checks/checks.h"

/* What operators see in a guest and ask about. */
#define DOCTOR_SYMPTOMS(X)                                                                         \
	X(SYMPTOM_NO_NVLINK, "no-nvlink") /* nvidia-smi shows no NVLink */                         \
	X(SYMPTOM_ONE_GPU, "one-gpu")	  /* only one of the GPUs is visible */                    \
	X(SYMPTOM_NO_P2P, "no-p2p")	  /* peer-to-peer is disabled */                           \
	X(SYMPTOM_SLOW, "slow")		  /* low bandwidth */

DECLARE_ENUM(doctor_symptom, DoctorSymptom, DOCTOR_SYMPTOMS,
	     DOCTOR_SYMPTOM_MAX_); /* also means: none was given */

/*
 * Runs every check and returns the report, schema org.gpupass1.doctor/1:
 *   { "schema", "domain": {"name", "uuid", "group"} or null, "symptom": {…} or null,
 *     "counts": {"pass", "warn", "fail", "unknown", "skipped"},
 *     "checks": [ {"id", "title", "status", "what": […], "remedy", "objects": […], "see",
 *                  "evidence"} ] }
 */
char *doctor_report(const CheckFacts *facts, DoctorSymptom symptom);
