/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/fence/make.h"

#include "core/group/companion.h"
#include "core/group/record.h"
#include "util/grow.h"
#include "util/xalloc.h"

/* One group while its part of the fence is made. */
typedef struct Maker {
	const FenceFacts *facts;
	const Group *group;
	const PciFunction **functions;
	Bdf *addresses;
	size_t n;
	const Assignment *record;
	FenceGroup *out;
} Maker;

static FenceFunction function_of(const PciFunction *f)
{
	return (FenceFunction){
		.bdf = f->bdf,
		PCI_IDS_OF(f),
	};
}

static const PciFunction *find_function(const Maker *m, const Bdf *bdf)
{
	return FIND_OF(m->functions, m->n, bdf_equal(&it->bdf, bdf));
}

/* The boards must be those that the record names, and all of them. */
static void check_record(Maker *m)
{
	const Assignment *record = m->record;

	EACH_IN (const AssignedFunction, then, record, functions) {
		const PciFunction *now = find_function(m, &then->bdf);

		if (!now || !assigned_function_is(then, now))
			fence_worsen(m->out, FENCE_UNSAFE,
				     strf("%s, which was assigned to %s, %s", BDF_TEXT(&then->bdf),
					  record->domain_name,
					  now ? "is another board now" : "is not in the group"));
	}
	for (size_t i = 0; record && i < m->n; i++) {
		const Bdf *bdf = &m->addresses[i];
		const Assignment *by = assignments_find_function(m->facts->assignments, bdf);

		if (by == record)
			continue;
		fence_worsen(m->out, FENCE_UNSAFE,
			     by ? strf("two records name it, of %s and %s", record->domain_name,
				       by->domain_name)
				: strf("%s is in the group, but was not assigned with it",
				       BDF_TEXT(bdf)));
	}
}

/* What has a readable record cannot be in the file that is not readable. */
static void check_unread(Maker *m)
{
	const RecordFault *fault = record_faults_find(&m->facts->assignments->faults, m->addresses,
						      m->n, m->group->name, NULL);

	if (fault && !m->record)
		fence_worsen(m->out, FENCE_UNREAD, record_fault_what(fault));
}

static void check_health(Maker *m)
{
	for (size_t i = 0; i < m->group->n_gpus; i++) {
		const Bdf *lead = &m->group->gpus[i]->lead->bdf;
		const GpuHealth *found =
			gpu_healths_find(m->facts->health, m->facts->n_health, lead);
		_cleanup_free_ char *why = NULL;
		Health health = HEALTH_UNKNOWN;

		if (found)
			health = gpu_health_judge(found, &why);
		if (health == HEALTH_LOST)
			fence_worsen(m->out, FENCE_UNSAFE,
				     strf("%s is lost: %s", BDF_TEXT(lead), str_or_empty(why)));
	}
}

static void check_quarantine(Maker *m)
{
	for (size_t i = 0; i < m->n; i++) {
		bool itself;
		char *reason = m->facts->quarantine(&m->addresses[i], &itself, m->facts->userdata);

		if (reason)
			fence_worsen(m->out, FENCE_QUARANTINED, reason);
	}
}

static void add_functions(Maker *m)
{
	for (size_t i = 0; i < m->n; i++) {
		FenceFunction *f = GROW(m->out->functions, m->out->n_functions);

		*f = function_of(m->functions[i]);
		f->companion = group_companion(m->group, &f->bdf) != NULL;
		f->vf = group_has_vf(m->group, &f->bdf);
		f->vlan = f->vf ? m->group->vlan : 0;
	}
}

static void add_boards(Maker *m)
{
	const TenancyFacts facts = {
		.tenants = m->facts->tenants,
		.gpus = m->facts->gpus,
		.assignments = m->facts->assignments,
		.uses = m->facts->uses,
	};

	size_t n;
	_cleanup_free_ Gpu *boards = group_boards(m->group, &n);

	m->out->boards = xcalloc(n + 1, sizeof(FenceBoard));
	for (size_t i = 0; i < n; i++) {
		FenceBoard *board = &m->out->boards[m->out->n_boards++];
		const Tenancy tenancy = tenancy_of(&facts, &boards[i]);

		board->bdf = boards[i].lead->bdf;
		board->tenant = tenancy.state;
		board->domain_uuid = xstrdup(tenancy.domain_uuid);
		board->domain_name = xstrdup(tenancy.domain_name);
	}
}

static void fill(Maker *m)
{
	FenceGroup *out = m->out;
	char *lack;

	out->name = xstrdup(m->group->name);
	out->foreign_use = m->group->foreign_use;
	if (m->record) {
		out->domain_uuid = xstrdup(m->record->domain_uuid);
		out->domain_name = xstrdup(m->record->domain_name);
	}
	add_functions(m);
	add_boards(m);
	if (m->group->fault)
		fence_worsen(out, FENCE_UNSAFE, xstrdup(m->group->fault));
	/*
	 * A VF that is not there is none of the functions that a domain must have. One that is not
	 * kept to its own address may send as another, and what made it need not have been gpupass.
	 */
	lack = companions_lack(m->group);
	if (lack)
		fence_worsen(out, FENCE_UNSAFE, lack);
	check_record(m);
	check_health(m);
	check_unread(m);
	check_quarantine(m);
}

/*
 * Candidates, whose links nobody knows, are no group: a host whose boards have no bridge
 * may use them. But boards of an assignment stay fenced off when their links are no longer known.
 */
