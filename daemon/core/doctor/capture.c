/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/doctor/capture.h"

#include "core/facts/kept.h"
#include "core/pci/snapshot-json.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/xalloc.h"

#include "capture.inc"

static bool is_around(const PciFunction *function, const PciFunction *centre)
{
	return bdf_in(&function->bdf, centre->upstream, centre->n_upstream) ||
	       (function->iommu_group != IOMMU_GROUP_NONE &&
		function->iommu_group == centre->iommu_group);
}

static bool is_on_bus(const PciFunction *function, const Bdf *bdf)
{
	return function->bdf.segment == bdf->segment && function->bdf.bus == bdf->bus;
}

/*
 * GPUs and companions, what is above them, shares their IOMMU group or their bus, and all else of
 * NVIDIA: what a report is made from. The rest of the host is nobody's business.
 */
static bool function_matters(const PciFunction *function, const CheckFacts *facts)
{
	const GpuSet *gpus = facts->gpus;
	const GroupSet *groups = facts->groups;

	if (function->vendor == PCI_VENDOR_NVIDIA)
		return true;
	for (size_t i = 0; i < gpus->n_gpus; i++)
		for (size_t k = 0; k < gpus->gpus[i].n_functions; k++)
			if (is_on_bus(function, &gpus->gpus[i].lead->bdf) ||
			    is_around(function, gpus->gpus[i].functions[k]))
				return true;
	for (size_t i = 0; i < groups->n_items; i++)
		EACH (const Companion, companion, groups->items[i].companions,
		      groups->items[i].n_companions) {
			/* Of a VF that is yet to be made its NIC. */
			if (is_on_bus(function, &companion->member.bdf) ||
			    (companion->function && is_around(function, companion->function)))
				return true;
		}
	return false;
}

static json_t *parsed(char *text)
{
	_cleanup_free_ char *owned = text;

	return json_loads(owned, 0, NULL);
}

static json_t *snapshot_to_json(const CheckFacts *facts)
{
	const PciSnapshot *all = facts->snapshot;
	PciSnapshot some = { .iommu = all->iommu }; /* of no time, like a fixture */
	json_t *json;

	some.functions = xcalloc(all->n_functions + 1, sizeof(PciFunction *));
	some.mdevs = xcalloc(all->n_mdevs + 1, sizeof(PciMdev));
	for (size_t i = 0; i < all->n_functions; i++)
		if (function_matters(all->functions[i], facts))
			some.functions[some.n_functions++] = all->functions[i];
	for (size_t i = 0; i < all->n_mdevs; i++)
		if (pci_snapshot_find(&some, &all->mdevs[i].parent))
			some.mdevs[some.n_mdevs++] = all->mdevs[i];
	json = parsed(pci_snapshot_to_json(&some));
	free(some.functions); /* the functions are the other's */
	free(some.mdevs);
	return json;
}

static json_t *board_to_json(const Gpu *gpu)
{
	json_t *board = json_build("{s:s}", "bdf", BDF_TEXT(&gpu->lead->bdf));

	json_set_text_if_any(board, "uuid", gpu->uuid);
	json_set_text_if_any(board, "serial_number", gpu->serial_number);
	return board;
}

static const char *selector_prefix(const Selector *selector)
{
	return selector->kind == SELECTOR_SERIAL ? "serial:"
	       : selector->kind == SELECTOR_SLOT ? "slot:"
						 : "";
}

static json_t *declaration_to_json(const Declaration *declaration)
{
	json_t *object = json_object(), *members = json_array();

	EACH (const Selector, selector, declaration->members, declaration->n_members) {
		_cleanup_free_ char *text = strf("%s%s", selector_prefix(selector), selector->text);

		json_append(members, json_text(text));
	}
	json_set(object, "name", json_text(declaration->name));
	json_set(object, "source", json_plain(declaration->source));
	json_set(object, "members", members);
	if (declaration->foreign_use_set)
		json_set(object, "foreign_use", json_boolean(declaration->foreign_use));
	if (declaration->n_companions > 0)
		json_set(object, "with",
			 JSON_ARRAY(declaration->companions, declaration->n_companions,
				    json_text(MEMBER_TEXT(it))));
	if (declaration->whole_nic)
		json_set(object, "whole_nic", json_true());
	if (declaration->erase)
		json_set(object, "erase", json_true());
	if (declaration->vlan > 0)
		json_set(object, "vlan", json_integer(declaration->vlan));
	return object;
}

static void set_records(json_t *root, const Assignments *all)
{
	json_set(root, "assignments",
		 JSON_ARRAY(all->items, all->n_items, assignment_document(*it)));
	if (all->n_kept > 0)
		json_set(root, "kept", JSON_ARRAY(all->kept, all->n_kept, kept_document(*it)));
	json_set(root, "unreadable_assignments",
		 JSON_ARRAY(all->faults.items, all->faults.n_items,
			    json_struct_write(capture_fault, it)));
}

