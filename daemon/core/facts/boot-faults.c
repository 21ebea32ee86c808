/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/boot-faults.h"

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

/* The most assigned functions that a report may have. */
#define FUNCTIONS_MAX 4096

static const JsonMember fault_members[] = {
	JSON_BDF(BootFault, bdf),
	JSON_OTHER("group", NULL, NULL),
	JSON_OTHER("domain_uuid", NULL, NULL),
	JSON_TEXT(BootFault, outcome),
	JSON_TEXT_IF_ANY(BootFault, detail),
	JSON_END,
};

static const JsonMember members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_BOOT),
	JSON_ARRAY_AS(BootFaults, items, BootFault, fault_members, FUNCTIONS_MAX, "functions"),
	JSON_OTHER("notes", NULL, NULL),
	JSON_END,
};

static void forget_bound(BootFaults *faults)
{
	size_t n = 0;

	for (size_t i = 0; i < faults->n_items; i++) {
		BootFault *item = &faults->items[i];

		if (str_equal(item->outcome, "bound") || str_equal(item->outcome, "reserved"))
			json_struct_clear(fault_members, item);
		else
			faults->items[n++] = *item;
	}
	faults->n_items = n;
}

int boot_faults_parse(const char *text, size_t size, BootFaults **ret, char **ret_message)
{
	_cleanup_(boot_faults_freep) BootFaults *faults = xcalloc(1, sizeof(BootFaults));
	_cleanup_json_ json_t *root = NULL;
	int r = json_parse_document(text, size, GPUPASS_SCHEMA_BOOT, &root, ret_message);

	if (r >= 0)
		r = json_struct_read(members, root, NULL, faults, ret_message);
	if (r < 0)
		return r;
	forget_bound(faults);
	*ret = TAKE_PTR(faults);
	return 0;
}

const BootFault *boot_faults_find(const BootFaults *faults, const Bdf *bdf)
{
	for (size_t i = 0; faults && i < faults->n_items; i++)
		if (bdf_equal(&faults->items[i].bdf, bdf))
			return &faults->items[i];
	return NULL;
}

char *boot_fault_text(const BootFault *fault)
{
	return strf("%s%s%s", fault->outcome, fault->detail ? ": " : "",
		    str_or_empty(fault->detail));
}

BootFaults *boot_faults_free(BootFaults *faults)
{
	if (faults)
		json_struct_clear(members, faults);
	free(faults);
	return NULL;
}
