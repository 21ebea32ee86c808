/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/doctor/capture.h"

#include "core/base/json-struct.h"
#include "core/facts/kept.h"
#include "core/pci/snapshot-json.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

/* Only written: limits of readers do not matter. */
static const JsonMember hostdev_members[] = {
	JSON_BDF(DomainHostdev, bdf),
	JSON_BOOL_IF_ANY(DomainHostdev, live),
	JSON_BOOL_IF_ANY(DomainHostdev, config),
	JSON_BOOL_IF_ANY(DomainHostdev, managed),
	JSON_BOOL_IF_ANY(DomainHostdev, argument),
	JSON_TEXT_IF_ANY(DomainHostdev, alias),
	JSON_END,
};

static const JsonMember domain_mdev_members[] = {
	JSON_TEXT(DomainMdev, uuid),
	JSON_BOOL_IF_ANY(DomainMdev, live),
	JSON_BOOL_IF_ANY(DomainMdev, config),
	JSON_END,
};

static const JsonMember domain_members[] = {
	JSON_TEXT_AS(DomainUse, uuid, "domain_uuid"),
	JSON_PLAIN_IF_ANY_AS(DomainUse, name, "domain_name"),
	JSON_NUMBER_IF_ANY(DomainUse, vmid, UINT32_MAX),
	JSON_BOOL_IF_ANY(DomainUse, active),
	JSON_BOOL_IF_ANY(DomainUse, persistent),
	JSON_BOOL_IF_ANY(DomainUse, migrated),
	JSON_PLAIN_IF_ANY(DomainUse, unread),
	JSON_PLAIN_IF_ANY(DomainUse, unclear),
	JSON_LIST(DomainUse, gpupass_groups),
	JSON_ARRAY(DomainUse, hostdevs, DomainHostdev, hostdev_members, SIZE_MAX),
	JSON_ARRAY_IF_ANY(DomainUse, mdevs, DomainMdev, domain_mdev_members, SIZE_MAX),
	JSON_END,
};

static const JsonMember node_members[] = {
	JSON_NUMBER(HostNode, node, UINT32_MAX),
	JSON_TEXT_IF_ANY(HostNode, cpus),
	JSON_NUMBER(HostNode, memory_bytes, INT64_MAX),
	JSON_END,
};

/* Not its name, and nothing that changes from one moment to the next. */
static const JsonMember machine_members[] = {
	JSON_NUMBER(HostFacts, physical_bits, UINT32_MAX),
	JSON_NUMBER(HostFacts, kernel_major, UINT32_MAX),
	JSON_NUMBER(HostFacts, kernel_minor, UINT32_MAX),
	JSON_NUMBER(HostFacts, memory_bytes, INT64_MAX),
	JSON_ENUM_IF_ANY(HostFacts, cpu_vendor, CpuVendor, CPU_VENDORS, ""),
	JSON_BOOL_IF_ANY(HostFacts, virtual_machine),
	JSON_ENUM_IF_ANY(HostFacts, iommu_table, IommuTable, IOMMU_TABLES, ""),
	JSON_LIST(HostFacts, iommu_words),
	JSON_NUMBER_IF_ANY(HostFacts, libvirt_version, INT64_MAX),
	JSON_NUMBER_IF_ANY(HostFacts, hypervisor_version, INT64_MAX),
	JSON_ARRAY(HostFacts, nodes, HostNode, node_members, SIZE_MAX),
	JSON_END,
};

/*
 * GPUs, what is above them, shares their IOMMU group or their bus, and all else of NVIDIA: what a
 * report is made from. The rest of the host is nobody's business.
 */
static bool function_matters(const PciFunction *function, const GpuSet *gpus)
{
	if (function->vendor == PCI_VENDOR_NVIDIA)
		return true;
	for (size_t i = 0; i < gpus->n_gpus; i++) {
		const PciFunction *lead = gpus->gpus[i].lead;

		if (function->bdf.segment == lead->bdf.segment &&
		    function->bdf.bus == lead->bdf.bus)
			return true;
		for (size_t k = 0; k < lead->n_upstream; k++)
			if (bdf_equal(&function->bdf, &lead->upstream[k]))
				return true;
		for (size_t k = 0; k < gpus->gpus[i].n_functions; k++)
			if (function->iommu_group != IOMMU_GROUP_NONE &&
			    function->iommu_group == gpus->gpus[i].functions[k]->iommu_group)
				return true;
	}
	return false;
}

static json_t *parsed(char *text)
{
	_cleanup_free_ char *owned = text;

	return owned ? json_loads(owned, 0, NULL) : NULL;
}

