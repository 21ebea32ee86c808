/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/field.h"

#include <string.h>

#include "util/text.h"

int field_get_paths(sd_bus *bus, const char *path, const char *interface, const char *property,
		    sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	char *const *paths = *(char *const *const *)userdata;
	int r = sd_bus_message_open_container(reply, 'a', "o");

	for (; r >= 0 && paths && *paths; paths++)
		r = sd_bus_message_append_basic(reply, 'o', *paths);
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

int field_get_int32s(sd_bus *bus, const char *path, const char *interface, const char *property,
		     sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	const Int32s *array = userdata;

	return sd_bus_message_append_array(reply, 'i', array->items, array->n * sizeof(int32_t));
}

int field_get_uint64s(sd_bus *bus, const char *path, const char *interface, const char *property,
		      sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	const Uint64s *array = userdata;

	return sd_bus_message_append_array(reply, 't', array->items, array->n * sizeof(uint64_t));
}

#define ITEM_VALUE(item, TYPE, member) , (item).member

#define DEFINE_ITEMS_GETTER(name, Views, MEMBERS)                                                  \
	int field_get_##name(sd_bus *bus, const char *path, const char *interface,                 \
			     const char *property, sd_bus_message *reply, void *userdata,          \
			     sd_bus_error *error)                                                  \
	{                                                                                          \
		static const char type[] = "(" MEMBERS(PROPERTY_SIGNATURE_OF, ) ")";               \
		const Views *views = userdata;                                                     \
		int r = sd_bus_message_open_container(reply, 'a', type);                           \
                                                                                                   \
		for (size_t i = 0; r >= 0 && i < views->n; i++)                                    \
			r = sd_bus_message_append(reply,                                           \
						  type MEMBERS(ITEM_VALUE, views->items[i]));      \
		return r < 0 ? r : sd_bus_message_close_container(reply);                          \
	}

DEFINE_ITEMS_GETTER(functions, FunctionViews, GPUPASS_FUNCTION_MEMBERS)
DEFINE_ITEMS_GETTER(steps, StepViews, GPUPASS_STEP_MEMBERS)
DEFINE_ITEMS_GETTER(evidence, EvidenceViews, GPUPASS_EVIDENCE_MEMBERS)

/* ---- lists: the members of a structure in one are fields of their own ---- */

#define ITEM_FIELD(Item, TYPE, member) { NULL, offsetof(Item, member), PROPERTY_##TYPE, false },

static const Field function_fields[] = { GPUPASS_FUNCTION_MEMBERS(ITEM_FIELD, FunctionView) };
static const Field step_fields[] = { GPUPASS_STEP_MEMBERS(ITEM_FIELD, StepView) };
static const Field evidence_fields[] = { GPUPASS_EVIDENCE_MEMBERS(ITEM_FIELD, EvidenceView) };

static const struct {
	size_t size;
	const Field *fields; /* NULL: the items are numbers */
	size_t n_fields;
} item_types[] = {
	[PROPERTY_INT32S] = { sizeof(int32_t), NULL, 0 },
	[PROPERTY_UINT64S] = { sizeof(uint64_t), NULL, 0 },
	[PROPERTY_FUNCTIONS] = { sizeof(FunctionView), function_fields, ELEMENTS(function_fields) },
	[PROPERTY_STEPS] = { sizeof(StepView), step_fields, ELEMENTS(step_fields) },
	[PROPERTY_EVIDENCE] = { sizeof(EvidenceView), evidence_fields, ELEMENTS(evidence_fields) },
};

/* What all lists of a view look like; copied, because none of them has this type. */
typedef struct Items {
	char *items;
	size_t n;
} Items;

static Items items_at(const void *list)
{
	Items items;

	memcpy(&items, list, sizeof(items));
	return items;
}

static bool items_equal(PropertyType type, const void *list_a, const void *list_b)
{
	const Items a = items_at(list_a), b = items_at(list_b);
	const size_t size = item_types[type].size;

	if (a.n != b.n)
		return false;
	if (!item_types[type].fields)
		return a.n == 0 || memcmp(a.items, b.items, a.n * size) == 0;
	for (size_t i = 0; i < a.n; i++)
		for (size_t k = 0; k < item_types[type].n_fields; k++)
			if (!field_equal(&item_types[type].fields[k], a.items + i * size,
					 b.items + i * size))
				return false;
	return true;
}

static void items_clear(PropertyType type, const void *list)
{
	const Items items = items_at(list);

	for (size_t i = 0; i < items.n; i++)
		fields_clear(item_types[type].fields, item_types[type].n_fields,
			     items.items + i * item_types[type].size);
	free(items.items);
}

static bool strings_equal(char *const *a, char *const *b)
{
	size_t n = strv_length(a);

	if (strv_length(b) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

bool field_equal(const Field *field, const void *view_a, const void *view_b)
{
	const void *a = (const char *)view_a + field->offset;
	const void *b = (const char *)view_b + field->offset;

	switch (field->type) {
	case PROPERTY_STRING:
	case PROPERTY_LINES:
	case PROPERTY_PATH:
		return str_equal(*(char *const *)a, *(char *const *)b);
	case PROPERTY_STRINGS:
	case PROPERTY_PATHS:
		return strings_equal(*(char *const *const *)a, *(char *const *const *)b);
	case PROPERTY_BOOL:
	case PROPERTY_UINT32:
	case PROPERTY_INT32:
		return memcmp(a, b, sizeof(uint32_t)) == 0;
	case PROPERTY_UINT16:
		return memcmp(a, b, sizeof(uint16_t)) == 0;
	case PROPERTY_UINT64:
		return memcmp(a, b, sizeof(uint64_t)) == 0;
	case PROPERTY_INT32S:
	case PROPERTY_UINT64S:
	case PROPERTY_FUNCTIONS:
	case PROPERTY_STEPS:
	case PROPERTY_EVIDENCE:
		return items_equal(field->type, a, b);
	}
	return false;
}

static void field_clear(const Field *field, void *view)
{
	void *at = (char *)view + field->offset;

	switch (field->type) {
	case PROPERTY_STRING:
	case PROPERTY_LINES:
	case PROPERTY_PATH:
		free(*(char **)at);
		break;
	case PROPERTY_STRINGS:
	case PROPERTY_PATHS:
		strv_free(*(char ***)at);
		break;
	case PROPERTY_INT32S:
	case PROPERTY_UINT64S:
	case PROPERTY_FUNCTIONS:
	case PROPERTY_STEPS:
	case PROPERTY_EVIDENCE:
		items_clear(field->type, at);
		break;
	case PROPERTY_BOOL:
	case PROPERTY_UINT16:
	case PROPERTY_UINT32:
	case PROPERTY_INT32:
	case PROPERTY_UINT64:
		break;
	}
}

void fields_clear(const Field *fields, size_t n, void *view)
{
	for (size_t i = 0; i < n; i++)
		field_clear(&fields[i], view);
}
