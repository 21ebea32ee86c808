/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects between the bus, the structs of model.h and JSON, by a table for each kind, which comes
 * from gpupass/interfaces.h. A property of an unexpected type is an error that names it; an unknown
 * property is skipped, so that a newer daemon can add properties.
 */

#include "base/text.h"
#include "bus/bus.h"
#include "model/json.h"
#include "util/bus-value.h"
#include "util/xalloc.h"

typedef struct Property {
	const char *name, *signature;
	const char *member; /* of the struct */
	size_t offset;
	PropertyType type;
	bool required; /* the object means nothing without it */
} Property;

#define PROPERTIES_MAX 64 /* the mask's bits of the properties seen */

#define REQUIRED_MUST true
#define REQUIRED_MAY false
#define PROPERTY(Object, Name, TYPE, member, MODE, NEED)                                           \
	{ Name,                                                                                    \
	  PROPERTY_SIGNATURE_##TYPE,                                                               \
	  #member,                                                                                 \
	  offsetof(Object, member),                                                                \
	  PROPERTY_##TYPE,                                                                         \
	  REQUIRED_##NEED },

static const Property manager_properties[] = {
#define MANAGER_PROPERTY(...) PROPERTY(Manager, __VA_ARGS__)
#include "gpupass/interfaces.h"
};
static const Property group_properties[] = {
#define GROUP_PROPERTY(...) PROPERTY(Group, __VA_ARGS__)
#include "gpupass/interfaces.h"
};
static const Property gpu_properties[] = {
#define GPU_PROPERTY(...) PROPERTY(Gpu, __VA_ARGS__)
#include "gpupass/interfaces.h"
};
static const Property assignment_properties[] = {
#define ASSIGNMENT_PROPERTY(...) PROPERTY(Assignment, __VA_ARGS__)
#include "gpupass/interfaces.h"
};
static const Property job_properties[] = {
#define JOB_PROPERTY(...) PROPERTY(Job, __VA_ARGS__)
#include "gpupass/interfaces.h"
};

static const struct {
	const char *interface;
	const Property *properties;
	size_t n_properties;
} kinds[] = {
#define KIND(KIND, properties)                                                                     \
	[OBJECT_##KIND] = { GPUPASS_IFACE_##KIND, properties, ELEMENTS(properties) }
	KIND(MANAGER, manager_properties), KIND(GROUP, group_properties),
	KIND(GPU, gpu_properties),	   KIND(ASSIGNMENT, assignment_properties),
	KIND(JOB, job_properties),
#undef KIND
};

_Static_assert(ELEMENTS(gpu_properties) <= PROPERTIES_MAX, "the mask is too small");

const char *object_interface(ObjectKind kind)
{
	return kinds[kind].interface;
}

/* ---- from the bus ---- */

char *model_text(Client *c, const char *s, bool lines)
{
	if (c->options->json != JSON_OFF) /* which escapes text itself */
		return xstrdup(s);
	return lines ? text_printable_lines(s) : text_printable(s);
}

static int read_value(Client *c, sd_bus_message *m, const char *signature, bool lines, void *to);

static int read_text(Client *c, sd_bus_message *m, char type, bool lines, char **to)
{
	const char *s;
	int r = sd_bus_message_read_basic(m, type, &s);

	if (r > 0)
		*to = model_text(c, s, lines);
	return r;
}

static int read_texts(Client *c, sd_bus_message *m, char type, char ***to)
{
	char *text;
	int r;

	while ((r = read_text(c, m, type, false, &text)) > 0)
		strv_append_take(to, text);
	return r;
}

static int read_items(Client *c, sd_bus_message *m, const char *item, void *to)
{
	size_t size = bus_value_size(item);
	BusItems items = { 0 };
	int r;

	do {
		items.items = xreallocarray(items.items, items.n_items + 1, size);
		memset(items.items + items.n_items * size, 0, size);
		r = read_value(c, m, item, false, items.items + items.n_items * size);
		if (r != 0)
			items.n_items++;
	} while (r > 0);
	memcpy(to, &items, sizeof(items));
	return r;
}

static int read_structure(Client *c, sd_bus_message *m, const char *signature, char *to)
{
	_cleanup_free_ char *members = xstrndup(signature + 1, strlen(signature) - 2);
	int r = sd_bus_message_enter_container(m, SD_BUS_TYPE_STRUCT, members);

	size_t end = 0;

	if (r <= 0)
		return r;
	for (const char *type = members; r > 0 && *type; type++)
		r = read_value(c, m, type, false, to + bus_member_place(*type, &end));
	if (r >= 0)
		r = sd_bus_message_exit_container(m);
	return r < 0 ? r : 1;
}

/* Into what is zeroed; the caller clears that. 0: a list is at its end. */
static int read_value(Client *c, sd_bus_message *m, const char *signature, bool lines, void *to)
{
	int r;

	if (bus_is_text(*signature))
		return read_text(c, m, *signature, lines, to);
	if (*signature == '(')
		return read_structure(c, m, signature, to);
	if (*signature != 'a')
		return sd_bus_message_read_basic(m, *signature, to);
	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, signature + 1);
	if (r >= 0)
		r = bus_is_text(signature[1]) ? read_texts(c, m, signature[1], to)
					      : read_items(c, m, signature + 1, to);
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

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

typedef struct Reading {
	Client *client;
	ObjectKind kind;
	void *object;
	uint64_t seen; /* a bit for each property that was read */
	size_t next;   /* where find_property() begins */
} Reading;

static int read_property(sd_bus_message *m, void *userdata)
{
	Reading *reading = userdata;
	ObjectKind kind = reading->kind;
	const char *name, *contents;
	const Property *p;
	void *to;
	int r = sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &name);

	if (r < 0)
		return r;
	p = find_property(kind, name, &reading->next);
	if (!p)
		return sd_bus_message_skip(m, "v");
	reading->seen |= UINT64_C(1) << (p - kinds[kind].properties);
	r = sd_bus_message_peek_type(m, NULL, &contents);
	if (r < 0)
		return r;
	if (strcmp(contents, p->signature) != 0) {
		_cleanup_free_ char *what =
			strf("%s.%s has the type '%s', not '%s'", kinds[kind].interface, name,
			     contents, p->signature);

		return bus_bad_reply(reading->client, what);
	}
	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, contents);
	if (r < 0)
		return r;
	to = (char *)reading->object + p->offset;
	bus_value_clear(p->signature, to);
	r = read_value(reading->client, m, p->signature, p->type == PROPERTY_LINES, to);
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

/* A property that was not sent gets the value that means "not known". */
static int fill_missing(Client *c, ObjectKind kind, uint64_t seen, void *object)
{
	for (size_t i = 0; i < kinds[kind].n_properties; i++) {
		const Property *p = &kinds[kind].properties[i];
		char *to = (char *)object + p->offset;

		if (seen & UINT64_C(1) << i)
			continue;
		if (p->required) {
			_cleanup_free_ char *what = strf("an object lacks the property %s.%s",
							 kinds[kind].interface, p->name);

			return bus_bad_reply(c, what);
		}
		if (p->type == PROPERTY_INT32)
			*(int32_t *)to = -1;
		else if (bus_is_text(*p->signature) && !*(char **)to)
			*(char **)to = xstrdup("");
	}
	return 0;
}

int object_read(Client *c, ObjectKind kind, sd_bus_message *m, bool whole, void *object)
{
	Reading reading = { .client = c, .kind = kind, .object = object };
	int r = bus_each(m, "sv", read_property, &reading);

	return r >= 0 && whole ? fill_missing(c, kind, reading.seen, object) : r;
}

void object_clear(ObjectKind kind, void *object)
{
	bus_value_clear("s", object); /* the path: the first member of every kind */
	for (size_t i = 0; i < kinds[kind].n_properties; i++)
		bus_value_clear(kinds[kind].properties[i].signature,
				(char *)object + kinds[kind].properties[i].offset);
}

/* ---- to JSON ---- */

/*
 * Members that have another name in JSON than in the struct, some within an object; NULL: that are
 * not in it.
 */
static const struct {
	ObjectKind kind;
	const char *member, *key;
} renamed[] = {
	{ OBJECT_MANAGER, "audit_sequence", NULL },
	{ OBJECT_GROUP, "gpus", NULL }, /* paths; their addresses are in it */
	{ OBJECT_GROUP, "gpu_addresses", "gpus" },
	{ OBJECT_GROUP, "domain_name", "domain.name" },
	{ OBJECT_GROUP, "domain_uuid", "domain.uuid" },
	{ OBJECT_GPU, "nvlink", "nvlink.kind" },
	{ OBJECT_GPU, "nvlink_note", "nvlink.note" },
	{ OBJECT_GPU, "nvlink_generation", "nvlink.generation" },
	{ OBJECT_GPU, "nvlink_links", "nvlink.links" },
	{ OBJECT_GPU, "nvlink_group_size", "nvlink.group_size" },
	{ OBJECT_GPU, "health", "health.state" },
	{ OBJECT_GPU, "health_reason", "health.reason" },
	{ OBJECT_GPU, "link_speed", "health.link_speed" },
	{ OBJECT_GPU, "max_link_speed", "health.max_link_speed" },
	{ OBJECT_GPU, "link_width", "health.link_width" },
	{ OBJECT_GPU, "max_link_width", "health.max_link_width" },
	{ OBJECT_GPU, "aer_correctable", "health.aer_correctable" },
	{ OBJECT_GPU, "aer_nonfatal", "health.aer_nonfatal" },
	{ OBJECT_GPU, "aer_fatal", "health.aer_fatal" },
	{ OBJECT_GPU, "tenant_state", "tenant.state" },
	{ OBJECT_GPU, "tenant", "tenant.uuid" },
	{ OBJECT_GPU, "tenant_name", "tenant.name" },
	{ OBJECT_GPU, "tenant_reason", "tenant.reason" },
	{ OBJECT_ASSIGNMENT, "domain_name", "domain.name" },
	{ OBJECT_ASSIGNMENT, "domain_uuid", "domain.uuid" },
	{ OBJECT_ASSIGNMENT, "group", NULL }, /* its path; group_name finds it */
	{ OBJECT_ASSIGNMENT, "group_name", "group" },
	{ OBJECT_JOB, "group_name", "group" },
	{ OBJECT_JOB, "domain_name", "domain" },
	{ OBJECT_JOB, "error_name", "error.name" },
	{ OBJECT_JOB, "error_message", "error.message" },
};

static const char *key_of(ObjectKind kind, const char *member)
{
	for (size_t i = 0; i < ELEMENTS(renamed); i++)
		if (renamed[i].kind == kind && strcmp(renamed[i].member, member) == 0)
			return renamed[i].key;
	return member;
}

uint32_t job_id_from_path(const char *path)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long id = 0;

	if (sd_bus_path_decode(path, GPUPASS_PATH_JOBS, &text) > 0)
		str_to_unsigned(text, 10, UINT32_MAX, &id);
	return (uint32_t)id;
}