static json_t *snapshot_to_json(const DoctorFacts *facts)
{
	const PciSnapshot *all = facts->snapshot;
	PciSnapshot some = { .iommu = all->iommu }; /* of no time, like a fixture */
	json_t *json;

	some.functions = calloc(all->n_functions + 1, sizeof(PciFunction *));
	some.mdevs = calloc(all->n_mdevs + 1, sizeof(PciMdev));
	for (size_t i = 0; some.functions && i < all->n_functions; i++)
		if (function_matters(all->functions[i], facts->gpus))
			some.functions[some.n_functions++] = all->functions[i];
	for (size_t i = 0; some.functions && some.mdevs && i < all->n_mdevs; i++)
		if (pci_snapshot_find(&some, &all->mdevs[i].parent))
			some.mdevs[some.n_mdevs++] = all->mdevs[i];
	json = some.functions && some.mdevs ? parsed(pci_snapshot_to_json(&some)) : NULL;
	free(some.functions); /* the functions are the other's */
	free(some.mdevs);
	return json;
}

static json_t *boards_to_json(const GpuSet *gpus)
{
	_cleanup_json_ json_t *array = json_array();
	int r = array ? 0 : -1;

	for (size_t i = 0; i < gpus->n_gpus; i++) {
		json_t *board = json_object();

		r |= json_set_bdf(board, "bdf", &gpus->gpus[i].lead->bdf);
		r |= json_set_text_if_any(board, "uuid", gpus->gpus[i].uuid);
		r |= json_set_text_if_any(board, "serial_number", gpus->gpus[i].serial_number);
		r |= json_array_append_new(array, board);
	}
	return r < 0 ? NULL : TAKE_PTR(array);
}

static const char *selector_prefix(const Selector *selector)
{
	return selector->kind == SELECTOR_SERIAL ? "serial:"
	       : selector->kind == SELECTOR_SLOT ? "slot:"
						 : "";
}

static json_t *declaration_to_json(const Declaration *declaration)
{
	_cleanup_json_ json_t *object = json_object(), *members = json_array();
	int r = 0;

	for (size_t i = 0; i < declaration->n_members; i++) {
		const Selector *selector = &declaration->members[i];

		r |= json_array_append_new(
			members, json_sprintf("%s%s", selector_prefix(selector), selector->text));
	}
	r |= json_object_set_new(object, "name", json_string(declaration->name));
	r |= json_object_set_new(object, "source", json_plain(declaration->source));
	r |= json_object_set_new(object, "members", TAKE_PTR(members));
	if (declaration->foreign_use_set)
		r |= json_object_set_new(object, "foreign_use",
					 json_boolean(declaration->foreign_use));
	return r < 0 ? NULL : TAKE_PTR(object);
}

static json_t *declarations_to_json(const Declarations *declarations)
{
	_cleanup_json_ json_t *array = json_array();
	int r = array ? 0 : -1;

	for (size_t i = 0; declarations && i < declarations->n_items; i++)
		r |= json_array_append_new(array, declaration_to_json(&declarations->items[i]));
	return r < 0 ? NULL : TAKE_PTR(array);
}

static json_t *record_fence_to_json(const AssignmentFence *fence)
{
	static const char *const kinds[] = { "newer", "damaged", "unread" };
	_cleanup_json_ json_t *object = json_object(), *functions = json_array();
	int r = 0;

	for (size_t i = 0; i < fence->n_functions; i++)
		r |= json_array_append_new(functions, json_string(BDF_TEXT(&fence->functions[i])));
	r |= json_object_set_new(object, "file", json_plain(fence->file));
	r |= json_object_set_new(object, "kind", json_string(kinds[fence->kind]));
	r |= json_object_set_new(object, "why", json_plain(str_or_empty(fence->why)));
	r |= json_set_text_if_any(object, "domain_uuid", fence->domain_uuid);
	r |= json_object_set_new(object, "functions", TAKE_PTR(functions));
	return r < 0 ? NULL : TAKE_PTR(object);
}

static int set_records(json_t *root, const Assignments *assignments)
{
	_cleanup_json_ json_t *records = json_array(), *unreadable = json_array();
	_cleanup_json_ json_t *kept = json_array();
	int r = 0;

	for (size_t i = 0; i < assignments->n_items; i++)
		r |= json_array_append_new(records,
					   parsed(assignment_to_json(assignments->items[i])));
	for (size_t i = 0; i < assignments->n_kept; i++)
		r |= json_array_append_new(kept, parsed(kept_to_json(assignments->kept[i])));
	for (size_t i = 0; i < assignments->n_fences; i++)
		r |= json_array_append_new(unreadable,
					   record_fence_to_json(&assignments->fences[i]));
	r |= json_object_set_new(root, "assignments", TAKE_PTR(records));
	if (assignments->n_kept > 0)
		r |= json_object_set_new(root, "kept", TAKE_PTR(kept));
	r |= json_object_set_new(root, "unreadable_assignments", TAKE_PTR(unreadable));
	return r;
}

static int set_domains(json_t *root, const DoctorFacts *facts)
{
	_cleanup_json_ json_t *array = json_array();
	int r = 0;

	if (!facts->uses)
		return json_object_set_new(root, "domains_unknown",
					   json_plain(str_or_empty(facts->uses_note)));
	for (size_t i = 0; i < facts->uses->n_items; i++)
		r |= json_array_append_new(
			array, json_struct_write(domain_members, &facts->uses->items[i]));
	return r | json_object_set_new(root, "domains", TAKE_PTR(array));
}

