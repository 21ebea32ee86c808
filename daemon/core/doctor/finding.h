/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one check finds, and the questions that several checks ask of the facts. */
#pragma once

#include "core/doctor/facts.h"
#include "core/fit/finding.h"
#include "core/pci/driver-name.h"
#include "util/text.h"

#define FINDING_STATUSES(X)                                                                        \
	X(FINDING_SKIPPED, "skipped")                                                              \
	X(FINDING_PASS, "pass")                                                                    \
	X(FINDING_WARN, "warn")                                                                    \
	X(FINDING_FAIL, "fail")

/* In order of weight. */
typedef enum FindingStatus {
#define X(enumerator, name) enumerator,
	FINDING_STATUSES(X)
#undef X
		FINDING_STATUS_MAX_,
} FindingStatus;
DECLARE_STRING_TABLE(finding_status, FindingStatus);

typedef struct DoctorCheck DoctorCheck;

typedef struct Finding {
	const DoctorCheck *check;
	char **what; /* lines, in the order in which they were found */
	char *remedy;
	char **objects; /* addresses, groups, domains */
	FindingStatus status;
	int error; /* -ENOMEM, sticky */
} Finding;

void finding_clear(Finding *finding);

typedef struct Doctor {
	const DoctorFacts *facts;
	const Group *group; /* of the domain that is asked about; NULL: none */
	const Gpu **gpus;   /* those that are looked at: of that group, or of all */
	size_t n_gpus;
	DomainXml *xml;	 /* of the domain, its definition first; NULL: not understood */
	FitReport *fit;	 /* what core/fit/fit.h finds of it; NULL: likewise */
	char *xml_error; /* why */
} Doctor;

/*
 * Each adds a line and raises the status; it never falls. `object` may be NULL. The remedy is that
 * of the first line of the heaviest status.
 */
void finding_pass(Finding *finding, const char *format, ...) _printf_(2, 3);
void finding_skip(Finding *finding, const char *format, ...) _printf_(2, 3);
void finding_warn(Finding *finding, const char *object, const char *format, ...) _printf_(3, 4);
void finding_fail(Finding *finding, const char *object, const char *format, ...) _printf_(3, 4);
void finding_remedy(Finding *finding, const char *format, ...) _printf_(2, 3);

/* NULL: nobody looked, or in vain. */
const GpuHealth *doctor_health(const Doctor *d, const Gpu *gpu);
/* One of the GPUs that are looked at has this function. */
const Gpu *doctor_gpu_of(const Doctor *d, const Bdf *bdf);
bool doctor_is_busy(const Doctor *d, const Group *group);
