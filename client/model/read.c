/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a{sv} to structs, by a table for each kind, which comes from the list in
 * gpupass/properties.h. A property of an unexpected type is an error that names it; an unknown
 * property is skipped, so that a newer daemon can add properties. value.c has the values.
 */
#include <string.h>

#include "base/text.h"
#include "bus/bus.h"
#include "model/value.h"

typedef struct Property {
	const char *name;
	size_t offset;
	PropertyType type;
	bool required; /* the object means nothing without it */
} Property;

#define PROPERTIES_MAX 64 /* the mask's bits of the properties seen */

#define REQUIRED_MUST true
#define REQUIRED_MAY false
#define PROPERTY(Object, Name, TYPE, member, MODE, NEED)                                           \
	{ Name, offsetof(Object, member), PROPERTY_##TYPE, REQUIRED_##NEED },

#define DEFINE_PROPERTIES(object, Object, PROPERTIES)                                              \
	static const Property object##_properties[] = { PROPERTIES(PROPERTY, Object) };

DEFINE_PROPERTIES(manager, Manager, GPUPASS_MANAGER_PROPERTIES)
DEFINE_PROPERTIES(group, Group, GPUPASS_GROUP_PROPERTIES)
DEFINE_PROPERTIES(gpu, Gpu, GPUPASS_GPU_PROPERTIES)
DEFINE_PROPERTIES(assignment, Assignment, GPUPASS_ASSIGNMENT_PROPERTIES)
DEFINE_PROPERTIES(job, Job, GPUPASS_JOB_PROPERTIES)

static const struct {
	const char *interface;
	const Property *properties;
	size_t n_properties;
} kinds[] = {
	[OBJECT_MANAGER] = { GPUPASS_IFACE_MANAGER, manager_properties,
			     ELEMENTS(manager_properties) },
	[OBJECT_GROUP] = { GPUPASS_IFACE_GROUP, group_properties, ELEMENTS(group_properties) },
	[OBJECT_GPU] = { GPUPASS_IFACE_GPU, gpu_properties, ELEMENTS(gpu_properties) },
	[OBJECT_ASSIGNMENT] = { GPUPASS_IFACE_ASSIGNMENT, assignment_properties,
				ELEMENTS(assignment_properties) },
	[OBJECT_JOB] = { GPUPASS_IFACE_JOB, job_properties, ELEMENTS(job_properties) },
};

const char *object_interface(ObjectKind kind)
{
	return kinds[kind].interface;
}

_Static_assert(ELEMENTS(gpu_properties) <= PROPERTIES_MAX, "the mask is too small");

/* gpupassd sends them in the order of the list, so it is most often the one at *next. */
static const Property *find_property(ObjectKind kind, const char *name, size_t *next)
{
	size_t n = kinds[kind].n_properties;

	for (size_t i = 0; i < n; i++) {
		size_t at = (*next + i) % n;

		if (strcmp(kinds[kind].properties[at].name, name) != 0)
			continue;
		*next = at + 1;
		return &kinds[kind].properties[at];
	}
	return NULL;
}

/* *seen: a bit for each property that was read; *next: where find_property() begins. */
static int read_property(Client *c, ObjectKind kind, sd_bus_message *m, void *object,
			 uint64_t *seen, size_t *next)
{
	const char *name, *contents, *signature;
	const Property *p;
	int r;

	r = sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &name);
	if (r < 0)
		return r;
	p = find_property(kind, name, next);
	if (!p)
		return sd_bus_message_skip(m, "v");
	*seen |= UINT64_C(1) << (p - kinds[kind].properties);
	r = sd_bus_message_peek_type(m, NULL, &contents);
	if (r < 0)
		return r;
	signature = value_signature(p->type);
	if (strcmp(contents, signature) != 0) {
		_cleanup_free_ char *what = strf("%s.%s has the type '%s', not '%s'",
						 kinds[kind].interface, name, contents, signature);

		return bus_bad_reply(c, what);
	}
	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, contents);
	if (r < 0)
		return r;
	r = value_read(c, m, p->type, (char *)object + p->offset);
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

/* A property that was not sent gets the value that means "not known". */
static int fill_missing(Client *c, ObjectKind kind, uint64_t seen, void *object)
{
	for (size_t i = 0; i < kinds[kind].n_properties; i++) {
		const Property *p = &kinds[kind].properties[i];

		if (seen & UINT64_C(1) << i)
			continue;
		if (p->required) {
			_cleanup_free_ char *what = strf("an object lacks the property %s.%s",
							 kinds[kind].interface, p->name);

			return bus_bad_reply(c, what);
		}
		value_set_unknown(p->type, (char *)object + p->offset);
	}
	return 0;
}

int object_read(Client *c, ObjectKind kind, sd_bus_message *m, bool whole, void *object)
{
	uint64_t seen = 0;
	size_t next = 0;
	int r;

	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
		r = read_property(c, kind, m, object, &seen, &next);
		if (r < 0)
			return r;
		r = sd_bus_message_exit_container(m);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	r = sd_bus_message_exit_container(m);
	if (r < 0)
		return r;
	return whole ? fill_missing(c, kind, seen, object) : 0;
}

void object_clear(ObjectKind kind, void *object)
{
	char **path = object; /* the first member of every kind */

	free(*path);
	*path = NULL;
	for (size_t i = 0; i < kinds[kind].n_properties; i++) {
		const Property *p = &kinds[kind].properties[i];

		value_clear(p->type, (char *)object + p->offset);
	}
}
