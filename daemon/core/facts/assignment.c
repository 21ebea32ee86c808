/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/assignment.h"

#include <string.h>

#include "core/base/json-fields.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

/* A group has at most 8 GPUs of at most 8 functions. */
#define FUNCTIONS_MAX 64
#define TEXT_MAX (1024U * 1024)
#define UUID_LENGTH 36

const Assignment *assignments_find_domain(const Assignments *all, const char *domain_uuid)
{
	for (size_t i = 0; i < all->n_items; i++)
		if (str_equal(all->items[i]->domain_uuid, domain_uuid))
			return all->items[i];
	return NULL;
}

const Assignment *assignments_find_group(const Assignments *all, const char *group_name)
{
	for (size_t i = 0; i < all->n_items; i++)
		if (str_equal(all->items[i]->group_name, group_name))
			return all->items[i];
	return NULL;
}

const Assignment *assignments_find_function(const Assignments *all, const Bdf *bdf)
{
	for (size_t i = 0; i < all->n_items; i++)
		if (assignment_function(all->items[i], bdf))
			return all->items[i];
	return NULL;
}

const AssignedFunction *assignment_function(const Assignment *assignment, const Bdf *bdf)
{
	for (size_t i = 0; i < assignment->n_functions; i++)
		if (bdf_equal(&assignment->functions[i].bdf, bdf))
			return &assignment->functions[i];
	return NULL;
}

static json_t *function_to_json(const AssignedFunction *function)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_set_bdf(o, "bdf", &function->bdf);
	r |= json_set_hex(o, "vendor", function->vendor, 4);
	r |= json_set_hex(o, "device", function->device, 4);
	r |= json_set_hex(o, "subsystem_vendor", function->subsystem_vendor, 4);
	r |= json_set_hex(o, "subsystem_device", function->subsystem_device, 4);
	r |= json_set_text_if_any(o, "original_driver", function->original_driver);
	r |= json_set_text_if_any(o, "original_override", function->original_override);
	/* Off needs no record: it is what a GPU returns to by itself. */
	if (function->original_persistence == PERSISTENCE_ON)
		r |= json_set_persistence_if_known(o, "original_persistence", PERSISTENCE_ON);
	r |= json_set_text_if_any(o, "uuid", function->uuid);
	r |= json_set_text_if_any(o, "serial_number", function->serial_number);
	return r < 0 ? NULL : TAKE_PTR(o);
}

static const char *schema_of(const Assignment *assignment)
{
	bool second = assignment->apply_fit || assignment->apply_numa;

	for (size_t i = 0; i < assignment->n_functions; i++)
		second |= assignment->functions[i].original_persistence == PERSISTENCE_ON;
	return second ? GPUPASS_SCHEMA_ASSIGNMENT_2 : GPUPASS_SCHEMA_ASSIGNMENT;
}

char *assignment_to_json(const Assignment *assignment)
{
	_cleanup_json_ json_t *root = json_object();
	json_t *functions = json_array(); /* root below takes it, also on failure */
	_cleanup_free_ char *text = NULL;
	int r = 0;

	for (size_t i = 0; i < assignment->n_functions; i++)
		r |= json_array_append_new(functions, function_to_json(&assignment->functions[i]));
	r |= json_object_set_new(root, "schema", json_string(schema_of(assignment)));
	r |= json_object_set_new(root, "domain_uuid", json_string(assignment->domain_uuid));
	r |= json_object_set_new(root, "domain_name", json_string(assignment->domain_name));
	r |= json_object_set_new(root, "group", json_string(assignment->group_name));
	r |= json_object_set_new(root, "created_usec",
				 json_integer((json_int_t)(assignment->created_usec & INT64_MAX)));
	r |= json_object_set_new(root, "created_by", json_integer(assignment->created_by));
	r |= json_set_true_if(root, "apply_fit", assignment->apply_fit);
	r |= json_set_true_if(root, "apply_numa", assignment->apply_numa);
	r |= json_object_set_new(root, "functions", functions);
	if (r < 0)
		return NULL;
	text = json_dumps(root, JSON_INDENT(2));
	return text ? strf("%s\n", text) : NULL;
}