static int set_policy(json_t *root, const Policy *policy)
{
	_cleanup_json_ json_t *object =
		json_pack("{s:b, s:b, s:b}", "accept_inferred", policy->accept_inferred,
			  "single_gpus", policy->single_gpus, "allow_mmio", policy->allow_mmio);
	int r = policy->keep_bound ? json_set_plain_list(object, "keep_bound", policy->keep_bound)
				   : 0;

	if (policy->domains != DOMAINS_LIBVIRT)
		r |= json_object_set_new(object, "domains_from",
					 json_plain(domain_source_to_string(policy->domains)));

	return r | json_object_set_new(root, "policy", TAKE_PTR(object));
}

/* What workers found, or the error (an errno) in its place. */
static int set_looks(json_t *root, const DoctorFacts *facts)
{
	_cleanup_json_ json_t *health = json_array();
	int r = 0;

	for (size_t i = 0; i < facts->n_health; i++)
		r |= json_array_append_new(health, gpu_health_to_json(&facts->health[i]));
	r |= json_object_set_new(root, "health", TAKE_PTR(health));
	r |= json_object_set_new(root, "inspection",
				 facts->inspection ? inspection_to_json(facts->inspection)
						   : json_integer(-facts->inspection_error));
	r |= json_object_set_new(root, "host",
				 facts->host ? examination_to_json(facts->host)
					     : json_integer(-facts->host_error));
	return r;
}

static int set_notes(json_t *root, const char *key, const DoctorNotes *notes)
{
	_cleanup_json_ json_t *array = json_array();
	int r = 0;

	if (!notes)
		return 0;
	for (size_t i = 0; i < notes->n_items; i++) {
		json_t *note = json_object();

		r |= json_object_set_new(note, "group", json_plain(notes->items[i].group));
		r |= json_object_set_new(note, "what", json_plain(notes->items[i].what));
		r |= json_object_set_new(note, "remedy",
					 json_plain(str_or_empty(notes->items[i].remedy)));
		r |= json_object_set_new(note, "fail", json_boolean(notes->items[i].fail));
		r |= json_array_append_new(array, note);
	}
	return r | json_object_set_new(root, key, TAKE_PTR(array));
}

static int set_resets(json_t *root, const DoctorFacts *facts)
{
	_cleanup_json_ json_t *array = json_array();
	int r = 0;

	for (size_t i = 0; i < facts->n_resets; i++) {
		const LastReset *last = &facts->resets[i];
		json_t *object = last->known ? json_object() : NULL;

		if (!last->known)
			continue;
		r |= json_set_bdf(object, "bdf", &last->bdf);
		r |= json_object_set_new(object, "reset", json_boolean(last->reset));
		r |= json_set_text_if_any(object, "what", last->what);
		r |= json_array_append_new(array, object);
	}
	return facts->resets ? r | json_object_set_new(root, "resets", TAKE_PTR(array)) : r;
}

/* What the daemon knows by itself: jobs, quarantines, and what its other looks found. */
static int set_findings(json_t *root, const DoctorFacts *facts)
{
	int r = json_set_plain_list(root, "busy", facts->busy);

	r |= json_set_plain_list(root, "quarantined", facts->quarantined);
	r |= json_set_plain_list(root, "clears", facts->clears);
	r |= json_set_plain_list(root, "open_jobs", facts->open_jobs);
	r |= json_set_plain_list(root, "settings", facts->settings);
	r |= set_resets(root, facts);
	r |= set_notes(root, "drift", facts->drift);
	r |= set_notes(root, "stale_evidence", facts->evidence);
	r |= set_notes(root, "tenants", facts->tenants);
	r |= set_notes(root, "split", facts->split);
	if (facts->fence_fault)
		r |= json_object_set_new(root, "fence_fault", json_plain(facts->fence_fault));
	return r;
}

char *capture_to_json(const CaptureFacts *from, const char *report)
{
	_cleanup_json_ json_t *root = json_object(), *facts = json_object();
	const DoctorFacts *doctor = from->doctor;
	int r = 0;

	r |= json_object_set_new(facts, "snapshot", snapshot_to_json(doctor));
	r |= json_object_set_new(facts, "boards", boards_to_json(doctor->gpus));
	r |= json_object_set_new(facts, "declarations", declarations_to_json(from->declarations));
	r |= json_object_set_new(facts, "evidence", sightings_to_json(from->evidence));
	r |= set_records(facts, doctor->assignments);
	r |= set_domains(facts, doctor);
	r |= set_policy(facts, doctor->policy);
	if (doctor->machine)
		r |= json_object_set_new(facts, "machine",
					 json_struct_write(machine_members, doctor->machine));
	r |= set_looks(facts, doctor);
	r |= set_findings(facts, doctor);
	r |= json_object_set_new(root, "schema", json_string(GPUPASS_SCHEMA_CAPTURE));
	r |= json_object_set_new(root, "report", json_loads(report, 0, NULL));
	r |= json_object_set_new(root, "facts", TAKE_PTR(facts));
	return r < 0 ? NULL : json_dumps(root, JSON_COMPACT);
}
