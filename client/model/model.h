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
#include "gpupass/properties.h"
#include "gpupass/states.h"
#include "gpupass/string-table.h"

DECLARE_STRING_TABLE(group_state, GroupState);
DECLARE_STRING_TABLE(job_state, JobState);
DECLARE_STRING_TABLE(step_state, StepState);
DECLARE_STRING_TABLE(operation, Operation);

/* The C type of each PropertyType. */
#define MODEL_TYPE_STRING char *
#define MODEL_TYPE_LINES char *
#define MODEL_TYPE_STRINGS char **
#define MODEL_TYPE_PATH char *
#define MODEL_TYPE_PATHS char **
#define MODEL_TYPE_BOOL bool
#define MODEL_TYPE_UINT16 uint16_t
#define MODEL_TYPE_UINT32 uint32_t
#define MODEL_TYPE_INT32 int32_t
#define MODEL_TYPE_UINT64 uint64_t
#define MODEL_TYPE_INT32S IntList
#define MODEL_TYPE_UINT64S SizeList
#define MODEL_TYPE_FUNCTIONS FunctionList
#define MODEL_TYPE_STEPS StepList
#define MODEL_TYPE_EVIDENCE EvidenceList

/* For the lists of gpupass/properties.h: a member of a structure, and of an object. */
#define MODEL_ITEM_MEMBER(S, TYPE, member) MODEL_TYPE_##TYPE member;
#define MODEL_MEMBER(S, Name, TYPE, member, MODE, NEED) MODEL_TYPE_##TYPE member;

typedef struct IntList {
	int32_t *items;
	size_t n_items;
} IntList;

typedef struct SizeList {
	uint64_t *items;
	size_t n_items;
} SizeList;

typedef struct Function {
	GPUPASS_FUNCTION_MEMBERS(MODEL_ITEM_MEMBER, )
} Function;

typedef struct FunctionList {
	Function *items;
	size_t n_items;
} FunctionList;

typedef struct Step {
	GPUPASS_STEP_MEMBERS(MODEL_ITEM_MEMBER, )
} Step;

typedef struct StepList {
	Step *items;
	size_t n_items;
} StepList;

typedef struct Evidence {
	GPUPASS_EVIDENCE_MEMBERS(MODEL_ITEM_MEMBER, )
} Evidence;

typedef struct EvidenceList {
	Evidence *items;
	size_t n_items;
} EvidenceList;

/* The path comes first in every kind. */
typedef struct Manager {
	char *path;
	GPUPASS_MANAGER_PROPERTIES(MODEL_MEMBER, )
} Manager;

typedef struct Group {
	char *path;
	GPUPASS_GROUP_PROPERTIES(MODEL_MEMBER, )
} Group;

typedef struct Gpu {
	char *path;
	GPUPASS_GPU_PROPERTIES(MODEL_MEMBER, )
} Gpu;

typedef struct Assignment {
	char *path;
	GPUPASS_ASSIGNMENT_PROPERTIES(MODEL_MEMBER, )
} Assignment;

typedef struct Job {
	char *path;
	GPUPASS_JOB_PROPERTIES(MODEL_MEMBER, )
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
/* Without libvirt, by Uri=none, it is no fault that it is not connected. */
bool manager_has_libvirt(const Manager *m);
const Group *world_find_group_path(const World *w, const char *path);
/* Whether this word means its domain: a UUID in any case of letters, or a name. */
bool group_is_of_domain(const Group *group, const char *word);
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
