/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mark as JSON, and back. */
#include <string.h>

#include "core/base/json-fields.h"
#include "core/tenancy/tenancy.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

DEFINE_STRING_TABLE(tenant_state, TenantState, TENANT_STATES)

/* A name is only for people to read, and a tenant may choose it. Longer names are left out. */
#define NAME_MAX_BYTES 255

static const char *name_to_keep(const char *name)
{
	return name && strlen(name) <= NAME_MAX_BYTES ? name : NULL;
}

char *tenant_mark_to_json(const TenantMark *mark)
{
	_cleanup_json_ json_t *o = json_object();
	_cleanup_free_ char *text = NULL;
	int r = 0;

	r |= json_object_set_new(o, "schema", json_string(GPUPASS_SCHEMA_TENANT));
	r |= json_set_bdf(o, "address", &mark->bdf);
	r |= json_set_hex(o, "vendor", mark->vendor, 4);
	r |= json_set_hex(o, "device", mark->device, 4);
	r |= json_set_hex(o, "subsystem_vendor", mark->subsystem_vendor, 4);
	r |= json_set_hex(o, "subsystem_device", mark->subsystem_device, 4);
	r |= json_set_text_if_any(o, "uuid", mark->uuid);
	r |= json_set_text_if_any(o, "serial_number", mark->serial_number);
	r |= json_object_set_new(o, "state", json_string(tenant_state_to_string(mark->state)));
	r |= json_set_text_if_any(o, "domain_uuid", mark->domain_uuid);
	r |= json_set_text_if_any(o, "domain_name", name_to_keep(mark->domain_name));
	r |= json_object_set_new(o, "since_usec",
				 json_integer((json_int_t)(mark->since_usec & INT64_MAX)));
	r |= json_object_set_new(o, "why", json_string(str_or_empty(mark->why)));
	r |= json_set_true_if(o, "no_method", mark->no_method);
	text = r < 0 ? NULL : json_dumps(o, JSON_INDENT(2));
	return text ? strf("%s\n", text) : NULL;
}

static int read_members(const json_t *root, TenantMark *mark, char **ret_message)
{
	static const char *const keys[] = {
		"schema", "address",	   "vendor",	  "device",	 "subsystem_vendor",
		"uuid",	  "serial_number", "domain_uuid", "domain_name", "subsystem_device",
		"state",  "since_usec",	   "why",	  "no_method",	 NULL
	};
	_cleanup_free_ char *state = NULL;
	JsonReader reader;

	json_reader_begin(&reader, root, NULL, keys);
	json_read_bdf(&reader, "address", &mark->bdf);
	mark->vendor = (uint16_t)json_read_hex(&reader, "vendor", UINT16_MAX);
	mark->device = (uint16_t)json_read_hex(&reader, "device", UINT16_MAX);
	mark->subsystem_vendor = (uint16_t)json_read_hex(&reader, "subsystem_vendor", UINT16_MAX);
	mark->subsystem_device = (uint16_t)json_read_hex(&reader, "subsystem_device", UINT16_MAX);
	json_read_text_if_any(&reader, "uuid", &mark->uuid);
	json_read_text_if_any(&reader, "serial_number", &mark->serial_number);
	json_read_text(&reader, "state", &state);
	json_read_text_if_any(&reader, "domain_uuid", &mark->domain_uuid);
	json_read_text_if_any(&reader, "domain_name", &mark->domain_name);
	mark->since_usec = json_read_number(&reader, "since_usec", INT64_MAX);
	json_read_text(&reader, "why", &mark->why);
	json_read_bool_if_any(&reader, "no_method", &mark->no_method);
	if (state &&
	    (tenant_state_from_string(state, &mark->state) < 0 || mark->state == TENANT_NONE))
		json_reader_fail(&reader, "state", "is neither clean nor dirty");
	return json_reader_end(&reader, ret_message);
}

int tenant_mark_from_json(const char *text, size_t size, TenantMark **ret, char **ret_message)
{
	_cleanup_(tenant_mark_freep) TenantMark *mark = NULL;
	_cleanup_json_ json_t *root = NULL;
	int r = json_parse_document(text, size, GPUPASS_SCHEMA_TENANT, &root, ret_message);

	if (r < 0)
		return r;
	mark = calloc(1, sizeof(TenantMark));
	if (!mark)
		return -ENOMEM;
	r = read_members(root, mark, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(mark);
	return 0;
}

int tenant_mark_identify(TenantMark *mark, const Gpu *gpu)
{
	const PciFunction *lead = gpu->lead;

	mark->bdf = lead->bdf;
	mark->vendor = lead->vendor;
	mark->device = lead->device;
	mark->subsystem_vendor = lead->subsystem_vendor;
	mark->subsystem_device = lead->subsystem_device;
	mark->uuid = gpu->uuid ? strdup(gpu->uuid) : NULL;
	mark->serial_number = gpu->serial_number ? strdup(gpu->serial_number) : NULL;
	return (gpu->uuid && !mark->uuid) || (gpu->serial_number && !mark->serial_number) ? -ENOMEM
											  : 0;
}

void tenant_mark_clear(TenantMark *mark)
{
	free(mark->uuid);
	free(mark->serial_number);
	free(mark->domain_uuid);
	free(mark->domain_name);
	free(mark->why);
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
