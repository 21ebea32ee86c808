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

int field_get_functions(sd_bus *bus, const char *path, const char *interface, const char *property,
			sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	const FunctionViews *views = userdata;
	int r = sd_bus_message_open_container(reply, 'a', "(ssiu)");

	for (size_t i = 0; r >= 0 && i < views->n; i++)
		r = sd_bus_message_append(reply, "(ssiu)", views->items[i].address,
					  views->items[i].driver, views->items[i].iommu_group,
					  views->items[i].class_code);
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

int field_get_steps(sd_bus *bus, const char *path, const char *interface, const char *property,
		    sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	const StepViews *views = userdata;
	int r = sd_bus_message_open_container(reply, 'a', "(ssst)");

	for (size_t i = 0; r >= 0 && i < views->n; i++)
		r = sd_bus_message_append(reply, "(ssst)", views->items[i].name,
					  views->items[i].state, views->items[i].detail,
					  views->items[i].duration_usec);
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

int field_get_evidence(sd_bus *bus, const char *path, const char *interface, const char *property,
		       sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	const EvidenceViews *views = userdata;
	int r = sd_bus_message_open_container(reply, 'a', "(suts)");

	for (size_t i = 0; r >= 0 && i < views->n; i++)
		r = sd_bus_message_append(reply, "(suts)", views->items[i].provenance,
					  views->items[i].links, views->items[i].seen_at,
					  views->items[i].source);
	return r < 0 ? r : sd_bus_message_close_container(reply);
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

static bool bytes_equal(const void *a, size_t n_a, const void *b, size_t n_b, size_t size)
{
	return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * size) == 0);
}

static bool functions_equal(const FunctionViews *a, const FunctionViews *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!str_equal(a->items[i].address, b->items[i].address) ||
		    !str_equal(a->items[i].driver, b->items[i].driver) ||
		    a->items[i].iommu_group != b->items[i].iommu_group ||
		    a->items[i].class_code != b->items[i].class_code)
			return false;
	return true;
}

static bool steps_equal(const StepViews *a, const StepViews *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!str_equal(a->items[i].name, b->items[i].name) ||
		    !str_equal(a->items[i].state, b->items[i].state) ||
		    !str_equal(a->items[i].detail, b->items[i].detail) ||
		    a->items[i].duration_usec != b->items[i].duration_usec)
			return false;
	return true;
}

static bool evidence_equal(const EvidenceViews *a, const EvidenceViews *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!str_equal(a->items[i].provenance, b->items[i].provenance) ||
		    !str_equal(a->items[i].source, b->items[i].source) ||
		    a->items[i].links != b->items[i].links ||
		    a->items[i].seen_at != b->items[i].seen_at)
			return false;
	return true;
}

bool field_equal(const Field *field, const void *view_a, const void *view_b)
{
	const void *a = (const char *)view_a + field->offset;
	const void *b = (const char *)view_b + field->offset;

	switch (field->kind) {
	case FIELD_STRING:
	case FIELD_PATH:
		return str_equal(*(char *const *)a, *(char *const *)b);
	case FIELD_STRINGS:
	case FIELD_PATHS:
		return strings_equal(*(char *const *const *)a, *(char *const *const *)b);
	case FIELD_BOOL:
	case FIELD_UINT32:
	case FIELD_INT32:
		return memcmp(a, b, sizeof(uint32_t)) == 0;
	case FIELD_UINT16:
		return memcmp(a, b, sizeof(uint16_t)) == 0;
	case FIELD_UINT64:
		return memcmp(a, b, sizeof(uint64_t)) == 0;
	case FIELD_INT32S:
		return bytes_equal(((const Int32s *)a)->items, ((const Int32s *)a)->n,
				   ((const Int32s *)b)->items, ((const Int32s *)b)->n,
				   sizeof(int32_t));
	case FIELD_UINT64S:
		return bytes_equal(((const Uint64s *)a)->items, ((const Uint64s *)a)->n,
				   ((const Uint64s *)b)->items, ((const Uint64s *)b)->n,
				   sizeof(uint64_t));
	case FIELD_FUNCTIONS:
		return functions_equal(a, b);
	case FIELD_STEPS:
		return steps_equal(a, b);
	case FIELD_EVIDENCE:
		return evidence_equal(a, b);
	}
	return false;
}

static void functions_clear(FunctionViews *views)
{
	for (size_t i = 0; i < views->n; i++) {
		free(views->items[i].address);
		free(views->items[i].driver);
	}
	free(views->items);
}

static void steps_clear(StepViews *views)
{
	for (size_t i = 0; i < views->n; i++) {
		free(views->items[i].name);
		free(views->items[i].state);
		free(views->items[i].detail);
	}
	free(views->items);
}

static void evidence_clear(EvidenceViews *views)
{
	for (size_t i = 0; i < views->n; i++) {
		free(views->items[i].provenance);
		free(views->items[i].source);
	}
	free(views->items);
}

static void field_clear(const Field *field, void *view)
{
	void *at = (char *)view + field->offset;

	switch (field->kind) {
	case FIELD_STRING:
	case FIELD_PATH:
		free(*(char **)at);
		break;
	case FIELD_STRINGS:
	case FIELD_PATHS:
		strv_free(*(char ***)at);
		break;
	case FIELD_INT32S:
		free(((Int32s *)at)->items);
		break;
	case FIELD_UINT64S:
		free(((Uint64s *)at)->items);
		break;
	case FIELD_FUNCTIONS:
		functions_clear(at);
		break;
	case FIELD_STEPS:
		steps_clear(at);
		break;
	case FIELD_EVIDENCE:
		evidence_clear(at);
		break;
	case FIELD_BOOL:
	case FIELD_UINT16:
	case FIELD_UINT32:
	case FIELD_INT32:
	case FIELD_UINT64:
		break;
	}
}

void fields_clear(const Field *fields, size_t n, void *view)
{
	for (size_t i = 0; i < n; i++)
		field_clear(&fields[i], view);
}