static int function_from_json(const json_t *json, size_t index, AssignedFunction *f,
			      char **ret_message)
{
	static const char *const keys[] = { "bdf",
					    "vendor",
					    "device",
					    "subsystem_vendor",
					    "subsystem_device",
					    "original_driver",
					    "original_override",
					    "original_persistence",
					    "uuid",
					    "serial_number",
					    NULL };
	_cleanup_free_ char *where = strf("functions[%zu]", index);
	JsonReader reader;

	if (!where)
		return -ENOMEM;
	json_reader_begin(&reader, json, where, keys);
	json_read_bdf(&reader, "bdf", &f->bdf);
	f->vendor = (uint16_t)json_read_hex(&reader, "vendor", UINT16_MAX);
	f->device = (uint16_t)json_read_hex(&reader, "device", UINT16_MAX);
	f->subsystem_vendor = (uint16_t)json_read_hex(&reader, "subsystem_vendor", UINT16_MAX);
	f->subsystem_device = (uint16_t)json_read_hex(&reader, "subsystem_device", UINT16_MAX);
	json_read_text_if_any(&reader, "original_driver", &f->original_driver);
	json_read_text_if_any(&reader, "original_override", &f->original_override);
	json_read_persistence_if_any(&reader, "original_persistence", &f->original_persistence);
	json_read_text_if_any(&reader, "uuid", &f->uuid);
	json_read_text_if_any(&reader, "serial_number", &f->serial_number);
	return json_reader_end(&reader, ret_message);
}

/* Reads the list, in which no address may be twice. */
static int functions_from_json(const json_t *array, Assignment *assignment, char **ret_message)
{
	size_t n = json_array_size(array);

	assignment->functions = calloc(n, sizeof(AssignedFunction));
	if (!assignment->functions)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		AssignedFunction *function = &assignment->functions[i];
		int r;

		assignment->n_functions = i + 1;
		r = function_from_json(json_array_get(array, i), i, function, ret_message);
		if (r < 0)
			return r;
		if (assignment_function(assignment, &function->bdf) == function)
			continue;
		if (ret_message)
			*ret_message = strf("functions[%zu].bdf is there twice", i);
		return -EBADMSG;
	}
	return 0;
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

/* The first version lacks the last two members. */
static int assignment_from_root(const json_t *root, bool first, Assignment *a, char **ret_message)
{
	static const char *const keys[2][10] = {
		{ "schema", "domain_uuid", "domain_name", "group", "created_usec", "created_by",
		  "functions", "apply_fit", "apply_numa", NULL },
		{ "schema", "domain_uuid", "domain_name", "group", "created_usec", "created_by",
		  "functions", NULL },
	};
	const json_t *functions;
	JsonReader reader;
	int r;

	json_reader_begin(&reader, root, NULL, keys[first]);
	json_read_text(&reader, "domain_uuid", &a->domain_uuid);
	json_read_text(&reader, "domain_name", &a->domain_name);
	json_read_text(&reader, "group", &a->group_name);
	a->created_usec = json_read_number(&reader, "created_usec", INT64_MAX);
	a->created_by = (uint32_t)json_read_number(&reader, "created_by", UINT32_MAX);
	json_read_bool_if_any(&reader, "apply_fit", &a->apply_fit);
	json_read_bool_if_any(&reader, "apply_numa", &a->apply_numa);
	functions = json_read_array(&reader, "functions", FUNCTIONS_MAX);
	if (a->domain_uuid && !assignment_uuid_valid(a->domain_uuid))
		json_reader_fail(&reader, "domain_uuid", "is not a UUID in lower case");
	if (json_array_size(functions) == 0)
		json_reader_fail(&reader, "functions", "is empty");
	r = json_reader_end(&reader, ret_message);
	if (r < 0)
		return r;
	return functions_from_json(functions, a, ret_message);
}

