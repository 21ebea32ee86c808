/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of what is wrong. A thread gathers the facts, with workers. */
#pragma once

#include "core/doctor/doctor.h"
#include "manager/types.h"

typedef struct ManagerDoctor {
	const char *domain; /* NULL: the host */
	DoctorSymptom symptom;
	bool capture; /* answer with the facts, too: core/doctor/capture.h */
} ManagerDoctor;

/*
 * A report of what is wrong with this host, or with a domain and its group; JSON, or the error's
 * name and message.
 */
typedef void (*ManagerReported)(const char *report, const char *error_name, const char *message,
				void *userdata);
int manager_doctor(Manager *m, const ManagerDoctor *what, ManagerReported done, void *userdata);
