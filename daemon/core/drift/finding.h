/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of drift_find() share. */
#pragma once

#include "core/drift/drift.h"
#include "core/pci/driver-name.h"
#include "util/text.h"

/* One group, or one record of no group, under examination. */
typedef struct DriftSubject {
	const DriftFacts *facts;
	Drift *drift;
	size_t first; /* of its findings */
	bool blocked; /* one of them is for a person: reconcile keeps off the others, too */
	const char *name;
	const Group *group; /* NULL: a record's that is no longer known */
	const PciFunction **functions;
	size_t n_functions;
	const Assignment *record;
	const DomainUse *domain; /* that the record names, or that is marked */
	bool marked;		 /* the latter */
	Bdf about[64];		 /* of the next finding */
	size_t n_about;
} DriftSubject;

/* The next finding is about this function, too. */
void drift_about(DriftSubject *s, const Bdf *bdf);

/*
 * Takes both texts; NULL for `what`: memory was out. `remedy` may be NULL with a repair: it is
 * written once the group's other findings are known. It is about what drift_about() has gathered.
 */
int drift_add(DriftSubject *s, DriftKind kind, DriftRepair repair, char *what, char *remedy);

/* board.c: the record's boards against those that are there, and what they are on. */
int drift_check_boards(DriftSubject *s);
int drift_check_drivers(DriftSubject *s);
int drift_check_overrides(DriftSubject *s);

/* domain.c: the domain that the record names, and others that have a part of the group. */
int drift_check_domain(DriftSubject *s);
int drift_check_others(DriftSubject *s);

/* How many functions of the group the domain has, and which it lacks. */
typedef struct DriftHeld {
	size_t live, config;
} DriftHeld;
DriftHeld drift_count_held(const DriftSubject *s);
void drift_about_lacking(DriftSubject *s, bool live);
