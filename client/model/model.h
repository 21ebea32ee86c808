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

typedef BusFunction Function;
typedef BusStep Step;
typedef BusEvidence Evidence;

/* The path comes first in every kind. */
typedef struct Manager {
	char *path;
#define MANAGER_PROPERTY PROPERTY_MEMBER
#include "gpupass/interfaces.h"
} Manager;

typedef struct Group {
	char *path;
#define GROUP_PROPERTY PROPERTY_MEMBER
#include "gpupass/interfaces.h"
} Group;

typedef struct Gpu {
	char *path;
#define GPU_PROPERTY PROPERTY_MEMBER
#include "gpupass/interfaces.h"
} Gpu;

typedef struct Assignment {
	char *path;
#define ASSIGNMENT_PROPERTY PROPERTY_MEMBER
#include "gpupass/interfaces.h"
} Assignment;

typedef struct Job {
	char *path;
#define JOB_PROPERTY PROPERTY_MEMBER
#include "gpupass/interfaces.h"
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