/* The id of a job, the name of a group. */
static json_t *json_of_path(const char *path)
{
	_cleanup_free_ char *name = NULL;
	uint32_t id = job_id_from_path(path);

	if (id > 0)
		return json_integer(id);
	return sd_bus_path_decode(path, GPUPASS_PATH_GROUPS, &name) > 0 ? json_text(name)
									: json_null();
}

static json_t *json_of_value(PropertyType type, const void *at);

#define SET_MEMBER(TYPE, member)                                                                   \
	json_set(object, strcmp(#member, "class_code") == 0 ? "class" : #member,                   \
		 json_of_value(PROPERTY_##TYPE, &item->member));
#define DEFINE_JSON_OF(Item, Items, MEMBERS)                                                       \
	static json_t *json_of_##Item(const Item *item)                                            \
	{                                                                                          \
		json_t *object = json_object();                                                    \
                                                                                                   \
		MEMBERS(SET_MEMBER)                                                                \
		return object;                                                                     \
	}                                                                                          \
	static json_t *json_of_##Items(const Items *list)                                          \
	{                                                                                          \
		return JSON_ARRAY(list->items, list->n_items, json_of_##Item(it));                 \
	}
DEFINE_JSON_OF(BusFunction, BusFunctions, GPUPASS_FUNCTION_MEMBERS)
DEFINE_JSON_OF(BusStep, BusSteps, GPUPASS_STEP_MEMBERS)
DEFINE_JSON_OF(BusEvidence, BusEvidences, GPUPASS_EVIDENCE_MEMBERS)
DEFINE_JSON_OF(BusCompanion, BusCompanions, GPUPASS_COMPANION_MEMBERS)

static json_t *json_of_value(PropertyType type, const void *at)
{
	const BusInt32s *numbers = at;
	const BusUint64s *sizes = at;

	switch (type) {
	case PROPERTY_STRING:
	case PROPERTY_LINES: /* "" means "nothing" on the bus */
		return **(char *const *)at ? json_text(*(char *const *)at) : json_null();
	case PROPERTY_STRINGS:
	case PROPERTY_PATHS:
		return json_strv(*(char *const *const *)at);
	case PROPERTY_PATH:
		return json_of_path(*(char *const *)at);
	case PROPERTY_BOOL:
		return json_boolean(*(const int *)at);
	case PROPERTY_UINT16:
		return json_unsigned(*(const uint16_t *)at);
	case PROPERTY_UINT32:
		return json_unsigned(*(const uint32_t *)at);
	case PROPERTY_INT32:
		return *(const int32_t *)at < 0 ? json_null() : json_integer(*(const int32_t *)at);
	case PROPERTY_UINT64:
		return json_unsigned(*(const uint64_t *)at);
	case PROPERTY_TIME:
		return *(const uint64_t *)at == 0 ? json_null()
						  : json_unsigned(*(const uint64_t *)at);
	case PROPERTY_INT32S:
		return JSON_ARRAY(numbers->items, numbers->n_items,
				  json_of_value(PROPERTY_INT32, it));
	case PROPERTY_UINT64S:
		return JSON_ARRAY(sizes->items, sizes->n_items, json_unsigned(*it));
	case PROPERTY_FUNCTIONS:
		return json_of_BusFunctions(at);
	case PROPERTY_STEPS:
		return json_of_BusSteps(at);
	case PROPERTY_EVIDENCE:
		return json_of_BusEvidences(at);
	case PROPERTY_COMPANIONS:
		return json_of_BusCompanions(at);
	}
	return json_null();
}

/* "domain.name": in the object "domain", which is made when it is not there. */
static void set_value(json_t *object, const char *key, json_t *value)
{
	const char *dot = strchr(key, '.');
	_cleanup_free_ char *outer = dot ? xstrndup(key, (size_t)(dot - key)) : NULL;

	if (!dot) {
		json_set(object, key, value);
		return;
	}
	if (!json_object_get(object, outer))
		json_set(object, outer, json_object());
	json_set(json_object_get(object, outer), dot + 1, value);
}

/* What names nothing is null: no domain, no error. */
static void drop_empty(json_t *object, const char *key)
{
	json_t *inner = json_object_get(object, key), *value;
	const char *name;

	if (!json_is_object(inner))
		return;
	json_object_foreach (inner, name, value)
		if (!json_is_null(value))
			return;
	json_set(object, key, json_null());
}

/* The result is a document of its own, and the number of nobody is none. */
static void finish_job(json_t *object, const Job *job)
{
	json_t *result = json_loads(job->result, 0, NULL);

	json_set(object, "result", result ? result : json_null());
	if (!job->cancel_requested)
		json_set(object, "cancelled_by_uid", json_null());
}

json_t *json_of_object(ObjectKind kind, const void *from)
{
	json_t *object = json_object();

	EACH (const Property, p, kinds[kind].properties, kinds[kind].n_properties) {
		const char *key = key_of(kind, p->member);

		if (key)
			set_value(object, key,
				  json_of_value(p->type, (const char *)from + p->offset));
	}
	drop_empty(object, "domain");
	drop_empty(object, "error");
	if (kind == OBJECT_JOB)
		finish_job(object, from);
	return object;
}

json_t *json_groups(const World *w)
{
	return JSON_ARRAY(w->groups, w->n_groups, json_of_object(OBJECT_GROUP, it));
}

json_t *json_jobs(const World *w)
{
	return JSON_ARRAY(w->jobs, w->n_jobs, json_of_object(OBJECT_JOB, it));
}
