/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers the facts for a report of `doctor` (core/doctor/doctor.h), and has it made. Blocks, but
 * never for long: everything that a hung device could hold up is a worker with a deadline. Changes
 * nothing and claims nothing.
 */
#pragma once

#include "core/doctor/doctor.h"
#include "job/place.h"

typedef struct DoctorRequest {
	const char *domain; /* NULL: the host as a whole */
	DoctorSymptom symptom;
	char *const *open_jobs; /* "job 7 (assign pair0)" */
} DoctorRequest;

/*
 * *ret_report: the JSON text. *ret_health: what was read of the GPUs, for the picture; also without
 * a report. PROBLEM: there is no such domain, or libvirt cannot say.
 */
int doctor_look(const JobPlace *place, const DoctorRequest *request, char **ret_report,
		GpuHealth **ret_health, size_t *ret_n, Problem **ret_problem);
