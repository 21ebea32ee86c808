/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host for tests: a snapshot made by hand or from a fixture, and what follows from it. */
#pragma once

#include <string.h>

#include "core/group/observe.h"
#include "core/group/resolve.h"
#include "core/group/word.h"
#include "core/links/evidence.h"
#include "core/pci/driver-name.h"
#include "rig/bdf.h"
#include "rig/snapshot-read.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/text.h"

typedef struct HostModel {
	PciSnapshot *snapshot;
	GpuSet *set;
	Declarations *declarations;
	Evidence *evidence;
	const Tenants *tenants; /* borrowed; NULL: no marks are known */
	Links *links;
	GroupSet *groups;
	DomainUses *uses;
	Assignments *assignments;
	char **notes;
	Policy policy;
} HostModel;

static inline _unused_ HostModel host_new(void)
{
	HostModel h = {
		.snapshot = xcalloc(1, sizeof(PciSnapshot)),
		.declarations = xcalloc(1, sizeof(Declarations)),
		.links = xcalloc(1, sizeof(Links)),
		.uses = xcalloc(1, sizeof(DomainUses)),
		.assignments = xcalloc(1, sizeof(Assignments)),
	};

	return h;
}

static inline _unused_ void host_done(HostModel *h)
{
	h->groups = group_set_free(h->groups);
	h->links = links_free(h->links);
	h->evidence = evidence_unref(h->evidence);
	h->declarations = declarations_free(h->declarations);
	h->set = gpu_set_free(h->set);
	h->snapshot = pci_snapshot_free(h->snapshot);
	h->uses = domain_uses_free(h->uses);
	h->assignments = assignments_free(h->assignments);
	h->notes = strv_free(h->notes);
}

static inline _unused_ PciFunction *host_function(HostModel *h, const char *bdf,
						  uint32_t class_code, uint16_t device,
						  const char *driver)
{
	PciFunction *f = xcalloc(1, sizeof(*f));

	pci_snapshot_adopt(h->snapshot, f, 1);
	f->bdf = bdf_of(bdf);
	f->class_code = class_code;
	f->vendor = PCI_VENDOR_NVIDIA;
	f->device = device;
	f->subsystem_vendor = PCI_VENDOR_NVIDIA;
	f->subsystem_device = 0x1459;
	f->iommu_group = IOMMU_GROUP_NONE;
	f->numa_node = NUMA_NODE_NONE;
	f->driver = xstrdup(driver);
	return f;
}

/* A board of two functions: display (.0) and audio (.1). `slot`: "0000:41:00". */
static inline _unused_ void host_gpu(HostModel *h, const char *slot, uint16_t device,
				     const char *driver)
{
	_cleanup_free_ char *display = strf("%s.0", slot), *audio = strf("%s.1", slot);

	host_function(h, display, 0x030000, device, driver)->reset_methods = strdup("flr bus");
	host_function(h, audio, 0x040300, 0x1aef,
		      driver_is_vfio(driver) ? driver : "snd_hda_intel");
}

static inline _unused_ void host_declare(HostModel *h, const char *text)
{
	Problem *problem = NULL;

	if (declarations_parse(h->declarations, "groups.d/test.conf", text, &problem) != 0)
		fail_msg("the declaration is refused: %s", problem ? problem->reason : "memory");
}

/* An observed link, as a probe would add it; a < b. */
static inline _unused_ void host_link(HostModel *h, const char *a, const char *b,
				      Provenance provenance, unsigned count)
{
	Link *link = GROW(h->links->items, h->links->n_items);

	link->a = bdf_of(a);
	link->b = bdf_of(b);
	link->provenance = provenance;
	link->count = count;
	link->source = strdup("NVML");
	link->reasoning = strdup("it was seen");
}

/* A domain with these functions in its definition, and live when active. */
static inline _unused_ DomainUse *host_domain(HostModel *h, const char *name, bool active,
					      const char *const *functions)
{
	DomainUse *use = GROW(h->uses->items, h->uses->n_items);

	use->name = strdup(name);
	use->uuid = strf("00000000-0000-0000-0000-%012zu", h->uses->n_items);
	use->active = active;
	use->persistent = true;
	for (; *functions; functions++) {
		DomainHostdev *hostdev = GROW(use->hostdevs, use->n_hostdevs);

		hostdev->bdf = bdf_of(*functions);
		hostdev->config = true;
		hostdev->live = active;
	}
	return use;
}

/* A record of these functions for the domain that host_domain() made as its n-th, from 1. */
static inline _unused_ Assignment *host_assignment(HostModel *h, const char *group,
						   const char *domain, unsigned n,
						   const char *const *functions)
{
	Assignment *a = xcalloc(1, sizeof(*a));

	*GROW(h->assignments->items, h->assignments->n_items) = a;
	a->group_name = strdup(group);
	a->domain_name = strdup(domain);
	a->domain_uuid = strf("00000000-0000-0000-0000-%012u", n);
	for (; *functions; functions++) {
		AssignedFunction *f = GROW(a->functions, a->n_functions);
		const PciFunction *now;

		f->bdf = bdf_of(*functions);
		now = pci_snapshot_find(h->snapshot, &f->bdf);
		if (!now)
			continue;
		f->vendor = now->vendor;
		f->device = now->device;
		f->subsystem_vendor = now->subsystem_vendor;
		f->subsystem_device = now->subsystem_device;
	}
	return a;
}

/* Seals the snapshot and makes the set of GPUs. */
static inline _unused_ void host_seal(HostModel *h)
{
	assert_int_equal(pci_snapshot_seal(h->snapshot), 0);
	h->set = gpu_set_new(h->snapshot);
}

/* Links and groups from what is there; call once. */
static inline _unused_ void host_resolve(HostModel *h)
{
	if (!h->set)
		host_seal(h);
	links_from_declarations(h->links, h->declarations, h->set, &h->notes);
	links_from_evidence(h->links, h->evidence, h->set, &h->notes);
	links_infer(h->links, h->set);
	h->groups = groups_resolve(h->set, h->declarations, h->links, h->assignments, &h->policy);
	groups_hear_guests(h->groups, h->evidence, h->set);
}

static inline _unused_ void host_observe(HostModel *h, bool accept_inferred)
{
	Policy policy = POLICY_DEFAULT;

	policy.accept_inferred = accept_inferred;
	groups_observe(h->groups, h->uses, h->assignments, h->tenants, &policy);
}

static inline _unused_ Group *host_group(HostModel *h, const char *name)
{
	Group *group = group_set_find(h->groups, name);

	if (!group)
		fail_msg("there is no group %s", name);
	return group;
}

/* The group is declared with it. */
static inline _unused_ void host_companion(HostModel *h, const char *group, MemberKind kind,
					   const char *bdf)
{
	for (size_t i = 0; i < h->declarations->n_items; i++) {
		Declaration *declared = &h->declarations->items[i];

		if (!str_equal(declared->name, group))
			continue;
		*GROW(declared->companions, declared->n_companions) =
			(Member){ .kind = kind, .bdf = bdf_of(bdf) };
		declared->whole_nic = true;
	}
}
