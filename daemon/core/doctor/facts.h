/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report of doctor is made from: facts that the caller has gathered. */
#pragma once

#include "core/facts/examination.h"
#include "core/facts/health.h"
#include "core/facts/inspection.h"
#include "core/group/group.h"
#include "core/pci/host-facts.h"

/* What operators see in a guest, and ask about. */
#define DOCTOR_SYMPTOMS(X)                                                                         \
	X(SYMPTOM_NO_NVLINK, "no-nvlink") /* nvidia-smi shows no NVLink */                         \
	X(SYMPTOM_ONE_GPU, "one-gpu")	  /* only one of the GPUs is visible */                    \
	X(SYMPTOM_NO_P2P, "no-p2p")	  /* peer-to-peer is disabled */                           \
	X(SYMPTOM_SLOW, "slow")		  /* low bandwidth */

typedef enum DoctorSymptom {
#define X(enumerator, name) enumerator,
	DOCTOR_SYMPTOMS(X)
#undef X
		DOCTOR_SYMPTOM_MAX_, /* also: none was given */
} DoctorSymptom;
DECLARE_STRING_TABLE(doctor_symptom, DoctorSymptom);

/* The domain that is asked about. */
typedef struct DoctorDomain {
	const char *uuid;
	const char *name;
	bool active;
	const char *config_xml; /* NULL: transient */
	const char *live_xml;	/* NULL: does not run */
} DoctorDomain;

/*
 * What another part of gpupass has found, in its words: what drifted from the assignments, what was
 * seen of links and no longer counts.
 */
typedef struct DoctorNote {
	const char *group; /* that it is about */
	const char *what, *remedy;
	bool fail; /* false: a warning */
} DoctorNote;

typedef struct DoctorNotes {
	DoctorNote *items;
	size_t n_items;
} DoctorNotes;

/* All borrowed. */
typedef struct DoctorFacts {
	const PciSnapshot *snapshot;
	const GpuSet *gpus;
	const GroupSet *groups; /* observed */
	const DomainUses *uses; /* NULL: libvirt does not answer */
	const char *uses_note;	/* why; may be NULL */
	const Assignments *assignments;
	const Policy *policy;
	const Inspection *inspection; /* of all functions of groups; NULL: it failed */
	int inspection_error;
	const HostFacts *machine; /* what a guest has to fit into; NULL: not known */
	const Examination *host;  /* NULL: it failed */
	int host_error;
	const GpuHealth *health; /* of all GPUs of groups */
	size_t n_health;
	char *const *busy;	     /* groups that a job has in hand: their state is no fault */
	char *const *quarantined;    /* "pair0: why" */
	char *const *clears;	     /* for each of them what clear calls it; NULL: the group */
	char *const *open_jobs;	     /* "job 7 (assign pair0)": interrupted, not recovered yet */
	const DoctorNotes *drift;    /* NULL: nobody has looked */
	const DoctorNotes *evidence; /* likewise */
	const DoctorNotes *tenants;  /* likewise */
	const DoctorDomain *domain;  /* NULL: the host as a whole */
	DoctorSymptom symptom;
} DoctorFacts;
