/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/json.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "gpupass/dbus.h"

/* NULL for "", which on the bus means "nothing". */
static const char *or_null(const char *s)
{
	return *s ? s : NULL;
}

/* The number of a NUMA node or an IOMMU group: -1 is "none". */
static json_t *json_number(int32_t value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static json_t *json_numbers(const IntList *l)
{
	_cleanup_(json_decrefp) json_t *array = json_array();

	for (size_t i = 0; i < l->n_items; i++)
		if (json_array_append_new(array, json_number(l->items[i])) < 0)
			return NULL;
	return TAKE_PTR(array);
}

static json_t *json_sizes(const SizeList *l)
{
	_cleanup_(json_decrefp) json_t *array = json_array();

	for (size_t i = 0; i < l->n_items; i++)
		if (json_array_append_new(array, json_unsigned(l->items[i])) < 0)
			return NULL;
	return TAKE_PTR(array);
}

static json_t *json_domain(const char *name, const char *uuid)
{
	if (!*name && !*uuid)
		return json_null();
	return json_pack("{s:s?, s:s?}", "name", or_null(name), "uuid", or_null(uuid));
}

/* The id of the job at this path. */
static json_t *json_job_id(const char *path)
{
	uint32_t id = job_id_from_path(path);

	return id == 0 ? json_null() : json_integer(id);
}

json_t *json_manager(const Manager *m)
{
	return json_pack("{s:s?, s:b, s:b, s:o, s:o}", "version", or_null(m->version),
			 "libvirt_connected", m->libvirt_connected, "iommu_enabled",
			 m->iommu_enabled, "scanned_at", json_unsigned(m->scanned_at), "notes",
			 json_strings(m->notes));
}

static json_t *json_time(uint64_t usec)
{
	return usec == 0 ? json_null() : json_unsigned(usec);
}

static json_t *json_evidence(const EvidenceList *l)
{
	_cleanup_(json_decrefp) json_t *array = json_array();

	for (size_t i = 0; i < l->n_items; i++) {
		const Evidence *e = &l->items[i];
		json_t *item = json_pack("{s:s, s:I, s:o, s:s?}", "provenance", e->provenance,
					 "links", (json_int_t)e->links, "seen_at",
					 json_time(e->seen_at), "source", or_null(e->source));

		if (json_array_append_new(array, item) < 0)
			return NULL;
	}
	return TAKE_PTR(array);
}

json_t *json_group(const Group *g)
{
	return json_pack(
		"{s:s, s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:I, s:I, s:o, s:o,"
		" s:o, s:o, s:o, s:o, s:s?, s:o, s:b, s:o, s:s?, s:s?, s:o}",
		"name", g->name, "state", g->state, "reason", or_null(g->reason), "provenance",
		or_null(g->provenance), "source", or_null(g->source), "reasoning",
		or_null(g->reasoning), "model", or_null(g->model), "link", or_null(g->link),
		"links", (json_int_t)g->links, "links_expected", (json_int_t)g->links_expected,
		"evidence", json_evidence(&g->evidence), "evidence_at", json_time(g->evidence_at),
		"gpus", json_strings(g->gpu_addresses), "functions", json_strings(g->functions),
		"iommu_groups", json_numbers(&g->iommu_groups), "numa_nodes",
		json_numbers(&g->numa_nodes), "driver", or_null(g->driver), "domain",
		json_domain(g->domain_name, g->domain_uuid), "assignable", g->assignable, "job",
		json_job_id(g->job), "tenant_state", or_null(g->tenant_state), "verified",
		or_null(g->verified), "verified_at", json_time(g->verified_at));
}

static json_t *json_functions(const FunctionList *l)
{
	_cleanup_(json_decrefp) json_t *array = json_array();

	for (size_t i = 0; i < l->n_items; i++) {
		const Function *f = &l->items[i];
		json_t *item =
			json_pack("{s:s, s:s?, s:o, s:I}", "address", f->address, "driver",
				  or_null(f->driver), "iommu_group", json_number(f->iommu_group),
				  "class", (json_int_t)f->class_code);

		if (json_array_append_new(array, item) < 0)
			return NULL;
	}
	return TAKE_PTR(array);
}

static json_t *json_nvlink(const Gpu *g)
{
	return json_pack("{s:s?, s:s?, s:I, s:I, s:I}", "kind", or_null(g->nvlink), "note",
			 or_null(g->nvlink_note), "generation", (json_int_t)g->nvlink_generation,
			 "links", (json_int_t)g->nvlink_links, "group_size",
			 (json_int_t)g->nvlink_group_size);
}

static json_t *json_health(const Gpu *g)
{
	return json_pack("{s:s?, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:o, s:o}", "state",
			 or_null(g->health), "reason", or_null(g->health_reason), "link_speed",
			 or_null(g->link_speed), "max_link_speed", or_null(g->max_link_speed),
			 "link_width", json_unsigned(g->link_width), "max_link_width",
			 json_unsigned(g->max_link_width), "aer_correctable",
			 json_unsigned(g->aer_correctable), "aer_nonfatal",
			 json_unsigned(g->aer_nonfatal), "aer_fatal", json_unsigned(g->aer_fatal));
}

static json_t *json_tenant(const Gpu *g)
{
	return json_pack("{s:s?, s:s?, s:s?, s:s?}", "state", or_null(g->tenant_state), "uuid",
			 or_null(g->tenant), "name", or_null(g->tenant_name), "reason",
			 or_null(g->tenant_reason));
}

json_t *json_gpu(const World *w, const Gpu *g)
{
	return json_pack("{s:s, s:s?, s:s?, s:i, s:i, s:i, s:i, s:o, s:o, s:s?, s:o, s:o,"
			 " s:s?, s:o, s:o, s:o, s:b, s:b, s:s?, s:o, s:s?, s:s?, s:o, s:s?}",
			 "address", g->address, "name", or_null(g->name), "model",
			 or_null(g->model), "vendor_id", (int)g->vendor_id, "device_id",
			 (int)g->device_id, "subsystem_vendor_id", (int)g->subsystem_vendor_id,
			 "subsystem_device_id", (int)g->subsystem_device_id, "nvlink",
			 json_nvlink(g), "functions", json_functions(&g->functions), "driver",
			 or_null(g->driver), "iommu_group", json_number(g->iommu_group),
			 "numa_node", json_number(g->numa_node), "physical_slot",
			 or_null(g->physical_slot), "upstream_path", json_strings(g->upstream_path),
			 "bar_sizes", json_sizes(&g->bar_sizes), "reset_methods",
			 json_strings(g->reset_methods), "boot_vga", g->boot_vga,
			 "virtual_functions", g->virtual_functions, "power_state",
			 or_null(g->power_state), "health", json_health(g), "uuid",
			 or_null(g->uuid), "serial_number", or_null(g->serial_number), "tenant",
			 json_tenant(g), "group", or_null(world_group_name(w, g->group)));
}

json_t *json_assignment(const Assignment *a)
{
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:I}", "domain",
			 json_domain(a->domain_name, a->domain_uuid), "group", a->group_name,
			 "applies", json_strings(a->applies), "functions",
			 json_strings(a->functions), "created_at", json_unsigned(a->created_at),
			 "created_by_uid", (json_int_t)a->created_by_uid);
}

