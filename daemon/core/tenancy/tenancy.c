/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/tenancy/tenancy.h"

#include "gpupass/dbus.h"
#include "util/xalloc.h"

/* ---- a mark as JSON, and back ---- */

/* A name is only for people to read, and a tenant may choose it. Longer names are left out. */
#define NAME_MAX_BYTES 255

LOCAL_DOCUMENT(TenantMark, mark_members, GPUPASS_SCHEMA_TENANT)
#include "tenancy.inc"

json_t *tenant_mark_document(const TenantMark *mark)
{
	/* What it owns stays the caller's. */
	TenantMark kept = *mark;

	if (kept.domain_name && strlen(kept.domain_name) > NAME_MAX_BYTES)
		kept.domain_name = NULL;
	if (!kept.why)
		kept.why = (char *)"";
	return json_struct_write(mark_members, &kept);
}

char *tenant_file_name(const Bdf *bdf)
{
	return strf("%s.json", BDF_TEXT(bdf));
}

static bool is_name(const char *name, const void *record)
{
	const TenantMark *mark = record;
	_cleanup_free_ char *own = tenant_file_name(&mark->bdf);

	return strcmp(name, own) == 0;
}

#define COUNTS_AS_USED                                                                             \
	"the board counts as used by a tenant that is not known, and is reset before a domain "    \
	"gets it"
#define MENDED "the next assign writes its mark anew"

const RecordKind tenant_kind = {
	.folder = "tenants",
	.schema = GPUPASS_SCHEMA_TENANT_2,
	.most = 512U * 1024, /* with a receipt of as many namespaces as there can be */
	.members = mark_members,
	.size = sizeof(TenantMark),
	.is_name = is_name,
	.misnamed = "its name is not its board's address",
	.so = {
		[RECORD_NEWER] = "no domain is given the board",
		[RECORD_DAMAGED] = COUNTS_AS_USED,
		[RECORD_UNREAD] = COUNTS_AS_USED,
	},
	.remedy = {
		[RECORD_NEWER] = RECORD_NEWER_REMEDY "; or power the host off "
				 "and on, then remove the file",
		[RECORD_DAMAGED] = MENDED "; remove a file that has no board's name",
		[RECORD_UNREAD] = "see the kernel's log for why; " MENDED,
	},
};

void tenant_mark_identify(TenantMark *mark, const Gpu *gpu)
{
	const PciFunction *lead = gpu->lead;

	mark->bdf = lead->bdf;
	mark->vendor = lead->vendor;
	mark->device = lead->device;
	mark->subsystem_vendor = lead->subsystem_vendor;
	mark->subsystem_device = lead->subsystem_device;
	mark->uuid = xstrdup(gpu->uuid);
	mark->serial_number = xstrdup(gpu->serial_number);
}

/* Of a companion each function is a board. */
static bool is_of_slot(const TenantFile *file, const Bdf *bdf)
{
	return bdf_same_slot(&file->bdf, bdf) &&
	       (!file->mark || file->mark->vendor == PCI_VENDOR_NVIDIA);
}

const TenantFile *tenants_find(const Tenants *tenants, const Bdf *bdf)
{
	const TenantFile *found = NULL;

	for (size_t i = 0; tenants && i < tenants->n_items; i++) {
		if (bdf_equal(&tenants->items[i].bdf, bdf))
			return &tenants->items[i];
		if (!found && is_of_slot(&tenants->items[i], bdf))
			found = &tenants->items[i];
	}
	return found;
}

const RecordFault *tenants_fault(const Tenants *tenants, const Bdf *bdf)
{
	const TenantFile *file = tenants_find(tenants, bdf);

	if (!tenants)
		return NULL;
	if (tenants->unread)
		return &tenants->faults.items[0];
	return file && !file->mark ? &tenants->faults.items[file->fault] : NULL;
}

const TenantMark *tenants_mark(const Tenants *tenants, const PciFunction *function)
{
	const TenantFile *file = tenants_find(tenants, &function->bdf);

	return file && file->mark && bdf_equal(&file->bdf, &function->bdf) &&
			       PCI_SAME_IDS(file->mark, function)
		       ? file->mark
		       : NULL;
}

