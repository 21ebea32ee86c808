/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/kept.h"

#include "gpupass/dbus.h"
#include "util/text.h"
#include "util/xalloc.h"

LOCAL_JSON_OF(Assignment, kept_members, schema GPUPASS_SCHEMA_KEPT, group_name,
	      kept(not_0, wrong "is neither asked nor setting"), created_usec, created_by,
	      functions(table kept_function_members))
#include "kept.inc"

json_t *kept_document(const Assignment *kept)
{
	return json_struct_write(kept_members, kept);
}

char *kept_to_json(const Assignment *kept)
{
	return record_text(&kept_kind, kept_document(kept));
}

int kept_from_json(const char *text, size_t size, Assignment **ret, char **ret_message)
{
	void *kept = NULL;
	int r = record_parse(&kept_kind, text, size, &kept, ret_message);

	if (r >= 0)
		*ret = kept;
	return r;
}

char *kept_file_name(const Assignment *kept)
{
	return strf("%s.json", BDF_TEXT(&kept->functions[0].bdf));
}

static bool is_name(const char *name, const void *kept)
{
	_cleanup_free_ char *own = kept_file_name(kept);

	return strcmp(name, own) == 0;
}

#define NOT_KEPT "what it names is not kept on vfio-pci"
#define KEPT_REMEDY                                                                                \
	"remove the file, then: gpupass rescan; and bind the group again with --persist, if it "   \
	"is to be kept"

/* A copy would keep what is no longer to be kept. */
const RecordKind kept_kind = {
	.folder = "kept.d",
	.schema = GPUPASS_SCHEMA_KEPT_2,
	.most = 256U * 1024,
	.members = kept_members,
	.size = sizeof(Assignment),
	.check = assignment_check_functions,
	.is_name = is_name,
	.misnamed = "its name is not its first function's address",
	.so = { NOT_KEPT, NOT_KEPT, NOT_KEPT },
	.remedy = {
		[RECORD_NEWER] = RECORD_NEWER_REMEDY "; or " KEPT_REMEDY,
		[RECORD_DAMAGED] = KEPT_REMEDY,
		[RECORD_UNREAD] = "see the kernel's log for why; or " KEPT_REMEDY,
	},
};

void kept_add(Assignments *all, Assignment *kept)
{
	all->kept = xreallocarray(all->kept, all->n_kept + 1, sizeof(Assignment *));
	all->kept[all->n_kept++] = kept;
}

const Assignment *kept_find_function(const Assignments *all, const Bdf *bdf)
{
	return FIND_OF(all->kept, all->n_kept, assignment_function(it, bdf));
}

const Assignment *kept_find(const Assignments *all, const PciFunction *const *functions, size_t n)
{
	const Assignment *kept = n > 0 ? kept_find_function(all, &functions[0]->bdf) : NULL;

	if (!kept || kept->n_functions != n)
		return NULL;
	return SOME_OF(functions, n, !assigned_function_is(assignment_function(kept, &it->bdf), it))
		       ? NULL
		       : kept;
}

bool kept_covers(const Assignment *stored, const Assignment *wanted)
{
	if (stored->kept != wanted->kept || stored->n_functions != wanted->n_functions ||
	    !str_equal(stored->group_name, wanted->group_name))
		return false;
	EACH (const AssignedFunction, now, wanted->functions, wanted->n_functions) {
		const AssignedFunction *then = assignment_function(stored, &now->bdf);

		if (!then || !PCI_SAME_IDS(then, now) || !str_equal(then->path, now->path) ||
		    (now->serial_number && !str_equal(then->serial_number, now->serial_number)))
			return false;
	}
	return true;
}

bool kept_is_served(const Assignments *stored, const Assignment *wanted)
{
	return SOME_OF(stored->kept, stored->n_kept,
		       kept_covers(it, wanted) ||
			       (it->kept == KEPT_ASKED && kept_shares_function(it, wanted)));
}

bool kept_shares_function(const Assignment *a, const Assignment *b)
{
	return SOME(a->functions, a->n_functions, assignment_function(b, &it->bdf));
}
