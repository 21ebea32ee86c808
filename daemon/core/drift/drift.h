/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drift: where the machine or libvirt's domains are not as the assignments say. Found, never stored:
 * a pure function of what was observed. What `gpupass reconcile` may mend has a repair; everything
 * else has a remedy for a person.
 */
#pragma once

#include "core/facts/boot-faults.h"
#include "core/facts/inspection.h"
#include "core/group/group.h"

/* X(enumerator, name). The names are on the bus and in JSON. */
#define DRIFT_KINDS(X)                                                                             \
	X(DRIFT_TWO_RECORDS, "two-records")	/* two records name the group */                   \
	X(DRIFT_NO_GROUP, "no-group")		/* a record's group is no longer known */          \
	X(DRIFT_BOARD, "board")			/* not the boards that were assigned */            \
	X(DRIFT_DRIVER, "driver")		/* functions are not on vfio-pci */                \
	X(DRIFT_OVERRIDE, "override")		/* on vfio-pci, but not by driver_override */      \
	X(DRIFT_NO_DOMAIN, "no-domain")		/* libvirt no longer has the domain */             \
	X(DRIFT_OTHER_DOMAIN, "other-domain")	/* another domain has the name now */              \
	X(DRIFT_MIGRATED, "migrated")		/* the guest runs on another host */               \
	X(DRIFT_NO_DEFINITION, "no-definition") /* it runs, but was undefined */                   \
	X(DRIFT_RENAMED, "renamed")		/* the record has an old name, domain or group */  \
	X(DRIFT_TAKEN, "taken")			/* another domain has a part of it */              \
	X(DRIFT_GUEST, "guest")			/* the running guest has only a part of it */      \
	X(DRIFT_LACKS_ALL, "lacks-all")		/* the definition has no function of it */         \
	X(DRIFT_LACKS_SOME, "lacks-some")	/* the definition has only a part of it */         \
	X(DRIFT_EDITED, "edited")	/* hostdevs or mark are not as gpupass made them */        \
	X(DRIFT_NO_RECORD, "no-record") /* whole in a domain with our mark, no record */           \
	X(DRIFT_MARK, "mark")		/* our mark, on a domain that does not have it */

typedef enum DriftKind {
#define X(enumerator, name) enumerator,
	DRIFT_KINDS(X)
#undef X
		DRIFT_KIND_MAX_,
} DriftKind;
DECLARE_STRING_TABLE(drift_kind, DriftKind);

/* What reconcile does about it. It never detaches, gives back, or takes a record away. */
#define DRIFT_REPAIRS(X)                                                                           \
	X(DRIFT_REPAIR_NONE, "none")                                                               \
	X(DRIFT_REPAIR_RECORD, "record") /* write the record that is missing */                    \
	X(DRIFT_REPAIR_RENAME, "rename") /* write the record with the new name */                  \
	X(DRIFT_REPAIR_BIND, "bind")	 /* bind functions to vfio-pci */                          \
	X(DRIFT_REPAIR_DEFINE, "define") /* put the group back into the definition */

typedef enum DriftRepair {
#define X(enumerator, name) enumerator,
	DRIFT_REPAIRS(X)
#undef X
		DRIFT_REPAIR_MAX_,
} DriftRepair;
DECLARE_STRING_TABLE(drift_repair, DriftRepair);

typedef struct DriftFinding {
	DriftKind kind;
	DriftRepair repair; /* NONE for a whole group that has a finding without one */
	char *group;
	char *domain_uuid, *domain_name; /* NULL: none */
	Bdf *functions;			 /* that it is about; none: the group as a whole */
	size_t n_functions;
	char *what;   /* one sentence */
	char *remedy; /* what to type */
} DriftFinding;

typedef struct Drift {
	DriftFinding *items; /* group by group */
	size_t n_items;
} Drift;

/* Nothing of it is kept. */
typedef struct DriftFacts {
	const PciSnapshot *snapshot;
	const GroupSet *groups; /* observed; those a job has, and quarantined ones, are left out */
	const DomainUses *uses; /* NULL: libvirt does not answer, nothing is said of domains */
	const Assignments *assignments;
	const Inspection *inspection; /* of some functions; NULL: overrides are not known */
	const BootFaults *boot;	      /* NULL: none */
} DriftFacts;

int drift_find(const DriftFacts *facts, Drift **ret);

/* There is a finding of this group that reconcile mends. */
bool drift_repairs_group(const Drift *drift, const char *group);
/* The same finding, word for word. */
bool drift_has(const Drift *drift, const DriftFinding *finding);

/* Schema org.gpupass1.drift/1; NULL when memory is out. */
char *drift_to_json(const Drift *drift, bool domains_known);

/* The definition has all of them as gpupass puts them there: alias, managed='no', and our mark. */
bool drift_defined_by_us(const DomainUse *use, const char *group, const Bdf *functions, size_t n);

Drift *drift_free(Drift *drift);
DEFINE_CLEANUP(Drift, drift_free)
