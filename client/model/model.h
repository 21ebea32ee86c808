/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon publishes, as plain structs. Every string is non-NULL once read ("" where the
 * daemon had nothing); lists may be NULL, which is an empty list.
 *
 * Unless the run prints JSON, strings are cleaned of control characters while they are read, so
 * that no verb can forget to.
 */
#pragma once

#include <stdint.h>

#include "base/client.h"
#include "gpupass/states.h"
#include "gpupass/string-table.h"

DECLARE_STRING_TABLE(group_state, GroupState);
DECLARE_STRING_TABLE(job_state, JobState);
DECLARE_STRING_TABLE(step_state, StepState);
DECLARE_STRING_TABLE(operation, Operation);

typedef struct IntList {
	int32_t *items; /* -1: none or not known */
	size_t n_items;
} IntList;

typedef struct SizeList {
	uint64_t *items;
	size_t n_items;
} SizeList;

typedef struct Function {
	char *address;
	char *driver;
	int32_t iommu_group;
	uint32_t class_code;
} Function;

typedef struct FunctionList {
	Function *items;
	size_t n_items;
} FunctionList;

typedef struct Step {
	char *name;
	char *state;
	char *detail;
	uint64_t duration_usec;
} Step;

typedef struct StepList {
	Step *items;
	size_t n_items;
} StepList;

typedef struct Evidence {
	char *provenance;
	uint32_t links; /* 0: none, or not told */
	uint64_t seen_at;
	char *source;
} Evidence;

typedef struct EvidenceList {
	Evidence *items;
	size_t n_items;
} EvidenceList;

typedef struct Manager {
	char *path;
	char *version;
	bool libvirt_connected;
	bool iommu_enabled;
	uint64_t scanned_at;
	char **notes;
} Manager;

typedef struct Group {
	char *path;
	char *name, *state, *reason, *provenance, *source, *reasoning, *model, *link;
	uint32_t links, links_expected;
	EvidenceList evidence; /* strongest first */
	uint64_t evidence_at;  /* 0: links were not observed */
	char **gpus;	       /* object paths */
	char **gpu_addresses;
	char **functions;
	IntList iommu_groups, numa_nodes;
	char *driver, *domain_name, *domain_uuid;
	bool assignable;
	char *job;
	char *tenant_state; /* of the worst of its boards */
	char *verified;	    /* what its guest said last */
	uint64_t verified_at;
} Group;

typedef struct Gpu {
	char *path;
	char *address, *name, *model;
	uint16_t vendor_id, device_id, subsystem_vendor_id, subsystem_device_id;
	char *nvlink, *nvlink_note;
	uint32_t nvlink_generation, nvlink_links, nvlink_group_size;
	FunctionList functions;
	char *driver;
	int32_t iommu_group, numa_node;
	char *physical_slot;
	char **upstream_path;
	SizeList bar_sizes;
	char **reset_methods;
	bool boot_vga, virtual_functions;
	char *power_state, *uuid, *serial_number, *group;
	char *health, *health_reason, *link_speed, *max_link_speed;
	char *tenant_state, *tenant, *tenant_name, *tenant_reason; /* who had it last */
	uint32_t link_width, max_link_width;
	uint64_t aer_correctable, aer_nonfatal, aer_fatal;
} Gpu;

typedef struct Assignment {
	char *path;
	char *domain_name, *domain_uuid, *group_name, *group;
	char **applies; /* fit, numa */
	char **functions;
	uint64_t created_at;
	uint32_t created_by_uid;
} Assignment;

typedef struct Job {
	char *path;
	uint32_t id;
	char *operation, *group_name, *domain_name, *domain_uuid, *state;
	StepList steps;
	bool changed;
	char *error_name, *error_message;
	char **warnings;
	uint64_t created_at, duration_usec;
	uint32_t caller_uid;
	char *result; /* JSON */
} Job;

typedef enum ObjectKind {
	OBJECT_MANAGER,
	OBJECT_GROUP,
	OBJECT_GPU,
	OBJECT_ASSIGNMENT,
	OBJECT_JOB,
	OBJECT_KIND_MAX_,
} ObjectKind;

/* Everything there is: groups by name, GPUs by address, assignments by domain, jobs by id. */
typedef struct World {
	Manager manager;
	Group *groups;
	size_t n_groups;
	Gpu *gpus;
	size_t n_gpus;
	Assignment *assignments;
	size_t n_assignments;
	Job *jobs;
	size_t n_jobs;
} World;

int world_load(Client *c, World *ret);
void world_clear(World *w);

const Group *world_find_group(const World *w, const char *name);
/* If none has that name, the one that was assigned by it. */
const Group *world_find_group_named(const World *w, const char *name);
const Group *world_find_group_path(const World *w, const char *path);
/* By UUID, or by the normal address of any of its functions. */
const Gpu *world_find_gpu(const World *w, const char *address_or_uuid);
const Job *world_find_job(const World *w, uint32_t id);
const Job *world_find_job_path(const World *w, const char *path);
/* "" where the path is "/" or leads nowhere. */
const char *world_group_name(const World *w, const char *path);

/* All properties of one object, by a call of its own. `object` is the struct of its kind. */
int object_load(Client *c, ObjectKind kind, const char *path, void *object);
/* Reads an a{sv}. With `whole`, properties that the kind cannot do without must be there. */
int object_read(Client *c, ObjectKind kind, sd_bus_message *m, bool whole, void *object);
const char *object_interface(ObjectKind kind);
void object_clear(ObjectKind kind, void *object);

static inline _unused_ void job_clear(Job *job)
{
	object_clear(OBJECT_JOB, job);
}

static inline _unused_ void group_clear(Group *group)
{
	object_clear(OBJECT_GROUP, group);
}

/* A text from the bus as the structs hold it: cleaned, unless the run prints JSON. */
char *model_text(Client *c, const char *s, bool lines);
/* The number at the end of a job's path; 0 where there is none. */
uint32_t job_id_from_path(const char *path);
bool job_is_over(const Job *job);
