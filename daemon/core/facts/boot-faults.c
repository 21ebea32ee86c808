/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/boot-faults.h"

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

LOCAL_CLEAR(BootFault, boot_fault_clear)
LOCAL_JSON_OF(BootFault, fault_members, bdf, "group"(ignored), "domain_uuid"(ignored), outcome,
	      detail)
LOCAL_JSON_OF(BootFaults, members, schema GPUPASS_SCHEMA_BOOT, items(table fault_members),
	      "notes"(ignored))
#include "boot-faults.inc"

static void forget_bound(BootFaults *faults)
{
	size_t n = 0;

	EACH (BootFault, item, faults->items, faults->n_items) {
		if (str_equal(item->outcome, "bound") || str_equal(item->outcome, "reserved"))
			boot_fault_clear(item);
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
	return faults ? BDF_FIND(faults->items, faults->n_items, bdf) : NULL;
}

char *boot_fault_text(const BootFault *fault)
{
	return strf("%s%s%s", fault->outcome, fault->detail ? ": " : "",
		    str_or_empty(fault->detail));
}
