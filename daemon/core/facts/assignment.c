/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/assignment.h"

#include <string.h>

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

/* As many as the versions had that know only /1 and /2. */
#define FUNCTIONS_ONCE 64
#define TEXT_MAX (1024U * 1024)
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
		for (size_t i = 0; i < assignment->n_functions; i++)
			if (assignment_function(one, &assignment->functions[i].bdf))
				return one;
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

/* Off needs no record: it is what a GPU returns to by itself. */
static void write_persistence(json_t *o, const char *key, const void *function)
{
	const AssignedFunction *f = function;

	if (f->original_persistence == PERSISTENCE_ON)
		json_set(o, key, json_text("on"));
}

static void read_persistence(JsonReader *reader, const char *key, void *function)
{
	_cleanup_free_ char *text = NULL;
	AssignedFunction *f = function;

	json_read_text_if_any(reader, key, &text);
	if (text && (persistence_mode_from_string(text, &f->original_persistence) < 0 ||
		     f->original_persistence == PERSISTENCE_UNKNOWN))
		json_reader_fail(reader, key, "is neither on nor off");
}

static const JsonMember function_members[] = {
	JSON_BDF(AssignedFunction, bdf),
	JSON_PCI_IDS(AssignedFunction),
	JSON_TEXT_IF_ANY(AssignedFunction, original_driver),
	JSON_TEXT_IF_ANY(AssignedFunction, original_override),
	JSON_OTHER("original_persistence", read_persistence, write_persistence),
	JSON_TEXT_IF_ANY(AssignedFunction, uuid),
	JSON_TEXT_IF_ANY(AssignedFunction, serial_number),
	JSON_END,
};

#define ASSIGNMENT_HEAD                                                                            \
	JSON_TEXT(Assignment, domain_uuid), JSON_TEXT(Assignment, domain_name),                    \
		JSON_TEXT_AS(Assignment, group_name, "group"),                                     \
		JSON_NUMBER(Assignment, created_usec, INT64_MAX),                                  \
		JSON_NUMBER(Assignment, created_by, UINT32_MAX)
#define ASSIGNMENT_FUNCTIONS                                                                       \
	JSON_ARRAY(Assignment, functions, AssignedFunction, function_members, GROUP_FUNCTIONS_MAX)

static const JsonMember first_members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_ASSIGNMENT),
	ASSIGNMENT_HEAD,
	ASSIGNMENT_FUNCTIONS,
	JSON_END,
};

#define ASSIGNMENT_WISH                                                                            \
	JSON_BOOL_IF_ANY(Assignment, apply_fit), JSON_BOOL_IF_ANY(Assignment, apply_numa)

static const JsonMember second_members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_ASSIGNMENT_2),
	ASSIGNMENT_HEAD,
	ASSIGNMENT_WISH,
	ASSIGNMENT_FUNCTIONS,
	JSON_END,
};

static const JsonMember third_members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_ASSIGNMENT_3),
	ASSIGNMENT_HEAD,
	ASSIGNMENT_WISH,
	ASSIGNMENT_FUNCTIONS,
	JSON_END,
};

static bool needs_second(const Assignment *assignment)
{
	bool second = assignment->apply_fit || assignment->apply_numa;

	for (size_t i = 0; i < assignment->n_functions; i++)
		second |= assignment->functions[i].original_persistence == PERSISTENCE_ON;
	return second;
}

static char *to_text(const JsonMember *members, const Assignment *assignment)
{
	_cleanup_json_ json_t *root = json_struct_write(members, assignment);
	_cleanup_free_ char *text = json_dumps(root, JSON_INDENT(2));

	return strf("%s\n", text);
}

char *assignment_to_json(const Assignment *assignment)
{
	if (assignment->n_functions > FUNCTIONS_ONCE)
		return assignment_to_json_further(assignment);
	return to_text(needs_second(assignment) ? second_members : first_members, assignment);
}

char *assignment_to_json_further(const Assignment *assignment)
{
	return to_text(third_members, assignment);
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

int assignment_check_functions(const Assignment *a, char **ret_message)
{
	if (a->n_functions == 0)
		return json_refuse(ret_message, "functions is empty");
	for (size_t i = 0; i < a->n_functions; i++)
		if (assignment_function(a, &a->functions[i].bdf) != &a->functions[i])
			return json_refuse(ret_message, "functions[%zu].bdf is there twice", i);
	return 0;
}

/* Checks what the tables cannot. */
static int assignment_check(const Assignment *a, char **ret_message)
{
	if (!assignment_uuid_valid(a->domain_uuid))
		return json_refuse(ret_message, "domain_uuid is not a UUID in lower case");
	return assignment_check_functions(a, ret_message);
}

/* If the text says that it is of none of the versions, the error is about the first. */
static int assignment_parse(const char *text, size_t size, const JsonMember **ret_members,
			    json_t **ret, char **ret_message)
{
	static const struct {
		const char *schema;
		const JsonMember *members;
	} later[] = {
		{ GPUPASS_SCHEMA_ASSIGNMENT_3, third_members },
		{ GPUPASS_SCHEMA_ASSIGNMENT_2, second_members },
	};

	for (size_t i = 0; i < ELEMENTS(later); i++) {
		int r = json_parse_document(text, size, later[i].schema, ret, NULL);

		*ret_members = later[i].members;
		if (r >= 0)
			return r;
	}
	*ret_members = first_members;
	return json_parse_document(text, size, GPUPASS_SCHEMA_ASSIGNMENT, ret, ret_message);
}

int assignment_from_json(const char *text, size_t size, Assignment **ret, char **ret_message)
{
	_cleanup_(assignment_freep) Assignment *assignment = NULL;
	_cleanup_json_ json_t *root = NULL;
	const JsonMember *members;
	int r;

	if (size > TEXT_MAX)
		return json_refuse(ret_message, "it is larger than %u bytes", TEXT_MAX);
	r = assignment_parse(text, size, &members, &root, ret_message);
	if (r < 0)
		return r;
	assignment = xcalloc(1, sizeof(*assignment));
	r = json_struct_read(members, root, NULL, assignment, ret_message);
	if (r >= 0)
		r = assignment_check(assignment, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(assignment);
	return 0;
}

Assignment *assignment_copy(const Assignment *from)
{
	Assignment *copy = xmalloc(sizeof(*copy));

	json_struct_copy(second_members, from, copy, sizeof(*copy));
	copy->file = NULL;
	return copy;
}

Assignment *assignment_free(Assignment *assignment)
{
	if (assignment) {
		json_struct_clear(second_members, assignment);
		free(assignment->file);
	}
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
	for (size_t i = 0; i < all->n_kept; i++)
		assignment_free(all->kept[i]);
	free(all->kept);
	for (size_t i = 0; i < all->n_fences; i++)
		fence_clear(&all->fences[i]);
	free(all->items);
	free(all->fences);
	free(all);
	return NULL;
}
