/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one check finds, and questions that several checks ask about the facts. */
#pragma once

#include "core/doctor/facts.h"
#include "core/facts/obstacle.h"
#include "core/fit/finding.h"
#include "core/pci/driver-name.h"
#include "util/text.h"

#define FINDING_STATUSES(X)                                                                        \
	X(FINDING_SKIPPED, "skipped") /* it is about nothing that is here */                       \
	X(FINDING_PASS, "pass")	      /* all of it was seen, and nothing is wrong */               \
	X(FINDING_UNKNOWN, "unknown") /* a fact is missing, and nothing wrong was seen */          \
	X(FINDING_WARN, "warn")                                                                    \
	X(FINDING_FAIL, "fail")

/* In ascending order of severity. */
DECLARE_ENUM(finding_status, FindingStatus, FINDING_STATUSES, FINDING_STATUS_MAX_);

typedef struct DoctorCheck DoctorCheck;

typedef struct Finding {
	const DoctorCheck *check;
	char **what; /* lines, in the order in which they were found */
	char *remedy;
	char **objects; /* addresses, names of groups and domains */
	FindingStatus status;
} Finding;

void finding_clear(Finding *finding);

typedef struct Doctor {
	const DoctorFacts *facts;
	const Group **groups; /* of the domain that the report is about */
	size_t n_groups;
	const Gpu **gpus; /* that are checked: of those groups, or of all groups */
	size_t n_gpus;
	DomainXml *xml;	     /* the definition, or else the live XML; NULL: cannot be parsed */
	Obstacles obstacles; /* of all checked GPUs */
	FitReport *fit;	     /* what fit_check() finds in `xml`; NULL if that is NULL */
	char *xml_error;     /* why it cannot be parsed */
} Doctor;

/*
 * Adds a line and raises the status to at least this one; the status never falls. `object` may be
 * NULL. finding_remedy() keeps the first remedy since the status was last raised.
 */
void finding_add(Finding *finding, FindingStatus status, const char *object, const char *format,
		 ...) _printf_(4, 5);
#define finding_pass(f, ...) finding_add(f, FINDING_PASS, NULL, __VA_ARGS__)
#define finding_skip(f, ...) finding_add(f, FINDING_SKIPPED, NULL, __VA_ARGS__)
#define finding_unknown(f, object, ...) finding_add(f, FINDING_UNKNOWN, object, __VA_ARGS__)
#define finding_warn(f, object, ...) finding_add(f, FINDING_WARN, object, __VA_ARGS__)
#define finding_fail(f, object, ...) finding_add(f, FINDING_FAIL, object, __VA_ARGS__)
void finding_remedy(Finding *finding, const char *format, ...) _printf_(2, 3);

/* NULL: the GPU's health was not read, or could not be. */
const GpuHealth *doctor_health(const Doctor *d, const Gpu *gpu);
/* Facts without which a check does not pass: these make it unknown, and say what is missing. */
/* What of the host's setup could not be read: `key` as in Examination's `unread`. */
void doctor_need_read(const Doctor *d, const char *key, Finding *f);
/* What every domain has. */
void doctor_need_domains(const Doctor *d, Finding *f);
/* What is assigned and kept. */
void doctor_need_assignments(const Doctor *d, Finding *f);
/* A close look at each of the GPUs. */
void doctor_need_inspection(const Doctor *d, Finding *f);
/* The checked GPU that has this function; NULL: none. */
const Gpu *doctor_gpu_of(const Doctor *d, const Bdf *bdf);
/* The report is about this group: it is about the host, or the group is its domain's. */
bool doctor_covers_group(const Doctor *d, const char *name);
/*
 * Tells of all obstacles of this kind that the checked GPUs have (core/facts/obstacle.h); where
 * there are none, passes with the words `none`, or skips with `unknown`. Needs an inspection.
 */
void doctor_tell_obstacles(const Doctor *d, Finding *f, ObstacleKind kind, const char *none,
			   const char *unknown);
/* A job works on the group. */
bool doctor_is_busy(const Doctor *d, const Group *group);