static void set_domains(json_t *root, const CheckFacts *facts)
{
	if (facts->uses)
		json_set(root, "domains",
			 JSON_ARRAY(facts->uses->items, facts->uses->n_items,
				    json_struct_write(capture_domain, it)));
	else
		json_set(root, "domains_unknown", json_plain(str_or_empty(facts->uses_note)));
}

static void set_policy(json_t *root, const Policy *policy)
{
	json_t *object =
		json_build("{s:b, s:b, s:b}", "accept_inferred", policy->accept_inferred,
			   "single_gpus", policy->single_gpus, "allow_mmio", policy->allow_mmio);

	if (policy->keep_bound)
		json_set_plain_list(object, "keep_bound", policy->keep_bound);
	if (policy->domains != DOMAINS_LIBVIRT)
		json_set(object, "domains_from",
			 json_plain(domain_source_to_string(policy->domains)));
	json_set(root, "policy", object);
}

/* What workers found, or the error (an errno) in its place. */
static void set_looks(json_t *root, const CheckFacts *facts)
{
	json_set(root, "health",
		 JSON_ARRAY(facts->health, facts->n_health,
			    json_struct_write(gpu_health_members, it)));
	json_set(root, "inspection",
		 facts->inspection ? json_struct_write(inspection_members, facts->inspection)
				   : json_integer(-facts->inspection_error));
	json_set(root, "host",
		 facts->host ? json_struct_write(examination_members, facts->host)
			     : json_integer(-facts->host_error));
}

static void set_told(json_t *root, const char *key, const Finding *told)
{
	if (told)
		json_set(root, key,
			 JSON_ARRAY(told->lines, told->n_lines,
				    json_build("{s:o, s:o, s:o, s:b}", "group",
					       json_plain(str_or_empty(it->object)), "what",
					       json_plain(it->what), "remedy",
					       json_plain(str_or_empty(it->remedy)), "fail",
					       it->status == FINDING_FAIL)));
}

static void set_resets(json_t *root, const CheckFacts *facts)
{
	if (facts->resets)
		json_set(root, "resets",
			 JSON_ARRAY(facts->resets, facts->n_resets,
				    it->known ? json_struct_write(capture_reset, it) : NULL));
}

/* Whose the NVMes were; of GPUs the findings tell. */
static void set_marks(json_t *root, const CheckFacts *facts)
{
	_cleanup_json_ json_t *array = json_array();

	EACH_IN (const TenantFile, file, facts->marks, items) {
		const Group *group = group_set_find_gpu(facts->groups, &file->bdf);
		const Companion *companion = group ? group_companion(group, &file->bdf) : NULL;

		if (file->mark && companion && companion->member.kind == MEMBER_NVME)
			json_append(array, json_struct_write(capture_mark, file->mark));
	}
	if (json_array_size(array) > 0)
		json_set(root, "nvme_tenants", TAKE_PTR(array));
}

/* What the daemon knows by itself: jobs, quarantines, and what its other looks found. */
static void set_findings(json_t *root, const CheckFacts *facts)
{
	json_set_plain_list(root, "busy", facts->busy);
	json_set_plain_list(root, "quarantined", facts->quarantined);
	json_set_plain_list(root, "clears", facts->clears);
	json_set_plain_list(root, "open_jobs", facts->open_jobs);
	json_set_plain_list(root, "settings", facts->settings);
	set_marks(root, facts);
	set_resets(root, facts);
	set_told(root, "drift", facts->drift);
	set_told(root, "stale_evidence", facts->evidence);
	set_told(root, "tenants", facts->tenants);
	set_told(root, "files", facts->files);
	set_told(root, "split", facts->split);
	if (facts->fence_fault)
		json_set(root, "fence_fault", json_plain(facts->fence_fault));
}

char *capture_to_json(const CaptureFacts *from, const char *report)
{
	_cleanup_json_ json_t *root = json_object();
	json_t *facts = json_object();
	const CheckFacts *doctor = from->doctor;

	json_set(facts, "snapshot", snapshot_to_json(doctor));
	json_set(facts, "boards",
		 JSON_ARRAY(doctor->gpus->gpus, doctor->gpus->n_gpus, board_to_json(it)));
	json_set(facts, "declarations",
		 JSON_ARRAY(from->declarations->items,
			    from->declarations ? from->declarations->n_items : 0,
			    declaration_to_json(it)));
	json_set(facts, "evidence", sightings_to_json(from->evidence));
	set_records(facts, doctor->assignments);
	set_domains(facts, doctor);
	set_policy(facts, doctor->policy);
	if (doctor->machine)
		json_set(facts, "machine", json_struct_write(capture_machine, doctor->machine));
	set_looks(facts, doctor);
	set_findings(facts, doctor);
	json_set(root, "schema", json_text(GPUPASS_SCHEMA_CAPTURE));
	json_set(root, "report", json_loads(report, 0, NULL));
	json_set(root, "facts", facts);
	return json_dumps(root, JSON_COMPACT);
}
