/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/bus.h"

#include "bus/call.h"
#include "gpupass/dbus.h"
#include "util/xalloc.h"

/* ---- from the manager's picture to what is shown ---- */

static void collect_groups(const Face *f, ShownObjects *set)
{
	const GroupSet *groups = manager_inventory(f->manager)->groups;

	for (size_t i = 0; i < groups->n_items; i++)
		group_view_fill(f->manager, &groups->items[i],
				collection_append(&f->shown[SHOWN_GROUPS], set,
						  group_path(groups->items[i].name)));
}

static void collect_gpus(const Face *f, ShownObjects *set)
{
	const GpuSet *gpus = manager_inventory(f->manager)->gpus;

	for (size_t i = 0; i < gpus->n_gpus; i++)
		gpu_view_fill(f->manager, f->names, &gpus->gpus[i],
			      collection_append(&f->shown[SHOWN_GPUS], set,
						gpu_path(&gpus->gpus[i].lead->bdf)));
}

static void collect_assignments(const Face *f, ShownObjects *set)
{
	const Assignments *all = manager_assignments(f->manager);

	for (size_t i = 0; i < all->n_items; i++)
		assignment_view_fill(f->manager, all->items[i],
				     collection_append(&f->shown[SHOWN_ASSIGNMENTS], set,
						       assignment_path(all->items[i])));
}

static void collect_jobs(const Face *f, ShownObjects *set)
{
	size_t n = 0;
	const JobRecord *const *jobs = manager_jobs(f->manager, &n);

	for (size_t i = 0; i < n; i++)
		job_view_fill(jobs[i],
			      collection_append(&f->shown[SHOWN_JOBS], set, job_path(jobs[i]->id)));
}

static const struct {
	const char *prefix, *interface;
	const sd_bus_vtable *vtable;
	size_t view_size;
	void (*collect)(const Face *f, ShownObjects *set);
} kinds[] = {
	[SHOWN_GROUPS] = { GPUPASS_PATH_GROUPS, GPUPASS_IFACE_GROUP, group_properties,
			   sizeof(GroupView), collect_groups },
	[SHOWN_GPUS] = { GPUPASS_PATH_GPUS, GPUPASS_IFACE_GPU, gpu_properties, sizeof(GpuView),
			 collect_gpus },
	[SHOWN_ASSIGNMENTS] = { GPUPASS_PATH_ASSIGNMENTS, GPUPASS_IFACE_ASSIGNMENT,
				assignment_properties, sizeof(AssignmentView),
				collect_assignments },
	[SHOWN_JOBS] = { GPUPASS_PATH_JOBS, GPUPASS_IFACE_JOB, job_properties, sizeof(JobView),
			 collect_jobs },
};

static void show(Face *f, Shown which)
{
	ShownObjects set = { 0 };

	kinds[which].collect(f, &set);
	collection_replace(&f->shown[which], &set);
	if (f->told)
		backlog_told(f->backlog);
}

/* What is other than `before`. */
static void tell_manager(Face *f, const ManagerView *before)
{
	_cleanup_free_ char **names = view_differences(manager_properties, before, &f->own);

	if (!names || !f->told)
		return;
	sd_bus_emit_properties_changed_strv(f->bus, GPUPASS_PATH_ROOT, GPUPASS_IFACE_MANAGER,
					    names);
	backlog_told(f->backlog);
}

static void show_manager(Face *f)
{
	ManagerView before = f->own;

	f->own = (ManagerView){ 0 };
	manager_view_fill(f->manager, &f->own);
	tell_manager(f, &before);
	view_clear(manager_properties, &before);
}

/* Whether it is told what changes from now on, and what changed while it was not. */
static void set_told(Face *f, bool told, bool catch_up)
{
	f->told = told;
	for (size_t i = 0; i < SHOWN_MAX_; i++)
		collection_set_told(&f->shown[i], told, catch_up);
	if (catch_up)
		tell_manager(f, &(ManagerView){ 0 });
}

static void on_backlog(bool much, void *userdata)
{
	set_told(userdata, !much, !much);
}

/* ---- the manager's listener ---- */

static void on_objects_changed(void *userdata)
{
	Face *f = userdata;

	if (manager_inventory(f->manager)) {
		show(f, SHOWN_GROUPS);
		show(f, SHOWN_GPUS);
	}
	if (manager_assignments(f->manager))
		show(f, SHOWN_ASSIGNMENTS);
	show_manager(f);
}

static void on_job_changed(const JobRecord *job, void *userdata)
{
	Face *f = userdata;

	show(f, SHOWN_JOBS);
}

static void on_job_new(const JobRecord *job, void *userdata)
{
	Face *f = userdata;
	_cleanup_free_ char *path = job_path(job->id);

	show(f, SHOWN_JOBS);
	sd_bus_emit_signal(f->bus, GPUPASS_PATH_ROOT, GPUPASS_IFACE_MANAGER, "JobNew", "uo",
			   job->id, path);
}

