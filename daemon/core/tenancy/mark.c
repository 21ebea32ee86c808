/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mark as JSON, and back. */
#include <string.h>

#include "core/base/json-struct.h"
#include "core/tenancy/tenancy.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

DEFINE_STRING_TABLE(tenant_state, TenantState, TENANT_STATES)

/* A name is only for people to read, and a tenant may choose it. Longer names are left out. */
#define NAME_MAX_BYTES 255

LOCAL_DOCUMENT(TenantMark, mark_members, GPUPASS_SCHEMA_TENANT)
#include "mark.inc"

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

static int mark_read(const json_t *document, void **ret, char **ret_why)
{
	_cleanup_(tenant_mark_freep) TenantMark *mark = xcalloc(1, sizeof(TenantMark));
	int r = json_struct_read(mark_members, document, NULL, mark, ret_why);

	if (r >= 0)
		*ret = TAKE_PTR(mark);
	return r;
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

static void mark_free(void *mark)
{
	tenant_mark_free(mark);
}

#define COUNTS_AS_USED                                                                             \
	"the board counts as used by a tenant that is not known, and is reset before a domain "    \
	"gets it"
#define MENDED "the next assign writes its mark anew"

const RecordKind tenant_kind = {
	.folder = "tenants",
	.schema = GPUPASS_SCHEMA_TENANT_2,
	.most = 64U * 1024,
	.read = mark_read,
	.free = mark_free,
	.is_name = is_name,
	.misnamed = "its name is not its board's address",
	.so = {
		[RECORD_NEWER] = "no domain is given the board",
		[RECORD_DAMAGED] = COUNTS_AS_USED,
		[RECORD_UNREAD] = COUNTS_AS_USED,
	},
	.remedy = {
		[RECORD_NEWER] = "run the version of gpupass that wrote it; or power the host off "
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

const TenantFile *tenants_find(const Tenants *tenants, const Bdf *bdf)
{
	for (size_t i = 0; tenants && i < tenants->n_items; i++)
		if (bdf_same_slot(&tenants->items[i].bdf, bdf))
			return &tenants->items[i];
	return NULL;
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
