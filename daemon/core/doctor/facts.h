/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input of doctor_report(): facts that the caller has gathered. */
#pragma once

#include "core/base/problem.h"
#include "core/domain/use.h"
#include "core/facts/examination.h"
#include "core/facts/health.h"
#include "core/facts/inspection.h"
#include "core/facts/receipt.h"
#include "core/group/group.h"
#include "core/pci/host-facts.h"

/* What operators see in a guest and ask about. */
#define DOCTOR_SYMPTOMS(X)                                                                         \
	X(SYMPTOM_NO_NVLINK, "no-nvlink") /* nvidia-smi shows no NVLink */                         \
	X(SYMPTOM_ONE_GPU, "one-gpu")	  /* only one of the GPUs is visible */                    \
	X(SYMPTOM_NO_P2P, "no-p2p")	  /* peer-to-peer is disabled */                           \
	X(SYMPTOM_SLOW, "slow")		  /* low bandwidth */

DECLARE_ENUM(doctor_symptom, DoctorSymptom, DOCTOR_SYMPTOMS, DOCTOR_SYMPTOM_MAX_);

/*
 * A finding of another part of gpupass, in its words: drift from the assignments, for example, or
 * evidence of links that no longer counts.
 */
typedef struct DoctorNote {
	const char *group; /* the group that it is about */
	const char *what, *remedy;
	bool fail; /* false: a warning */
} DoctorNote;

typedef struct DoctorNotes {
	DoctorNote *items;
	size_t n_items;
} DoctorNotes;

/* All pointers are borrowed. */
typedef struct DoctorFacts {
	const PciSnapshot *snapshot;
	const GpuSet *gpus;
	const GroupSet *groups; /* observed */
	const DomainUses *uses; /* NULL: libvirt does not answer */
	const char *uses_note;	/* why libvirt does not answer; may be NULL */
	const Assignments *assignments;
	const Policy *policy;
	const Inspection *inspection; /* of all functions of groups; NULL: it failed */
	int inspection_error;
	const Problem *inspection_problem; /* the same in words; NULL: not known */
	const HostFacts *machine;	   /* memory, CPUs, NUMA nodes; NULL: not known */
	const Examination *host;	   /* NULL: it failed */
	int host_error;
	const Problem *host_problem;
	const GpuHealth *health; /* of all GPUs of groups */
	size_t n_health;
	const LastReset *resets; /* of the GPUs; NULL: nobody keeps receipts */
	size_t n_resets;
	char *const *busy;	     /* groups that a job works on: their state is no fault */
	char *const *quarantined;    /* "pair0: why" */
	char *const *clears;	     /* their names for `gpupass clear`; NULL: the groups' */
	char *const *open_jobs;	     /* interrupted and not recovered yet: "job 7 (assign pair0)" */
	char *const *settings;	     /* faults of groups.d: "groups.d/x.conf:3: …" */
	const DoctorNotes *drift;    /* NULL: not looked for */
	const DoctorNotes *evidence; /* NULL: not looked for */
	const DoctorNotes *tenants;  /* NULL: not looked for */
	const DoctorNotes *files;    /* of no group; NULL: not looked for */
	const DoctorNotes *split;    /* domains with a part of a group; NULL: not looked for */
	const char *fence_fault;     /* why libvirt's hook cannot use fence.json; NULL: it can */
	const VirtDomain *domain;    /* NULL: the host as a whole */
	DoctorSymptom symptom;
} DoctorFacts;
