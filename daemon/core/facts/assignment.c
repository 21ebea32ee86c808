/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/assignment.h"

#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define UUID_LENGTH 36

const Assignment *assignments_of_domain(const Assignments *all, const char *domain_uuid,
					size_t *position)
{
	while (domain_uuid && *position < all->n_items) {
		const Assignment *assignment = all->items[(*position)++];

		if (str_equal(assignment->domain_uuid, domain_uuid))
			return assignment;
	}
	return NULL;
}

bool assignments_have_domain(const Assignments *all, const char *domain_uuid)
{
	size_t position = 0;

	return assignments_of_domain(all, domain_uuid, &position) != NULL;
}

const Assignment *assignments_find_same(const Assignments *all, const Assignment *assignment)
{
	const Assignment *one;
	size_t position = 0;

	while ((one = assignments_of_domain(all, assignment->domain_uuid, &position)))
		if (SOME(assignment->functions, assignment->n_functions,
			 assignment_function(one, &it->bdf)))
			return one;
	return NULL;
}

const Assignment *assignments_find_group(const Assignments *all, const char *group_name)
{
	return FIND_OF(all->items, all->n_items, str_equal(it->group_name, group_name));
}

const Assignment *assignments_find_function(const Assignments *all, const Bdf *bdf)
{
	return FIND_OF(all->items, all->n_items, assignment_function(it, bdf));
}

const AssignedFunction *assignment_function(const Assignment *assignment, const Bdf *bdf)
{
	return BDF_FIND(assignment->functions, assignment->n_functions, bdf);
}

char *assigned_function_change(const AssignedFunction *then, const PciFunction *now,
			       const char *serial)
{
	_cleanup_free_ char *path = then->path ? pci_function_path(now) : NULL;

	if (!PCI_SAME_IDS(then, now))
		return strf("is %04x:%04x (subsystem %04x:%04x) now and was %04x:%04x (subsystem "
			    "%04x:%04x) when it was recorded",
			    PCI_IDS(now), PCI_IDS(then));
	if (!str_equal(then->path, path))
		return strf("is at %s now and was at %s when it was recorded",
			    path ? path : "a place that is not known", then->path);
	if (then->serial_number && serial && !str_equal(then->serial_number, serial))
		return strf("has serial number %s now and had %s when it was recorded", serial,
			    then->serial_number);
	return NULL;
}

char *assigned_vf_change(const AssignedFunction *then, const PciFunction *nic, const char *serial)
{
	const PciFunction vf = {
		.bdf = then->bdf,
		PCI_IDS_OF(then),
		.upstream = nic->upstream,
		.n_upstream = nic->n_upstream,
	};

	return assigned_function_change(then, &vf, serial);
}

bool assigned_function_is(const AssignedFunction *then, const PciFunction *now)
{
	_cleanup_free_ char *change =
		then && now ? assigned_function_change(then, now, NULL) : NULL;

	return then && now && !change;
}

/* Off needs no record: it is what a GPU returns to by itself. */
static void assigned_persistence_write(json_t *o, const char *key, const void *function)
{
	const AssignedFunction *f = function;

	if (f->original_persistence == PERSISTENCE_ON)
		json_set(o, key, json_text("on"));
}

static void assigned_persistence_read(JsonReader *reader, const char *key, void *function)
{
	_cleanup_free_ char *text = NULL;
	AssignedFunction *f = function;

	json_read_text_if_any(reader, key, &text);
	if (text && (persistence_mode_from_string(text, &f->original_persistence) < 0 ||
		     f->original_persistence == PERSISTENCE_UNKNOWN))
		json_reader_fail(reader, key, "is neither on nor off");
}

LOCAL_JSON(AssignedFunction, function_members)
LOCAL_DOCUMENT(Assignment, assignment_members, GPUPASS_SCHEMA_ASSIGNMENT_3)
#include "assignment.inc"

json_t *assignment_document(const Assignment *assignment)
{
	return json_struct_write(assignment_members, assignment);
}

char *assignment_to_json(const Assignment *assignment)
{
	return record_text(&assignment_kind, assignment_document(assignment));
}

/* The UUID is also a file name. */
bool assignment_uuid_valid(const char *s)
{
	for (size_t i = 0; i < UUID_LENGTH; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != '-' : !strchr("0123456789abcdef", s[i]) || s[i] == '\0')
			return false;
	}
	return s[UUID_LENGTH] == '\0';
}

int assignment_check_functions(const void *assignment, char **ret_message)
{
	const Assignment *a = assignment;

	if (a->n_functions == 0)
		return json_refuse(ret_message, "functions is empty");
	for (size_t i = 0; i < a->n_functions; i++)
		if (assignment_function(a, &a->functions[i].bdf) != &a->functions[i])
			return json_refuse(ret_message, "functions[%zu].bdf is there twice", i);
	return 0;
}

