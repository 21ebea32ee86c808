/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers the facts for a report of `doctor`, and makes the report (core/doctor/doctor.h). Blocks,
 * but never for long: a worker with a deadline reads everything that a hung device could hold up.
 * Changes nothing and claims nothing.
 */
#pragma once

#include "core/doctor/doctor.h"
#include "job/place.h"

typedef struct DoctorRequest {
	char *domain; /* NULL: the host as a whole */
	DoctorSymptom symptom;
	char **open_jobs; /* "job 7 (assign pair0)" */
	char **settings;  /* faults of groups.d, as the rules' reader told of them */
	bool capture;	  /* the facts, too: core/doctor/capture.h; not of a domain */
} DoctorRequest;
DECLARE_CLEAR(DoctorRequest, doctor_request_clear)

/*
 * *ret_report: the JSON text, of the report or of the capture. *ret_health: the GPUs' health, for
 * the picture; set even when there is no report. PROBLEM: there is no such domain, or libvirt does
 * not answer.
 */
int doctor_look(const JobPlace *place, const DoctorRequest *request, char **ret_report,
		GpuHealth **ret_health, size_t *ret_n, Problem **ret_problem);