bool tenants_returned(const Tenants *tenants, const Bdf *nvme)
{
	const TenantFile *file = tenants_find(tenants, nvme);

	return file && bdf_equal(&file->bdf, nvme) && file->mark &&
	       file->mark->state == TENANT_DIRTY && file->mark->n_erases > 0;
}

/* ---- what marks say of a board ---- */

static bool differ(const char *then, const char *now)
{
	return then && now && strcmp(then, now) != 0;
}

/* What is not known about one of the boards is no difference. */
bool tenant_marks_match(const TenantMark *a, const TenantMark *b)
{
	return PCI_SAME_IDS(a, b) && !differ(a->uuid, b->uuid) &&
	       !differ(a->serial_number, b->serial_number);
}

static bool is_board(const TenantMark *mark, const Gpu *gpu)
{
	return tenant_marks_match(mark, &(TenantMark){
						PCI_IDS_OF(gpu->lead),
						.uuid = gpu->uuid,
						.serial_number = gpu->serial_number,
					});
}

static Tenancy unusable(const char *why)
{
	return (Tenancy){ .state = TENANT_DIRTY, .source = TENANCY_FAULT, .why = why };
}

static Tenancy of_mark(const TenantMark *mark)
{
	return (Tenancy){
		.state = mark->state,
		.source = TENANCY_MARK,
		.domain_uuid = mark->domain_uuid,
		.domain_name = mark->domain_name,
		.why = mark->why,
		.no_method = mark->no_method,
	};
}

/* An older version assigned it, and kept no marks. */
static Tenancy of_record(const Assignments *assignments, const Gpu *gpu)
{
	for (size_t i = 0; assignments && i < gpu->n_functions; i++) {
		const Assignment *record =
			assignments_find_function(assignments, &gpu->functions[i]->bdf);

		if (record)
			return (Tenancy){
				.state = TENANT_DIRTY,
				.source = TENANCY_RECORD,
				.domain_uuid = record->domain_uuid,
				.domain_name = record->domain_name,
				.why = "assigned to it by a version that kept no marks",
			};
	}
	return (Tenancy){ .state = TENANT_NONE };
}

static bool is_missing(const TenancyFacts *facts, const TenantMark *mark)
{
	const Gpu *there = FIND(facts->gpus->gpus, facts->gpus->n_gpus,
				bdf_same_slot(&it->lead->bdf, &mark->bdf));

	return !there || !is_board(mark, there);
}

/*
 * A board's address changes when its bus gets another number, and that needs no power cycle. So a
 * board without a mark may be any board of its model whose mark no longer finds a board. Not so a
 * companion: what it has may be the host's own, and a NIC is reset each time.
 */
static Tenancy of_moved(const TenancyFacts *facts, const Gpu *gpu)
{
	Tenancy found = { .state = TENANT_NONE };

	if (gpu->lead->vendor != PCI_VENDOR_NVIDIA)
		return found;
	for (size_t i = 0; facts->gpus && facts->tenants && i < facts->tenants->n_items; i++) {
		const TenantMark *mark = facts->tenants->items[i].mark;

		if (!mark || mark->state != TENANT_DIRTY || !is_board(mark, gpu) ||
		    !is_missing(facts, mark))
			continue;
		if (found.state == TENANT_DIRTY && !str_equal(found.domain_uuid, mark->domain_uuid))
			found.domain_uuid = found.domain_name = NULL;
		else
			found = of_mark(mark);
		found.source = TENANCY_MOVED;
		found.why = "a board of its model that was used is missing, and it may be that one";
	}
	return found;
}

/* From marks and records alone, without the domains. */
static Tenancy of_books(const TenancyFacts *facts, const Gpu *gpu)
{
	const TenantFile *file = tenants_find(facts->tenants, &gpu->lead->bdf);
	const RecordFault *fault = tenants_fault(facts->tenants, &gpu->lead->bdf);
	Tenancy tenancy;

	if (fault)
		return unusable(fault->why);
	if (file && !is_board(file->mark, gpu))
		return unusable("its mark is of another board");
	if (file)
		return of_mark(file->mark);
	tenancy = of_record(facts->assignments, gpu);
	return tenancy.state == TENANT_NONE ? of_moved(facts, gpu) : tenancy;
}