/* Parses both versions. If the text says that it is of the second, errors are about that one. */
static int assignment_parse(const char *text, size_t size, bool *ret_first, json_t **ret,
			    char **ret_message)
{
	int r = json_parse_document(text, size, GPUPASS_SCHEMA_ASSIGNMENT_2, ret, NULL);

	*ret_first = r < 0;
	return r < 0 ? json_parse_document(text, size, GPUPASS_SCHEMA_ASSIGNMENT, ret, ret_message)
		     : 0;
}

int assignment_from_json(const char *text, size_t size, Assignment **ret, char **ret_message)
{
	_cleanup_(assignment_freep) Assignment *assignment = NULL;
	_cleanup_json_ json_t *root = NULL;
	bool first;
	int r;

	if (size > TEXT_MAX) {
		if (ret_message)
			*ret_message = strf("it is larger than %u bytes", TEXT_MAX);
		return -EBADMSG;
	}
	r = assignment_parse(text, size, &first, &root, ret_message);
	if (r < 0)
		return r;
	assignment = calloc(1, sizeof(*assignment));
	if (!assignment)
		return -ENOMEM;
	r = assignment_from_root(root, first, assignment, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(assignment);
	return 0;
}

static int copy_text(const char *from, char **ret)
{
	char *copy = from ? strdup(from) : NULL;

	if (from && !copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

static int copy_function(const AssignedFunction *from, AssignedFunction *to)
{
	*to = *from;
	to->original_driver = to->original_override = to->uuid = to->serial_number = NULL;
	if (copy_text(from->original_driver, &to->original_driver) < 0 ||
	    copy_text(from->original_override, &to->original_override) < 0 ||
	    copy_text(from->uuid, &to->uuid) < 0 ||
	    copy_text(from->serial_number, &to->serial_number) < 0)
		return -ENOMEM;
	return 0;
}

int assignment_copy(const Assignment *from, Assignment **ret)
{
	_cleanup_(assignment_freep) Assignment *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	copy->created_usec = from->created_usec;
	copy->created_by = from->created_by;
	copy->apply_fit = from->apply_fit;
	copy->apply_numa = from->apply_numa;
	if (copy_text(from->domain_uuid, &copy->domain_uuid) < 0 ||
	    copy_text(from->domain_name, &copy->domain_name) < 0 ||
	    copy_text(from->group_name, &copy->group_name) < 0)
		return -ENOMEM;
	if (from->n_functions > 0) {
		copy->functions = calloc(from->n_functions, sizeof(AssignedFunction));
		if (!copy->functions)
			return -ENOMEM;
	}
	for (size_t i = 0; i < from->n_functions; i++) {
		copy->n_functions = i + 1;
		if (copy_function(&from->functions[i], &copy->functions[i]) < 0)
			return -ENOMEM;
	}
	*ret = TAKE_PTR(copy);
	return 0;
}

Assignment *assignment_free(Assignment *assignment)
{
	if (!assignment)
		return NULL;
	for (size_t i = 0; i < assignment->n_functions; i++) {
		AssignedFunction *function = &assignment->functions[i];

		free(function->original_driver);
		free(function->original_override);
		free(function->uuid);
		free(function->serial_number);
	}
	free(assignment->functions);
	free(assignment->domain_uuid);
	free(assignment->domain_name);
	free(assignment->group_name);
	free(assignment);
	return NULL;
}

static void fence_clear(AssignmentFence *fence)
{
	free(fence->file);
	free(fence->why);
	free(fence->domain_uuid);
	free(fence->functions);
	assignment_free(fence->lenient);
}

Assignments *assignments_free(Assignments *all)
{
	if (!all)
		return NULL;
	for (size_t i = 0; i < all->n_items; i++)
		assignment_free(all->items[i]);
	for (size_t i = 0; i < all->n_fences; i++)
		fence_clear(&all->fences[i]);
	free(all->items);
	free(all->fences);
	free(all);
	return NULL;
}
