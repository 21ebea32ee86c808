/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/kept.h"

#include <string.h>

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define TEXT_MAX (256U * 1024)

DEFINE_STRING_TABLE(kept_why, KeptWhy, KEPT_WHYS)

static const JsonMember function_members[] = {
	JSON_BDF(AssignedFunction, bdf),
	JSON_PCI_IDS(AssignedFunction),
	JSON_TEXT_IF_ANY(AssignedFunction, serial_number),
	JSON_END,
};

static const JsonMember kept_members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_KEPT),
	JSON_TEXT_AS(Assignment, group_name, "group"),
	JSON_ENUM_NOT_0(Assignment, kept, KeptWhy, KEPT_WHYS, "is neither asked nor setting"),
	JSON_NUMBER(Assignment, created_usec, INT64_MAX),
	JSON_NUMBER(Assignment, created_by, UINT32_MAX),
	JSON_ARRAY(Assignment, functions, AssignedFunction, function_members, GROUP_FUNCTIONS_MAX),
	JSON_END,
};

char *kept_to_json(const Assignment *kept)
{
	_cleanup_json_ json_t *root = json_struct_write(kept_members, kept);
	_cleanup_free_ char *text = json_dumps(root, JSON_INDENT(2));

	return strf("%s\n", text);
}

int kept_from_json(const char *text, size_t size, Assignment **ret, char **ret_message)
{
	_cleanup_(assignment_freep) Assignment *kept = NULL;
	_cleanup_json_ json_t *root = NULL;
	int r;

	if (size > TEXT_MAX)
		return json_refuse(ret_message, "it is larger than %u bytes", TEXT_MAX);
	r = json_parse_document(text, size, GPUPASS_SCHEMA_KEPT, &root, ret_message);
	if (r < 0)
		return r;
	kept = xcalloc(1, sizeof(*kept));
	r = json_struct_read(kept_members, root, NULL, kept, ret_message);
	if (r >= 0)
		r = assignment_check_functions(kept, ret_message);
	if (r >= 0)
		*ret = TAKE_PTR(kept);
	return r;
}

Assignment *kept_copy(const Assignment *from)
{
	Assignment *copy = xmalloc(sizeof(*copy));

	json_struct_copy(kept_members, from, copy, sizeof(*copy));
	copy->file = NULL;
	return copy;
}

void kept_add(Assignments *all, Assignment *kept)
{
	all->kept = xreallocarray(all->kept, all->n_kept + 1, sizeof(Assignment *));
	all->kept[all->n_kept++] = kept;
}

const Assignment *kept_find_function(const Assignments *all, const Bdf *bdf)
{
	for (size_t i = 0; i < all->n_kept; i++)
		if (assignment_function(all->kept[i], bdf))
			return all->kept[i];
	return NULL;
}

static bool is_function(const AssignedFunction *then, const PciFunction *now)
{
	return then && then->vendor == now->vendor && then->device == now->device &&
	       then->subsystem_vendor == now->subsystem_vendor &&
	       then->subsystem_device == now->subsystem_device;
}

const Assignment *kept_find(const Assignments *all, const PciFunction *const *functions, size_t n)
{
	const Assignment *kept = n > 0 ? kept_find_function(all, &functions[0]->bdf) : NULL;

	if (!kept || kept->n_functions != n)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (!is_function(assignment_function(kept, &functions[i]->bdf), functions[i]))
			return NULL;
	return kept;
}

bool kept_covers(const Assignment *stored, const Assignment *wanted)
{
	if (stored->kept != wanted->kept || stored->n_functions != wanted->n_functions ||
	    !str_equal(stored->group_name, wanted->group_name))
		return false;
	for (size_t i = 0; i < wanted->n_functions; i++) {
		const AssignedFunction *now = &wanted->functions[i];
		const AssignedFunction *then = assignment_function(stored, &now->bdf);

		if (!then || then->vendor != now->vendor || then->device != now->device ||
		    then->subsystem_vendor != now->subsystem_vendor ||
		    then->subsystem_device != now->subsystem_device ||
		    (now->serial_number && !str_equal(then->serial_number, now->serial_number)))
			return false;
	}
	return true;
}

bool kept_is_served(const Assignments *stored, const Assignment *wanted)
{
	for (size_t i = 0; i < stored->n_kept; i++)
		if (kept_covers(stored->kept[i], wanted) ||
		    (stored->kept[i]->kept == KEPT_ASKED &&
		     kept_shares_function(stored->kept[i], wanted)))
			return true;
	return false;
}

bool kept_shares_function(const Assignment *a, const Assignment *b)
{
	for (size_t i = 0; i < a->n_functions; i++)
		if (assignment_function(b, &a->functions[i].bdf))
			return true;
	return false;
}
