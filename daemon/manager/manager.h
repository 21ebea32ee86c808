/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owns what the daemon knows: inventory, groups, domains' uses, assignments and jobs. The one
 * place where they meet. Everything here runs on the loop and never blocks; what may block runs
 * on threads and comes back through the mailbox.
 */
#pragma once

#include "core/doctor/doctor.h"
#include "job/job.h"
#include "manager/config.h"

typedef struct JobStep {
	StepKind kind;
	StepState state;
	char *detail; /* NULL: none */
	uint64_t duration_usec;
} JobStep;

/* A job as the loop knows it; stays for a while after its end. */
typedef struct JobRecord {
	uint32_t id;
	Operation operation;
	char *group;	   /* "" until it is known */
	char *domain_name; /* likewise */
	char *domain_uuid; /* likewise */
	JobState state;
	bool ended;
	bool rolling_back;
	JobStep *steps;
	size_t n_steps;
	bool changed;
	char **warnings;
	Bdf *functions;
	size_t n_functions;
	char *error_name;	/* "" : none */
	char *message;		/* "" : none */
	uint64_t created_usec;	/* CLOCK_REALTIME */
	uint64_t started_usec;	/* CLOCK_MONOTONIC */
	uint64_t duration_usec; /* 0 until it ended */
	uint32_t caller_uid;
	char *result; /* "" : none */
} JobRecord;

typedef struct Manager Manager;

/* Told on the loop; all members must be set. */
typedef struct ManagerListener {
	void (*objects_changed)(void *userdata); /* groups, GPUs, assignments, notes */
	void (*job_new)(const JobRecord *job, void *userdata);
	void (*job_changed)(const JobRecord *job, void *userdata);
	void (*job_ended)(const JobRecord *job, void *userdata);
	void (*job_forgotten)(const JobRecord *job, void *userdata); /* still in the list */
	void *userdata;
} ManagerListener;

/* All borrowed for the life of the manager. */
typedef struct ManagerPlace {
	Mailbox *mailbox;
	Host *host;
	const AssignmentStore *store;
	const ReceiptStore *receipts;
	const Journal *journal;
	const QuarantineStore *quarantine;
	TenantStore *tenants;
	TopologyStore *topology;
	const char *config_directory;
	Policy policy;
	const char *host_note; /* what is wrong with this host from the start; NULL: nothing */
} ManagerPlace;

int manager_new(const ManagerPlace *place, Manager **ret);
void manager_set_listener(Manager *m, const ManagerListener *listener);

/* Looks at the machine again; `done` (may be NULL) is told when the picture is current. */
typedef void (*ManagerDone)(void *userdata);
int manager_rescan(Manager *m, ManagerDone done, void *userdata);
/* The same for the machine and then, while libvirt is connected, for its domains. */
int manager_refresh(Manager *m, ManagerDone done, void *userdata);
/* libvirt came, went, or changed a domain. */
void manager_libvirt_changed(Manager *m, bool connected);

/* Reads what a daemon before this one left open or quarantined; before anything else. */
int manager_load_state(Manager *m);
/* Reads gpupass-bind's report of this boot, boot.json in the directory. */
int manager_load_boot(Manager *m, const char *runtime_directory);
/* Finishes or undoes what was left open, as far as libvirt answers. -EBUSY: it is at it. */
int manager_recover(Manager *m, ManagerDone done, void *userdata);

/*
 * The domain that a person's word means, asked of libvirt now. NULL: there is none, or libvirt does
 * not answer.
 */
typedef void (*ManagerFound)(const DomainId *id, void *userdata);
int manager_find_domain(Manager *m, const char *word, ManagerFound done, void *userdata);
/* By its name, or the one that it was assigned by, in the picture. NULL: none. */
const Group *manager_find_group(const Manager *m, const char *name);

/* Starts a job; its id in *ret_id. PROBLEM (LimitsExceeded) when too many run. */
int manager_start_job(Manager *m, const JobRequest *request, uint32_t *ret_id,
		      Problem **ret_problem);
/* A dry run. */
int manager_plan(Manager *m, const JobRequest *request, PlanListener listener, void *userdata);

/* Declares or forgets a group; `done` is told the outcome: NULLs when all is well. */
typedef void (*ManagerDeclared)(const char *error_name, const char *message, void *userdata);
int manager_declare(Manager *m, const char *name, char *const *members, ManagerDeclared done,
		    void *userdata);
int manager_forget(Manager *m, const char *name, ManagerDeclared done, void *userdata);

/* Lifts a quarantine whose cause is gone; `done` as above. PROBLEM: refused at once. */
int manager_clear(Manager *m, const char *group, ManagerDeclared done, void *userdata,
		  Problem **ret_problem);

/* Reads groups.d again, as after a person edited it. */
int manager_reload(Manager *m);

/* A close look at one GPU for `show`, which wakes nothing. NULL inspection: `error` is a negative
 * errno. */
typedef void (*ManagerInspected)(const Inspection *inspection, int error, void *userdata);
int manager_inspect(Manager *m, const Bdf *functions, size_t n, ManagerInspected done,
		    void *userdata);

/* Everything that has drifted, by a fresh look: schema org.gpupass1.drift/1. NULL: `error`. */
typedef void (*ManagerDrift)(const char *json, int error, void *userdata);
int manager_get_drift(Manager *m, ManagerDrift done, void *userdata);
/*
 * A report of what is wrong with this host, or with a domain (NULL: the host) and its group; JSON,
 * or the error's name and message.
 */
typedef void (*ManagerReported)(const char *report, const char *error_name, const char *message,
				void *userdata);
int manager_doctor(Manager *m, const char *domain, DoctorSymptom symptom, ManagerReported done,
		   void *userdata);

/* Reads the health of GPUs again, unless that was done a moment ago; for a slow timer. */
void manager_look_at_health(Manager *m);
/* As it was last read; NULL: not yet. */
const GpuHealth *manager_gpu_health(const Manager *m, const Bdf *lead);

/* The picture, for the faces. Borrowed until the next turn of the loop. NULL before the first. */
const Inventory *manager_inventory(const Manager *m);
/* What was seen of the links, as the picture has it; NULL: nothing. */
const Evidence *manager_evidence(const Manager *m);
const Assignments *manager_assignments(const Manager *m);
const DomainUses *manager_uses(const Manager *m); /* NULL: not known */
char *const *manager_notes(const Manager *m);
bool manager_libvirt_connected(const Manager *m);
/* Who had the board last, and whether it was reset since; texts are borrowed from the picture. */
Tenancy manager_gpu_tenancy(const Manager *m, const Gpu *gpu);
/* What the guest that has the group said of it last. Verdict UNKNOWN and 0: it was not asked. */
Verdict manager_group_verdict(const Manager *m, const Group *group, uint64_t *ret_asked_usec);
uint32_t manager_group_job(const Manager *m, const Group *group); /* 0: none */
const JobRecord *manager_job(const Manager *m, uint32_t id);	  /* NULL: none */
/* All jobs, oldest first. */
const JobRecord *const *manager_jobs(const Manager *m, size_t *ret_n);

Manager *manager_free(Manager *m);
DEFINE_CLEANUP(Manager, manager_free)
