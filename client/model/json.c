/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/json.h"

#include "base/json.h"
#include "base/text.h"
#include "gpupass/dbus.h"

/* ---- values, by their type ---- */

/* "" means "nothing" on the bus. */
static json_t *json_text_if_any(const char *s)
{
	return *s ? json_text(s) : json_null();
}

static json_t *json_truth(bool value)
{
	return json_boolean(value);
}

/* The number of a NUMA node or an IOMMU group: -1 is "none". */
static json_t *json_number(int32_t value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static json_t *json_time(uint64_t usec)
{
	return usec == 0 ? json_null() : json_unsigned(usec);
}

/* An array of `value`, which is made of `item`, for each of the items. */
#define JSON_ARRAY(items, n_items, value)                                                          \
	({                                                                                         \
		json_t *array_ = json_array();                                                     \
		for (size_t i_ = 0; i_ < (n_items); i_++) {                                        \
			const __typeof__(*(items)) *item = &(items)[i_];                           \
			json_append(array_, (value));                                              \
		}                                                                                  \
		array_;                                                                            \
	})

static json_t *json_numbers(IntList l)
{
	return JSON_ARRAY(l.items, l.n_items, json_number(*item));
}

static json_t *json_sizes(SizeList l)
{
	return JSON_ARRAY(l.items, l.n_items, json_unsigned(*item));
}

/* ---- objects ---- */

typedef struct JsonMember {
	const char *key; /* NULL ends a list */
	json_t *value;
} JsonMember;

/* Takes the values. */
static json_t *json_members(const JsonMember *members)
{
	json_t *object = json_object();

	for (; members->key; members++)
		json_set(object, members->key, members->value);
	return object;
}

#define JSON_OBJECT(...) json_members((const JsonMember[]){ __VA_ARGS__, { NULL, NULL } })

/* A member under its own name, as all of its type are shown; and one that is shown otherwise. */
#define MEMBER(object, member) KEY(#member, JSON_VALUE((object)->member))
#define KEY(key, value)                                                                            \
	{                                                                                          \
		(key), (value)                                                                     \
	}

#define JSON_VALUE(value)                                                                          \
	_Generic((value), char * : json_text_if_any, bool : json_truth, uint16_t : json_unsigned,         \
		 uint32_t : json_unsigned, uint64_t : json_unsigned, int32_t : json_number,        \
		 char ** : json_strv, IntList : json_numbers, SizeList : json_sizes)(value)

json_t *json_manager(const Manager *m)
{
	return JSON_OBJECT(MEMBER(m, version), MEMBER(m, libvirt_connected),
			   MEMBER(m, domains_from), MEMBER(m, iommu_enabled), MEMBER(m, scanned_at),
			   MEMBER(m, notes));
}

static json_t *json_domain(const char *name, const char *uuid)
{
	if (!*name && !*uuid)
		return json_null();
	return JSON_OBJECT(KEY("name", json_text_if_any(name)),
			   KEY("uuid", json_text_if_any(uuid)));
}

/* The id of the job at this path. */
static json_t *json_job_id(const char *path)
{
	uint32_t id = job_id_from_path(path);

	return id == 0 ? json_null() : json_integer(id);
}

static json_t *json_evidence(const Evidence *e)
{
	return JSON_OBJECT(KEY("provenance", json_text(e->provenance)), MEMBER(e, links),
			   KEY("seen_at", json_time(e->seen_at)), MEMBER(e, source));
}

json_t *json_group(const Group *g)
{
	return JSON_OBJECT(
		KEY("name", json_text(g->name)), KEY("state", json_text(g->state)),
		MEMBER(g, reason), MEMBER(g, provenance), MEMBER(g, source), MEMBER(g, reasoning),
		MEMBER(g, model), MEMBER(g, link), MEMBER(g, links), MEMBER(g, links_expected),
		KEY("evidence",
		    JSON_ARRAY(g->evidence.items, g->evidence.n_items, json_evidence(item))),
		KEY("evidence_at", json_time(g->evidence_at)),
		KEY("gpus", json_strv(g->gpu_addresses)), MEMBER(g, functions),
		MEMBER(g, iommu_groups), MEMBER(g, numa_nodes), MEMBER(g, driver),
		KEY("domain", json_domain(g->domain_name, g->domain_uuid)), MEMBER(g, assignable),
		MEMBER(g, kept), KEY("job", json_job_id(g->job)), MEMBER(g, tenant_state),
		MEMBER(g, verified), KEY("verified_at", json_time(g->verified_at)),
		MEMBER(g, past_guest_word));
}

static json_t *json_function(const Function *f)
{
	return JSON_OBJECT(KEY("address", json_text(f->address)), MEMBER(f, driver),
			   MEMBER(f, iommu_group), KEY("class", json_unsigned(f->class_code)));
}

static json_t *json_nvlink(const Gpu *g)
{
	return JSON_OBJECT(KEY("kind", json_text_if_any(g->nvlink)),
			   KEY("note", json_text_if_any(g->nvlink_note)),
			   KEY("generation", json_unsigned(g->nvlink_generation)),
			   KEY("links", json_unsigned(g->nvlink_links)),
			   KEY("group_size", json_unsigned(g->nvlink_group_size)));
}

static json_t *json_health(const Gpu *g)
{
	return JSON_OBJECT(KEY("state", json_text_if_any(g->health)),
			   KEY("reason", json_text_if_any(g->health_reason)), MEMBER(g, link_speed),
			   MEMBER(g, max_link_speed), MEMBER(g, link_width),
			   MEMBER(g, max_link_width), MEMBER(g, aer_correctable),
			   MEMBER(g, aer_nonfatal), MEMBER(g, aer_fatal));
}

static json_t *json_tenant(const Gpu *g)
{
	return JSON_OBJECT(KEY("state", json_text_if_any(g->tenant_state)),
			   KEY("uuid", json_text_if_any(g->tenant)),
			   KEY("name", json_text_if_any(g->tenant_name)),
			   KEY("reason", json_text_if_any(g->tenant_reason)));
}

json_t *json_gpu(const World *w, const Gpu *g)
{
	return JSON_OBJECT(
		KEY("address", json_text(g->address)), MEMBER(g, name), MEMBER(g, model),
		MEMBER(g, vendor_id), MEMBER(g, device_id), MEMBER(g, subsystem_vendor_id),
		MEMBER(g, subsystem_device_id), KEY("nvlink", json_nvlink(g)),
		KEY("functions",
		    JSON_ARRAY(g->functions.items, g->functions.n_items, json_function(item))),
		MEMBER(g, driver), MEMBER(g, iommu_group), MEMBER(g, numa_node),
		MEMBER(g, physical_slot), MEMBER(g, upstream_path), MEMBER(g, bar_sizes),
		MEMBER(g, reset_methods), MEMBER(g, boot_vga), MEMBER(g, virtual_functions),
		MEMBER(g, mig_mode), MEMBER(g, mig_pending), MEMBER(g, power_state),
		KEY("health", json_health(g)), MEMBER(g, uuid), MEMBER(g, serial_number),
		KEY("tenant", json_tenant(g)),
		KEY("group", json_text_if_any(world_group_name(w, g->group))));
}

json_t *json_assignment(const Assignment *a)
{
	return JSON_OBJECT(KEY("domain", json_domain(a->domain_name, a->domain_uuid)),
			   KEY("group", json_text(a->group_name)), MEMBER(a, applies),
			   MEMBER(a, functions), MEMBER(a, created_at), MEMBER(a, created_by_uid));
}

static json_t *json_step(const Step *s)
{
	return JSON_OBJECT(KEY("name", json_text(s->name)), KEY("state", json_text(s->state)),
			   MEMBER(s, detail), MEMBER(s, duration_usec));
}

static json_t *json_job_error(const Job *j)
{
	if (!*j->error_name)
		return json_null();
	return JSON_OBJECT(KEY("name", json_text(j->error_name)),
			   KEY("message", json_text(j->error_message)));
}

/* The job's result, a document of its own. */
static json_t *json_result(const Job *j)
{
	json_t *result = json_loads(j->result, 0, NULL);

	return result ? result : json_null();
}

json_t *json_job(const Job *j)
{
	return JSON_OBJECT(
		MEMBER(j, id), MEMBER(j, operation), KEY("group", json_text_if_any(j->group_name)),
		KEY("domain", json_text_if_any(j->domain_name)), MEMBER(j, domain_uuid),
		KEY("state", json_text(j->state)), MEMBER(j, changed),
		KEY("steps", JSON_ARRAY(j->steps.items, j->steps.n_items, json_step(item))),
		KEY("error", json_job_error(j)), MEMBER(j, warnings), MEMBER(j, created_at),
		MEMBER(j, duration_usec), MEMBER(j, caller_uid), KEY("result", json_result(j)),
		MEMBER(j, cancel_requested),
		KEY("cancelled_by_uid",
		    j->cancel_requested ? json_integer(j->cancelled_by_uid) : json_null()));
}

json_t *json_groups(const World *w)
{
	return JSON_ARRAY(w->groups, w->n_groups, json_group(item));
}

json_t *json_jobs(const World *w)
{
	return JSON_ARRAY(w->jobs, w->n_jobs, json_job(item));
}