static void on_job_ended(const JobRecord *job, void *userdata)
{
	Face *f = userdata;
	_cleanup_free_ char *path = job_path(job->id);

	show(f, SHOWN_JOBS);
	sd_bus_emit_signal(f->bus, GPUPASS_PATH_ROOT, GPUPASS_IFACE_MANAGER, "JobRemoved", "uosss",
			   job->id, path, job_state_to_string(job->state), job->error_name,
			   job->message);
}

static void on_audit_written(void *userdata)
{
	show_manager(userdata);
}

/* ---- life ---- */

/*
 * Methods need the face. They find the view by the path. A call that polkit has permitted reaches
 * its handler even if the object has gone meanwhile: only there the permission is taken, and the
 * question's place is free again.
 */
static int find_face(sd_bus *bus, const char *path, const char *interface, void *userdata,
		     void **ret_found, sd_bus_error *error)
{
	sd_bus_message *call = sd_bus_get_current_message(bus);
	const char *domain_uuid;
	Face *f = userdata;

	*ret_found = f;
	return collection_find(&f->shown[SHOWN_GPUS], path) != NULL ||
	       (call && polkit_granted(f->polkit, call, &domain_uuid));
}

static int on_message(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Face *f = userdata;

	if (sd_bus_message_is_method_call(m, NULL, NULL))
		manager_asked(f->manager);
	return 0;
}

static int register_all(Face *f)
{
	int r = sd_bus_add_object_manager(f->bus, NULL, GPUPASS_PATH_ROOT);

	if (r >= 0)
		r = sd_bus_add_object_vtable(f->bus, NULL, GPUPASS_PATH_ROOT, GPUPASS_IFACE_MANAGER,
					     manager_methods, f);
	if (r >= 0)
		r = sd_bus_add_object_vtable(f->bus, NULL, GPUPASS_PATH_ROOT, GPUPASS_IFACE_MANAGER,
					     manager_properties, &f->own);
	for (size_t i = 0; r >= 0 && i < SHOWN_MAX_; i++) {
		f->shown[i] = (Collection){
			.bus = f->bus,
			.prefix = kinds[i].prefix,
			.interface = kinds[i].interface,
			.vtable = kinds[i].vtable,
			.view_size = kinds[i].view_size,
		};
		r = collection_register(&f->shown[i]);
	}
	if (r >= 0)
		r = sd_bus_add_fallback_vtable(f->bus, NULL, GPUPASS_PATH_GPUS, GPUPASS_IFACE_GPU,
					       gpu_methods, find_face, f);
	if (r >= 0)
		r = sd_bus_add_filter(f->bus, NULL, on_message, f);
	return r;
}

int face_new(sd_bus *bus, Manager *manager, CallerResolver *resolver, const char *pci_ids,
	     Face **ret)
{
	Face *f = xcalloc(1, sizeof(Face));
	int r;

	f->bus = bus;
	f->manager = manager;
	f->refusals.trail = manager_trail(manager);
	r = callers_new(bus, resolver, &f->callers);
	if (r >= 0)
		r = backlog_new(bus, on_backlog, f, &f->backlog);
	f->polkit = polkit_new(bus, f->callers, &f->refusals);
	manager_view_fill(manager, &f->own);
	f->names = pci_names_new(pci_ids);
	if (r >= 0)
		r = register_all(f);
	if (r < 0)
		return r;
	set_told(f, false, false);
	manager_set_listener(manager, &(ManagerListener){
					      .objects_changed = on_objects_changed,
					      .job_new = on_job_new,
					      .job_changed = on_job_changed,
					      .job_ended = on_job_ended,
					      .audit_written = on_audit_written,
					      .userdata = f,
				      });
	on_objects_changed(f);
	*ret = f;
	return 0;
}

/* The bus daemon's answers to RequestName. */
#define NAME_IS_OURS 1
#define NAME_IS_ANOTHERS 3

static int on_name(sd_bus_message *answer, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Face *f = userdata;
	uint32_t result = 0;
	int r;

	f->name = sd_bus_slot_unref(f->name);
	r = sd_bus_message_is_method_error(answer, NULL)
		    ? -sd_bus_message_get_errno(answer)
		    : sd_bus_message_read(answer, "u", &result);
	if (r >= 0 && result != NAME_IS_OURS)
		r = result == NAME_IS_ANOTHERS ? -EEXIST : -EPROTO;
	f->published(r < 0 ? r : 0, f->published_userdata);
	return 1;
}

int face_publish(Face *f, FacePublished published, void *userdata)
{
	f->published = published;
	f->published_userdata = userdata;
	set_told(f, true, false);
	/*
	 * Neither queue for the name nor replace its owner: a second instance must end (fault 42).
	 */
	return sd_bus_request_name_async(f->bus, &f->name, GPUPASS_BUS_NAME, 0, on_name, f);
}