typedef struct Users {
	const DomainUse *first;
	bool several;
} Users;

static void add_user(Users *users, const DomainUse *use)
{
	users->several |= users->first && users->first != use;
	if (!users->first)
		users->first = use;
}

static bool is_of(const Gpu *gpu, const Bdf *bdf)
{
	/* All functions of a board are in one slot, and nearly no hostdev is. */
	if (bdf->bus != gpu->lead->bdf.bus || bdf->device != gpu->lead->bdf.device)
		return false;
	return SOME_OF(gpu->functions, gpu->n_functions, bdf_equal(&it->bdf, bdf));
}

/* Domains that have a function of the board: running with it, or defined with it. */
static void find_users(const DomainUses *uses, const Gpu *gpu, Users *live, Users *defined)
{
	EACH_IN (const DomainUse, use, uses, items) {
		EACH (const DomainHostdev, hostdev, use->hostdevs, use->n_hostdevs) {
			if (!is_of(gpu, &hostdev->bdf))
				continue;
			if (hostdev->live)
				add_user(live, use);
			if (hostdev->config)
				add_user(defined, use);
		}
	}
}

static Tenancy of_users(const Users *users, const char *why)
{
	return (Tenancy){
		.state = TENANT_DIRTY,
		.source = TENANCY_SEEN,
		.domain_uuid = users->several ? NULL : users->first->uuid,
		.domain_name = users->several ? NULL : users->first->name,
		.why = users->several ? "seen in several domains" : why,
	};
}

/*
 * A domain that runs with the board is its tenant. A domain that only has it in its definition may
 * have run between two looks. But it does not replace a tenant whose data may still be on the
 * board.
 */
Tenancy tenancy_of(const TenancyFacts *facts, const Gpu *gpu)
{
	Tenancy books = of_books(facts, gpu);
	Users live = { 0 }, defined = { 0 };
	Tenancy seen;

	find_users(facts->uses, gpu, &live, &defined);
	if (books.source == TENANCY_FAULT || (!live.first && !defined.first))
		return books;
	if (!live.first)
		return books.state == TENANT_DIRTY ? books
						   : of_users(&defined, "seen in its definition");
	seen = of_users(&live, "seen in it while it ran");
	return books.state == TENANT_DIRTY && str_equal(books.domain_uuid, seen.domain_uuid) ? books
											     : seen;
}

bool tenancy_is_news(const Tenancy *tenancy)
{
	return tenancy->source == TENANCY_SEEN || tenancy->source == TENANCY_RECORD;
}

TenantMark tenancy_mark(const Tenancy *tenancy, const Gpu *gpu, uint64_t now_usec)
{
	TenantMark mark = {
		.state = tenancy->state,
		.since_usec = now_usec,
		.no_method = tenancy->no_method,
		.domain_uuid = xstrdup(tenancy->domain_uuid),
		.domain_name = xstrdup(tenancy->domain_name),
		.why = xstrdup(tenancy->why),
	};

	tenant_mark_identify(&mark, gpu);
	return mark;
}

char *tenancy_tenant_text(const char *domain_uuid, const char *domain_name)
{
	if (!domain_uuid)
		return xstrdup("a tenant that is not known");
	return domain_name ? strf("%s (%s)", domain_name, domain_uuid) : xstrdup(domain_uuid);
}

void tenancy_notes(const TenancyFacts *facts, char ***notes)
{
	const Tenants *tenants = facts->tenants;

	EACH_IN (const Gpu, gpu, facts->gpus, gpus) {
		const TenantFile *file = tenants_find(tenants, &gpu->lead->bdf);

		if (file && file->mark && !is_board(file->mark, gpu))
			strv_appendf(
				notes,
				"%s is another board than the one that its mark is of: it counts as "
				"used by a tenant that is not known, and is reset before a domain "
				"gets it",
				BDF_TEXT(&gpu->lead->bdf));
	}
}
