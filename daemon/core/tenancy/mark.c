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

static const JsonMember mark_members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_TENANT),
	JSON_BDF_AS(TenantMark, bdf, "address"),
	JSON_PCI_IDS(TenantMark),
	JSON_TEXT_IF_ANY(TenantMark, uuid),
	JSON_TEXT_IF_ANY(TenantMark, serial_number),
	JSON_ENUM_NOT_0(TenantMark, state, TenantState, TENANT_STATES,
			"is neither clean nor dirty"),
	JSON_TEXT_IF_ANY(TenantMark, domain_uuid),
	JSON_TEXT_IF_ANY(TenantMark, domain_name),
	JSON_NUMBER(TenantMark, since_usec, INT64_MAX),
	JSON_TEXT(TenantMark, why),
	JSON_BOOL_IF_ANY(TenantMark, no_method),
	JSON_END,
};

char *tenant_mark_to_json(const TenantMark *mark)
{
	/* What it owns stays the caller's. */
	TenantMark kept = *mark;
	_cleanup_json_ json_t *o = NULL;
	_cleanup_free_ char *text = NULL;

	if (kept.domain_name && strlen(kept.domain_name) > NAME_MAX_BYTES)
		kept.domain_name = NULL;
	if (!kept.why)
		kept.why = (char *)"";
	o = json_struct_write(mark_members, &kept);
	text = json_dumps(o, JSON_INDENT(2));
	return strf("%s\n", text);
}

int tenant_mark_from_json(const char *text, size_t size, TenantMark **ret, char **ret_message)
{
	_cleanup_(tenant_mark_freep) TenantMark *mark = NULL;
	_cleanup_json_ json_t *root = NULL;
	int r = json_parse_document(text, size, GPUPASS_SCHEMA_TENANT, &root, ret_message);

	if (r < 0)
		return r;
	mark = xcalloc(1, sizeof(TenantMark));
	r = json_struct_read(mark_members, root, NULL, mark, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(mark);
	return 0;
}

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

void tenant_mark_clear(TenantMark *mark)
{
	json_struct_clear(mark_members, mark);
	*mark = (TenantMark){ 0 };
}

TenantMark *tenant_mark_free(TenantMark *mark)
{
	if (mark)
		tenant_mark_clear(mark);
	free(mark);
	return NULL;
}

const TenantFile *tenants_find(const Tenants *tenants, const Bdf *bdf)
{
	for (size_t i = 0; tenants && i < tenants->n_items; i++)
		if (bdf_same_slot(&tenants->items[i].bdf, bdf))
			return &tenants->items[i];
	return NULL;
}

Tenants *tenants_free(Tenants *tenants)
{
	if (!tenants)
		return NULL;
	for (size_t i = 0; i < tenants->n_items; i++) {
		tenant_mark_free(tenants->items[i].mark);
		free(tenants->items[i].fault);
	}
	free(tenants->items);
	free(tenants->fault);
	free(tenants);
	return NULL;
}