static bool is_fenced(const Maker *m)
{
	return m->group->provenance != PROVENANCE_NONE || m->record;
}

static void add_group(const FenceFacts *facts, const Group *group, Fence *fence)
{
	Maker m = { .facts = facts, .group = group };
	_cleanup_free_ const PciFunction **functions = group_functions(group, &m.n);
	_cleanup_free_ Bdf *addresses = group_addresses(group, NULL);

	m.functions = functions;
	m.addresses = addresses;
	m.record = group_record(group, functions, m.n, facts->groups, facts->assignments);
	if (!is_fenced(&m))
		return;
	m.out = &fence->groups[fence->n_groups++];
	fill(&m);
}

/* ---- GPUs in no group ---- */

static void add_other(Fence *fence, const Gpu *gpu)
{
	for (size_t i = 0; i < gpu->n_functions; i++)
		*GROW(fence->others, fence->n_others) = function_of(gpu->functions[i]);
}

/* An assignment that cannot be read names it, or a quarantine does, though no group has it now. */
static void close_other(const FenceFacts *facts, Fence *fence, const Bdf *addresses, size_t n,
			bool candidate)
{
	const RecordFault *unread =
		record_faults_find(&facts->assignments->faults, addresses, n, NULL, NULL);
	bool itself = false;
	_cleanup_free_ char *reason = facts->quarantine(&addresses[0], &itself, facts->userdata);
	_cleanup_free_ char *what = NULL;

	if (reason && (itself || candidate))
		fence_close(fence, BDF_TEXT(&addresses[0]), addresses, n, FENCE_QUARANTINED,
			    reason);
	if (!unread || (!candidate && !record_fault_is_about(unread, addresses, n, NULL, NULL)))
		return;
	what = record_fault_what(unread);
	fence_close(fence, BDF_TEXT(&addresses[0]), addresses, n, FENCE_UNREAD, what);
}

static void add_ungrouped(const FenceFacts *facts, const Gpu *gpu, Fence *fence)
{
	bool candidate = group_set_find_gpu(facts->groups, &gpu->lead->bdf) != NULL;
	Bdf addresses[8];
	size_t n = 0;

	if (fence_find(fence, &gpu->lead->bdf, NULL))
		return;
	for (size_t i = 0; i < gpu->n_functions && n < ELEMENTS(addresses); i++)
		addresses[n++] = gpu->functions[i]->bdf;
	add_other(fence, gpu);
	close_other(facts, fence, addresses, n, candidate);
}

/* Whoever forgets a group does not clean what its tenant left: that one alone may have it. */
static void add_dirty(const FenceFacts *facts, Fence *fence, const PciFunction *f)
{
	const TenantMark *mark = tenants_mark(facts->tenants, f);
	FenceGroup *group;

	if (!mark || mark->state != TENANT_DIRTY || fence_find(fence, &f->bdf, NULL))
		return;
	group = GROW(fence->groups, fence->n_groups);
	*group = (FenceGroup){ .name = xstrdup(BDF_TEXT(&f->bdf)), .foreign_use = true };
	*GROW(group->functions, group->n_functions) = function_of(f);
	group->functions[0].companion = true;
	*GROW(group->boards, group->n_boards) = (FenceBoard){
		.bdf = f->bdf,
		.tenant = TENANT_DIRTY,
		.domain_uuid = xstrdup(mark->domain_uuid),
		.domain_name = xstrdup(mark->domain_name),
	};
}

/* One that was a companion: a NIC or an NVMe of the host is no business of ours. */
static void close_other_companions(const FenceFacts *facts, Fence *fence)
{
	const PciSnapshot *snapshot = facts->gpus->snapshot;
	MemberKind kind;

	EACH_OF (PciFunction, f, snapshot->functions, snapshot->n_functions) {
		if (!member_kind_of(f, &kind) || fence_find(fence, &f->bdf, NULL))
			continue;
		close_other(facts, fence, &f->bdf, 1, false);
		add_dirty(facts, fence, f);
	}
}

/* Boards of a record that are not there now may come back at any moment. */
static void add_missing(const Assignment *record, Fence *fence)
{
	_cleanup_free_ Bdf *missing = xcalloc(record->n_functions + 1, sizeof(Bdf));
	_cleanup_free_ char *reason = NULL;
	size_t n = 0;

	for (size_t i = 0; i < record->n_functions; i++)
		if (!fence_find(fence, &record->functions[i].bdf, NULL))
			missing[n++] = record->functions[i].bdf;
	if (n == 0)
		return;
	reason = strf("%s, which is assigned to %s, was not there when the host was looked at",
		      BDF_TEXT(&missing[0]), record->domain_name);
	fence_close(fence, record->group_name, missing, n, FENCE_UNSAFE, reason);
}

Fence *fence_make(const FenceFacts *facts)
{
	Fence *fence = xcalloc(1, sizeof(Fence));

	fence->groups = xcalloc(facts->groups->n_items + 1, sizeof(FenceGroup));
	fence->boot_id = xstrdup(facts->boot_id);
	for (size_t i = 0; i < facts->groups->n_items; i++)
		add_group(facts, &facts->groups->items[i], fence);
	for (size_t i = 0; i < facts->gpus->n_gpus; i++)
		add_ungrouped(facts, &facts->gpus->gpus[i], fence);
	close_other_companions(facts, fence);
	for (size_t i = 0; i < facts->assignments->n_items; i++)
		add_missing(facts->assignments->items[i], fence);
	return fence;
}
