/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/model.h"

#include "base/text.h"
#include "bus/bus.h"
#include "gpupass/domain-ref.h"
#include "util/bdf.h"
#include "util/grow.h"

#define WORLD_SIGNATURE "a{oa{sa{sv}}}"

DEFINE_STRING_TABLE(group_state, GroupState, GPUPASS_GROUP_STATES)
DEFINE_STRING_TABLE(job_state, JobState, GPUPASS_JOB_STATES)
DEFINE_STRING_TABLE(step_state, StepState, GPUPASS_STEP_STATES)
DEFINE_STRING_TABLE(operation, Operation, GPUPASS_OPERATIONS)

static void *world_add(World *w, ObjectKind kind)
{
	switch (kind) {
	case OBJECT_MANAGER:
		object_clear(OBJECT_MANAGER, &w->manager);
		return &w->manager;
	case OBJECT_GROUP:
		return GROW(w->groups, w->n_groups);
	case OBJECT_GPU:
		return GROW(w->gpus, w->n_gpus);
	case OBJECT_ASSIGNMENT:
		return GROW(w->assignments, w->n_assignments);
	case OBJECT_JOB:
		return GROW(w->jobs, w->n_jobs);
	case OBJECT_KIND_MAX_:
		break;
	}
	return NULL;
}

typedef struct Reading {
	Client *client;
	World *world;
	const char *path; /* of the object that is read */
} Reading;

static int read_interface(sd_bus_message *m, void *userdata)
{
	const Reading *reading = userdata;
	const char *interface;
	char **own_path;
	ObjectKind kind = 0;
	int r = sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &interface);

	if (r < 0)
		return r;
	while (kind < OBJECT_KIND_MAX_ && strcmp(object_interface(kind), interface) != 0)
		kind++;
	if (kind == OBJECT_KIND_MAX_)
		return sd_bus_message_skip(m, "a{sv}");
	own_path = world_add(reading->world, kind); /* the first member of every kind */
	*own_path = xstrdup(reading->path);
	return object_read(reading->client, kind, m, true, own_path);
}

static int read_object(sd_bus_message *m, void *userdata)
{
	Reading *reading = userdata;
	int r = sd_bus_message_read_basic(m, SD_BUS_TYPE_OBJECT_PATH, &reading->path);

	return r < 0 ? r : bus_each(m, "sa{sv}", read_interface, reading);
}

static int compare_groups(const void *a, const void *b)
{
	return strverscmp(((const Group *)a)->name, ((const Group *)b)->name);
}

static int compare_gpus(const void *a, const void *b)
{
	const char *left = ((const Gpu *)a)->address, *right = ((const Gpu *)b)->address;
	Bdf x, y;

	return bdf_parse(left, &x) < 0 || bdf_parse(right, &y) < 0 ? strcmp(left, right)
								   : bdf_compare(&x, &y);
}

static int compare_assignments(const void *a, const void *b)
{
	return strverscmp(((const Assignment *)a)->domain_name,
			  ((const Assignment *)b)->domain_name);
}

