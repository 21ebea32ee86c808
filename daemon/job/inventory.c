/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/inventory.h"

#include "core/group/resolve.h"
#include "core/group/word.h"
#include "util/grow.h"

#include "inventory.inc"

void identities_set_evidence(Identities *identities, Evidence *evidence)
{
	Evidence *before = identities->evidence;

	identities->evidence = evidence_ref(evidence);
	evidence_unref(before);
}

static bool identity_of(const Identity *identity, const PciFunction *function)
{
	return bdf_equal(&identity->bdf, &function->bdf) && identity->device == function->device &&
	       identity->subsystem_vendor == function->subsystem_vendor &&
	       identity->subsystem_device == function->subsystem_device;
}

static const Identity *identities_find(const Identities *identities, const PciFunction *function)
{
	return identities ? FIND(identities->items, identities->n_items, identity_of(it, function))
			  : NULL;
}

static void copy_string(char **to, const char *from)
{
	if (!*to && !str_is_empty(from))
		*to = xstrdup(from);
}

void identities_copy(const Identities *from, Identities **ret)
{
	Identities *copy = xcalloc(1, sizeof(Identities));

	for (size_t i = 0; from && i < from->n_items; i++)
		*GROW(copy->items, copy->n_items) = identity_copy(&from->items[i]);
	if (from)
		identities_set_evidence(copy, from->evidence);
	*ret = copy;
}

/* The identity in the assignment, if the board is still the same. */
static void apply_record(Gpu *gpu, const Assignments *assignments)
{
	const Assignment *assignment = assignments_find_function(assignments, &gpu->lead->bdf);
	const AssignedFunction *record;

	if (!assignment)
		return;
	record = assignment_function(assignment, &gpu->lead->bdf);
	if (!record || record->device != gpu->lead->device ||
	    record->subsystem_vendor != gpu->lead->subsystem_vendor ||
	    record->subsystem_device != gpu->lead->subsystem_device)
		return;
	copy_string(&gpu->uuid, record->uuid);
	copy_string(&gpu->serial_number, record->serial_number);
}

static void apply_known(GpuSet *gpus, const Identities *known, const Assignments *assignments)
{
	EACH (Gpu, gpu, gpus->gpus, gpus->n_gpus) {
		const Identity *identity = identities_find(known, gpu->lead);

		if (identity) {
			copy_string(&gpu->uuid, identity->uuid);
			copy_string(&gpu->serial_number, identity->serial_number);
		}
		apply_record(gpu, assignments);
	}
}

static bool serial_numbers_asked(const Declarations *declarations)
{
	for (size_t i = 0; declarations && i < declarations->n_items; i++)
		if (SOME(declarations->items[i].members, declarations->items[i].n_members,
			 it->kind == SELECTOR_SERIAL))
			return true;
	return false;
}

/* On vfio-pci, only the serial number shows whether this is still the board of the evidence. */
static bool seen_with_serial_number(const Evidence *evidence, const Gpu *gpu)
{
	const Sighting *s = evidence_find_host(evidence, &gpu->lead->bdf);

	return s && s->serial_number;
}

/* true: a worker could read something about this GPU that we lack. */
static bool worth_asking(const Gpu *gpu, bool serial_numbers)
{
	if (!gpu->uuid && str_equal(gpu->lead->driver, "nvidia"))
		return true;
	return serial_numbers && !gpu->serial_number;
}