static json_t *json_steps(const StepList *l)
{
	_cleanup_(json_decrefp) json_t *array = json_array();

	for (size_t i = 0; i < l->n_items; i++) {
		const Step *s = &l->items[i];
		json_t *item = json_pack("{s:s, s:s, s:s?, s:o}", "name", s->name, "state",
					 s->state, "detail", or_null(s->detail), "duration_usec",
					 json_unsigned(s->duration_usec));

		if (json_array_append_new(array, item) < 0)
			return NULL;
	}
	return TAKE_PTR(array);
}

static json_t *json_job_error(const Job *j)
{
	if (!*j->error_name)
		return json_null();
	return json_pack("{s:s, s:s}", "name", j->error_name, "message", j->error_message);
}

/* The job's result, a document of its own. */
static json_t *json_result(const Job *j)
{
	json_t *result = json_loads(j->result, 0, NULL);

	return result ? result : json_null();
}

json_t *json_job(const Job *j)
{
	return json_pack(
		"{s:I, s:s?, s:s?, s:s?, s:s?, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "id",
		(json_int_t)j->id, "operation", or_null(j->operation), "group",
		or_null(j->group_name), "domain", or_null(j->domain_name), "domain_uuid",
		or_null(j->domain_uuid), "state", j->state, "changed", j->changed, "steps",
		json_steps(&j->steps), "error", json_job_error(j), "warnings",
		json_strings(j->warnings), "created_at", json_unsigned(j->created_at),
		"duration_usec", json_unsigned(j->duration_usec), "caller_uid",
		(json_int_t)j->caller_uid, "result", json_result(j));
}

json_t *json_groups(const World *w)
{
	_cleanup_(json_decrefp) json_t *array = json_array();

	for (size_t i = 0; i < w->n_groups; i++)
		if (json_array_append_new(array, json_group(&w->groups[i])) < 0)
			return NULL;
	return TAKE_PTR(array);
}

json_t *json_gpus(const World *w)
{
	_cleanup_(json_decrefp) json_t *array = json_array();

	for (size_t i = 0; i < w->n_gpus; i++)
		if (json_array_append_new(array, json_gpu(w, &w->gpus[i])) < 0)
			return NULL;
	return TAKE_PTR(array);
}

json_t *json_jobs(const World *w)
{
	_cleanup_(json_decrefp) json_t *array = json_array();

	for (size_t i = 0; i < w->n_jobs; i++)
		if (json_array_append_new(array, json_job(&w->jobs[i])) < 0)
			return NULL;
	return TAKE_PTR(array);
}
