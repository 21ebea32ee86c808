/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One group while drift_find() looks at it, and the findings that are added to it. */
#pragma once

#include "core/drift/drift.h"
#include "util/text.h"

/* One group, or one record without a group, that is being examined. */
typedef struct DriftSubject {
	const DriftFacts *facts;
	Drift *drift;
	size_t first; /* index of its first finding in `drift` */
	bool blocked; /* a finding needs a person: reconcile then mends none of the group */
	const char *name;
	const Group *group; /* NULL: the record's group is no longer known */
	const PciFunction **functions;
	size_t n_functions;
	const Assignment *record;
	const DomainUse *domain;	/* the record's, or one with our mark */
	bool marked;			/* `domain` is one with our mark */
	Bdf about[GROUP_FUNCTIONS_MAX]; /* functions of the next finding */
	size_t n_about;
} DriftSubject;

/* Adds this function to those that the next finding names. */
void drift_about(DriftSubject *s, const Bdf *bdf);

/*
 * Adds a finding about the functions that drift_about() has collected. Takes both texts. `remedy`
 * may be NULL if there is a repair: it is then written when all findings of the group are known.
 */
void drift_add(DriftSubject *s, DriftKind kind, DriftRepair repair, char *what, char *remedy);

/* board.c: compares the boards with the record, and their drivers with vfio-pci. */
void drift_check_boards(DriftSubject *s);
void drift_check_drivers(DriftSubject *s);
void drift_check_overrides(DriftSubject *s);

/*
 * domain.c: the domain that the record names, and other domains that have functions of the group.
 */
void drift_check_domain(DriftSubject *s);
void drift_check_others(DriftSubject *s);

/* How many functions of the group the domain has. */
typedef struct DriftHeld {
	size_t live, config;
} DriftHeld;
DriftHeld drift_count_held(const DriftSubject *s);
/*
 * Calls drift_about() for each function that the domain lacks, in the running guest or in the
 * definition.
 */
void drift_about_lacking(DriftSubject *s, bool live);