static int compare_jobs(const void *a, const void *b)
{
	const Job *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* qsort() must not get NULL, which is what an empty list is. */
static void sort_items(void *items, size_t n, size_t size,
		       int (*compare)(const void *, const void *))
{
	if (n > 1)
		qsort(items, n, size, compare);
}

static void world_sort(World *w)
{
	sort_items(w->groups, w->n_groups, sizeof(Group), compare_groups);
	sort_items(w->gpus, w->n_gpus, sizeof(Gpu), compare_gpus);
	sort_items(w->assignments, w->n_assignments, sizeof(Assignment), compare_assignments);
	sort_items(w->jobs, w->n_jobs, sizeof(Job), compare_jobs);
}

/*
 * Everything, as it comes over the bus. *ret_manager: the manager's own properties, which
 * GetManagedObjects leaves out: it returns the objects below the one that it is called on. Both are
 * asked for at once where nobody listens on the connection yet; NULL: only to be asked for.
 */
static int fetch(Client *c, sd_bus_message **ret, sd_bus_message **ret_manager)
{
	_cleanup_message_ sd_bus_message *call = NULL, *manager_call = NULL;
	_cleanup_(bus_pending_clear) BusPending objects = { 0 }, manager = { 0 };
	bool fresh = !c->bus;
	int r = bus_new_call(c, GPUPASS_PATH_ROOT, "org.freedesktop.DBus.ObjectManager",
			     "GetManagedObjects", &call);

	if (r < 0)
		return r;
	if (!fresh)
		return bus_call(c, call, BUS_TIMEOUT_READ_USEC, WORLD_SIGNATURE, ret);
	r = bus_new_get_all(c, GPUPASS_PATH_ROOT, GPUPASS_IFACE_MANAGER, &manager_call);
	if (r >= 0)
		r = bus_begin(c, call, &objects);
	if (r >= 0)
		r = bus_begin(c, manager_call, &manager);
	if (r >= 0)
		r = bus_end(c, &objects, BUS_TIMEOUT_READ_USEC, WORLD_SIGNATURE, ret);
	return r < 0 ? r : bus_end(c, &manager, BUS_TIMEOUT_READ_USEC, "a{sv}", ret_manager);
}

static int read_manager(Client *c, sd_bus_message *m, Manager *ret)
{
	if (!m)
		return object_load(c, OBJECT_MANAGER, GPUPASS_PATH_ROOT, ret);
	ret->path = xstrdup(GPUPASS_PATH_ROOT);
	return object_read(c, OBJECT_MANAGER, m, true, ret);
}

int world_load(Client *c, World *ret)
{
	_cleanup_message_ sd_bus_message *reply = NULL, *manager = NULL;
	_cleanup_(world_clear) World w = { 0 };
	Reading reading = { .client = c, .world = &w };
	int r = fetch(c, &reply, &manager);

	if (r < 0)
		return r;
	r = bus_each(reply, "oa{sa{sv}}", read_object, &reading);
	if (r < 0)
		return c->failure ? r : bus_bad_reply(c, strerror(-r));
	if (!w.manager.path) {
		r = read_manager(c, manager, &w.manager);
		if (r < 0)
			return r;
	}
	world_sort(&w);
	*ret = w;
	w = (World){ 0 };
	return 0;
}

void world_clear(World *w)
{
	object_clear(OBJECT_MANAGER, &w->manager);
	for (size_t i = 0; i < w->n_groups; i++)
		object_clear(OBJECT_GROUP, &w->groups[i]);
	for (size_t i = 0; i < w->n_gpus; i++)
		object_clear(OBJECT_GPU, &w->gpus[i]);
	for (size_t i = 0; i < w->n_assignments; i++)
		object_clear(OBJECT_ASSIGNMENT, &w->assignments[i]);
	for (size_t i = 0; i < w->n_jobs; i++)
		object_clear(OBJECT_JOB, &w->jobs[i]);
	free(w->groups);
	free(w->gpus);
	free(w->assignments);
	free(w->jobs);
	*w = (World){ 0 };
}

int object_load(Client *c, ObjectKind kind, const char *path, void *object)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	char **own_path = object; /* the first member of every kind */
	int r = bus_get_all(c, path, object_interface(kind), &reply);

	if (r < 0)
		return r;
	if (!*own_path)
		*own_path = xstrdup(path);
	return object_read(c, kind, reply, true, object);
}

const Group *world_find_group(const World *w, const char *name)
{
	return FIND(w->groups, w->n_groups, strcmp(it->name, name) == 0);
}

const Group *world_find_group_named(const World *w, const char *name)
{
	const Group *group = world_find_group(w, name);

	for (size_t i = 0; !group && i < w->n_assignments; i++)
		if (strcmp(w->assignments[i].group_name, name) == 0)
			group = world_find_group_path(w, w->assignments[i].group);
	return group;
}

bool group_is_of_domain(const Group *group, const char *word)
{
	char uuid[DOMAIN_UUID_SIZE];

	if (!*group->domain_uuid)
		return false;
	return domain_uuid_parse(word, uuid) ? strcmp(group->domain_uuid, uuid) == 0
					     : strcmp(group->domain_name, word) == 0;
}

/* A daemon that does not say so is an older one, which needs libvirt. */
bool manager_has_libvirt(const Manager *m)
{
	return !*m->domains_from || strcmp(m->domains_from, "libvirt") == 0;
}

const Group *world_find_group_path(const World *w, const char *path)
{
	return FIND(w->groups, w->n_groups, strcmp(it->path, path) == 0);
}

const char *world_group_name(const World *w, const char *path)
{
	const Group *group = world_find_group_path(w, path);

	return group ? group->name : "";
}

const Gpu *world_find_gpu(const World *w, const char *address_or_uuid)
{
	EACH (const Gpu, gpu, w->gpus, w->n_gpus) {
		if (strcmp(gpu->address, address_or_uuid) == 0 ||
		    (*gpu->uuid && strcasecmp(gpu->uuid, address_or_uuid) == 0))
			return gpu;
		if (SOME(gpu->functions.items, gpu->functions.n_items,
			 strcmp(it->address, address_or_uuid) == 0))
			return gpu;
	}
	return NULL;
}

const Job *world_find_job(const World *w, uint32_t id)
{
	return FIND(w->jobs, w->n_jobs, it->id == id);
}

const Job *world_find_job_path(const World *w, const char *path)
{
	return FIND(w->jobs, w->n_jobs, strcmp(it->path, path) == 0);
}

bool job_is_over(const Job *job)
{
	JobState state;

	if (job_state_from_string(job->state, &state) < 0)
		return false;
	return state == JOB_DONE || state == JOB_FAILED || state == JOB_CANCELLED ||
	       state == JOB_INCOMPLETE;
}