/* Checks what the tables cannot. */
static int assignment_check(const void *assignment, char **ret_message)
{
	const Assignment *a = assignment;

	if (!assignment_uuid_valid(a->domain_uuid))
		return json_refuse(ret_message, "domain_uuid is not a UUID in lower case");
	return assignment_check_functions(a, ret_message);
}

int assignment_from_json(const char *text, size_t size, Assignment **ret, char **ret_message)
{
	void *assignment = NULL;
	int r = record_parse(&assignment_kind, text, size, &assignment, ret_message);

	if (r >= 0)
		*ret = assignment;
	return r;
}

/* ---- files ---- */

static char *name_with(const char *domain_uuid, const Bdf *function)
{
	return strf("%s_%s.json", domain_uuid, BDF_TEXT(function));
}

char *assignment_file_name(const Assignment *assignment, bool further)
{
	return further ? name_with(assignment->domain_uuid, &assignment->functions[0].bdf)
		       : strf("%s.json", assignment->domain_uuid);
}

static bool is_name(const char *name, const void *record)
{
	const Assignment *assignment = record;
	_cleanup_free_ char *first = assignment_file_name(assignment, false);
	bool is = strcmp(name, first) == 0;

	for (size_t i = 0; !is && i < assignment->n_functions; i++) {
		_cleanup_free_ char *further =
			name_with(assignment->domain_uuid, &assignment->functions[i].bdf);

		is = strcmp(name, further) == 0;
	}
	return is;
}

/* An assignment of 128 functions is about 32 KiB. */
const RecordKind assignment_kind = {
	.folder = "assignments.d",
	.schema = GPUPASS_SCHEMA_ASSIGNMENT_4,
	.most = 256U * 1024,
	.members = assignment_members,
	.size = sizeof(Assignment),
	.check = assignment_check,
	.is_name = is_name,
	.misnamed = "its name is not its domain's UUID, alone or with an address of its own",
	.apart = true,
	.remedy = {
		[RECORD_NEWER] = RECORD_NEWER_REMEDY "; or, if what it says is "
				 "known to hold no longer, move it out of that folder, then: "
				 "gpupass rescan",
		[RECORD_DAMAGED] = "see what it says and which domain has what (gpupass list; "
				   "virsh dumpxml); when that is settled, remove the file, then: "
				   "gpupass rescan",
		[RECORD_UNREAD] = "see the kernel's log for why; when it can be read: gpupass "
				  "rescan",
	},
};

/* Members that this version does not know are allowed. A missing one makes the function unknown. */
static int read_function(const json_t *json, AssignedFunction *f)
{
	static const char *const ids[] = { "vendor", "device", "subsystem_vendor",
					   "subsystem_device" };
	const char *address = json_string_value(json_object_get(json, "bdf"));
	const char *serial = json_string_value(json_object_get(json, "serial_number"));
	uint16_t *to[] = { &f->vendor, &f->device, &f->subsystem_vendor, &f->subsystem_device };

	if (!address || bdf_parse(address, &f->bdf) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < ELEMENTS(ids); i++) {
		const char *text = json_string_value(json_object_get(json, ids[i]));
		unsigned long long value;

		if (!text || str_to_unsigned(text, 16, UINT16_MAX, &value) < 0)
			return -EBADMSG;
		*to[i] = (uint16_t)value;
	}
	f->serial_number = xstrdup(serial);
	f->path = xstrdup(json_string_value(json_object_get(json, "path")));
	return 0;
}

/* A copy under another name is not an assignment. */
Assignment *assignment_read_leniently(const RecordFault *fault)
{
	_cleanup_(assignment_freep) Assignment *a = xcalloc(1, sizeof(Assignment));
	_cleanup_free_ char *uuid = xstrndup(fault->file, strcspn(fault->file, "._"));
	const json_t *array = json_object_get(fault->document, "functions");
	const char *domain = json_string_value(json_object_get(fault->document, "domain_name"));
	const char *group = json_string_value(json_object_get(fault->document, "group"));
	size_t n = json_array_size(array);

	if (!fault->document || n == 0 || n != fault->n_functions || !assignment_uuid_valid(uuid))
		return NULL;
	a->domain_name = xstrdup(domain ? domain : uuid);
	a->domain_uuid = TAKE_PTR(uuid);
	a->group_name = xstrdup(group ? group : "a group of another version's");
	a->functions = xcalloc(n, sizeof(AssignedFunction));
	a->n_functions = n;
	for (size_t i = 0; i < n; i++)
		if (read_function(json_array_get(array, i), &a->functions[i]) < 0)
			return NULL;
	return TAKE_PTR(a);
}