static void learn(Host *host, GpuSet *gpus, bool serial_numbers, const Evidence *evidence,
		  InspectConfig most)
{
	_cleanup_(inspection_freep) Inspection *inspection = NULL;
	_cleanup_free_ Bdf *ask = xcalloc(gpus->n_gpus + 1, sizeof(Bdf));
	bool capabilities = serial_numbers;
	size_t n = 0;

	EACH (const Gpu, gpu, gpus->gpus, gpus->n_gpus) {
		bool serial_number = serial_numbers || seen_with_serial_number(evidence, gpu);

		if (!worth_asking(gpu, serial_number))
			continue;
		ask[n++] = gpu->lead->bdf;
		capabilities |= serial_number;
	}
	if (n == 0)
		return;
	if (host_glance(host, ask, n, capabilities ? most : INSPECT_CONFIG_NOT, &inspection, NULL) <
	    0)
		return; /* without the identity the group gets a note, and the scan succeeds */
	EACH (const FunctionFacts, facts, inspection->functions, inspection->n_functions) {
		Gpu *gpu = gpu_set_find(gpus, &facts->bdf);

		if (!gpu)
			continue;
		copy_string(&gpu->uuid, facts->uuid);
		copy_string(&gpu->serial_number, facts->serial_number);
	}
}

static Identities *remember(const GpuSet *gpus)
{
	Identities *identities = xcalloc(1, sizeof(Identities));

	EACH (const Gpu, gpu, gpus->gpus, gpus->n_gpus) {
		if (!gpu->uuid && !gpu->serial_number)
			continue;
		*GROW(identities->items, identities->n_items) = identity_copy(&(Identity){
			.bdf = gpu->lead->bdf,
			.device = gpu->lead->device,
			.subsystem_vendor = gpu->lead->subsystem_vendor,
			.subsystem_device = gpu->lead->subsystem_device,
			.uuid = gpu->uuid,
			.serial_number = gpu->serial_number,
		});
	}
	return identities;
}

GroupSet *inventory_groups(const Inventory *inventory, const Rules *rules,
			   const Assignments *assignments)
{
	const Evidence *evidence = inventory->identities->evidence;
	_cleanup_(links_freep) Links *links = xcalloc(1, sizeof(Links));
	_cleanup_strv_ char **notes = NULL;
	GroupSet *groups;

	links_from_declarations(links, rules->declarations, inventory->gpus, &notes);
	links_from_evidence(links, evidence, inventory->gpus, &notes);
	links_infer(links, inventory->gpus);
	groups = groups_resolve(inventory->gpus, rules->declarations, links, assignments,
				&rules->policy);
	groups_hear_guests(groups, evidence, inventory->gpus);
	for (char **note = notes; note && *note; note++)
		if (!strv_contains(groups->notes, *note))
			strv_append(&groups->notes, *note);
	return groups;
}

int inventory_derive(Host *host, PciSnapshot *snapshot, const Rules *rules,
		     const Assignments *assignments, const Identities *known, InspectConfig most,
		     Inventory **ret)
{
	_cleanup_(inventory_freep) Inventory *inventory = xcalloc(1, sizeof(Inventory));
	Evidence *evidence = known ? known->evidence : NULL;

	inventory->snapshot = snapshot;
	inventory->facts = host->ops->facts(host);
	inventory->gpus = gpu_set_new(inventory->snapshot);
	apply_known(inventory->gpus, known, assignments);
	learn(host, inventory->gpus, serial_numbers_asked(rules->declarations), evidence, most);
	inventory->identities = remember(inventory->gpus);
	identities_set_evidence(inventory->identities, evidence);
	inventory->groups = inventory_groups(inventory, rules, assignments);
	*ret = TAKE_PTR(inventory);
	return 0;
}

int inventory_take(Host *host, const Rules *rules, const Assignments *assignments,
		   const Identities *known, InspectConfig most, Inventory **ret)
{
	PciSnapshot *snapshot = NULL;
	int r = host->ops->scan(host, &snapshot);

	return r < 0 ? r : inventory_derive(host, snapshot, rules, assignments, known, most, ret);
}

void inventory_renew(Inventory *inventory, PciSnapshot *snapshot)
{
	inventory->gpus->snapshot = snapshot;
	inventory->groups->snapshot = snapshot;
	pci_snapshot_free(inventory->snapshot);
	inventory->snapshot = snapshot;
}
