/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drift: differences between the assignments on one side, and the machine and libvirt's domains on
 * the other. Findings are computed from what was observed, and never stored. A finding that
 * `gpupass reconcile` may mend has a repair; all others have a remedy for a person.
 */
#pragma once

#include "core/facts/boot-faults.h"
#include "core/facts/inspection.h"
#include "core/group/group.h"

/* X(enumerator, name). The names are on the bus and in JSON. */
#define DRIFT_KINDS(X)                                                                             \
	X(DRIFT_TWO_RECORDS, "two-records")	/* two records name the group */                   \
	X(DRIFT_NO_GROUP, "no-group")		/* the record's group is no longer known */        \
	X(DRIFT_BOARD, "board")			/* the boards are not those assigned */            \
	X(DRIFT_DRIVER, "driver")		/* functions are not on vfio-pci */                \
	X(DRIFT_OVERRIDE, "override")		/* on vfio-pci without a driver_override */        \
	X(DRIFT_NO_DOMAIN, "no-domain")		/* libvirt no longer has the domain */             \
	X(DRIFT_OTHER_DOMAIN, "other-domain")	/* another domain has the name now */              \
	X(DRIFT_MIGRATED, "migrated")		/* the guest runs on another host */               \
	X(DRIFT_NO_DEFINITION, "no-definition") /* the domain runs, but was undefined */           \
	X(DRIFT_RENAMED, "renamed")		/* the domain or the group has a new name */       \
	X(DRIFT_TAKEN, "taken")			/* another domain has functions of it */           \
	X(DRIFT_GUEST, "guest")			/* the running guest has only a part of it */      \
	X(DRIFT_LACKS_ALL, "lacks-all")		/* the definition has no function of it */         \
	X(DRIFT_LACKS_SOME, "lacks-some")	/* the definition has only a part of it */         \
	X(DRIFT_EDITED, "edited")	/* hostdevs or mark differ from what gpupass wrote */      \
	X(DRIFT_NO_RECORD, "no-record") /* a domain has our mark and all of it */                  \
	X(DRIFT_MARK, "mark")		/* a domain has our mark, but not all of it */             \
	X(DRIFT_UNREAD, "unread")	/* a record cannot be read; the group may be its file */

DECLARE_ENUM(drift_kind, DriftKind, DRIFT_KINDS, DRIFT_KIND_MAX_);

/*
 * What reconcile does about a finding. It never detaches a function, gives it back to the host's
 * driver, or removes a record.
 */
#define DRIFT_REPAIRS(X)                                                                           \
	X(DRIFT_REPAIR_NONE, "none")                                                               \
	X(DRIFT_REPAIR_RECORD, "record") /* write the missing record */                            \
	X(DRIFT_REPAIR_RENAME, "rename") /* write the new name into the record */                  \
	X(DRIFT_REPAIR_BIND, "bind")	 /* bind functions to vfio-pci */                          \
	X(DRIFT_REPAIR_DEFINE, "define") /* put the group back into the definition */

DECLARE_ENUM(drift_repair, DriftRepair, DRIFT_REPAIRS, DRIFT_REPAIR_MAX_);

typedef struct DriftFinding {
	DriftKind kind;
	DriftRepair repair; /* NONE if any finding of the group has no repair */
	char *group;
	char *domain_uuid, *domain_name; /* NULL: none */
	Bdf *functions;			 /* affected; none: the group as a whole */
	size_t n_functions;
	char *what;   /* one sentence */
	char *remedy; /* a command, or what a person does */
} DriftFinding;

typedef struct Drift {
	DriftFinding *items; /* group by group */
	size_t n_items;
	bool domains_known; /* false: there can be no findings about domains */
} Drift;

/* The input. A Drift keeps no pointer to it. */
typedef struct DriftFacts {
	const PciSnapshot *snapshot;
	const GroupSet *groups; /* observed; skipped while a job works on them, or in quarantine */
	const DomainUses *uses; /* NULL: libvirt does not answer; no findings about domains */
	const Assignments *assignments;
	const Inspection *inspection; /* of some functions; NULL: driver_override is not known */
	const BootFaults *boot;	      /* NULL: none */
	uint64_t host_key;	      /* domain_vf_mac() */
	size_t n_nodes;		      /* of the host, as of pcie_distance() */
} DriftFacts;

Drift *drift_find(const DriftFacts *facts);

/* `drift` has the same finding: kind, group, domain and text. */
bool drift_has(const Drift *drift, const DriftFinding *finding);

/* Schema org.gpupass1.drift/1. */
char *drift_to_json(const Drift *drift);

/* The definition has our mark, and each function as gpupass writes it: our alias, managed='no'. */
bool drift_defined_by_us(const DomainUse *use, const char *group, const Bdf *functions, size_t n);

DECLARE_FREE(Drift, drift_free)
