/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/inspection.h"

#include <ctype.h>
#include <string.h>

#include "core/base/json-fields.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

#define FUNCTIONS_MAX 4096
#define HOLDERS_MAX 65536
#define UNSEEN_MAX 4096
/* Any user can make very many of them. */
#define UNSEEN_TOLD_MAX 8

DEFINE_STRING_TABLE(unseen_reason, UnseenReason, UNSEEN_REASONS)

const FunctionFacts *inspection_find(const Inspection *inspection, const Bdf *bdf)
{
	for (size_t i = 0; i < inspection->n_functions; i++)
		if (bdf_equal(&inspection->functions[i].bdf, bdf))
			return &inspection->functions[i];
	return NULL;
}

char *holder_text(const Holder *holder)
{
	return strf("%s: %s by %s (pid %ld%s%s%s%s)", BDF_TEXT(&holder->bdf),
		    str_or_empty(holder->path), str_or_empty(holder->command), (long)holder->pid,
		    holder->unit ? ", unit " : "", str_or_empty(holder->unit),
		    holder->container ? ", container " : "", str_or_empty(holder->container));
}

static const char *unseen_what(UnseenReason reason)
{
	switch (reason) {
	case UNSEEN_REFUSED:
		return "the kernel does not let gpupass look into it";
	case UNSEEN_FILES:
		return "its open files could not all be looked at in time";
	case UNSEEN_MAPPINGS:
		return "its memory mappings could not all be looked at in time";
	case UNSEEN_MOVING:
		return "its memory mappings changed whenever they were looked at";
	case UNSEEN_VFIO_DEVICE:
		return "it has a device of vfio open, and this kernel does not tell which";
	}
	return "";
}

char *unseen_text(const Unseen *unseen)
{
	return strf("whether %s (pid %ld, uid %lu) holds a device is not known: %s",
		    str_or_empty(unseen->command), (long)unseen->pid, (unsigned long)unseen->uid,
		    unseen_what(unseen->reason));
}

int inspection_tell_unseen(const Inspection *inspection, char ***lines)
{
	size_t n = inspection->n_unseen < UNSEEN_TOLD_MAX ? inspection->n_unseen : UNSEEN_TOLD_MAX;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		_cleanup_free_ char *line = unseen_text(&inspection->unseen[i]);

		r = line ? strv_append(lines, line) : -ENOMEM;
	}
	if (r >= 0 && inspection->all_unseen > n)
		r = strv_appendf(lines,
				 "whether %zu more processes hold a device is not known either",
				 inspection->all_unseen - n);
	return r;
}

/*
 * Any user can choose names of processes and files: prctl(PR_SET_NAME) takes any bytes. JSON takes
 * only UTF-8, and control characters must not reach a terminal. The holder is reported all the
 * same.
 */
static int set_foreign_text(json_t *object, const char *key, const char *s)
{
	_cleanup_free_ char *clean = NULL;
	json_t *value;

	if (!s)
		return 0;
	clean = strdup(s);
	if (!clean)
		return -1;
	for (char *c = clean; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	value = json_string(clean);
	if (!value) {
		for (char *c = clean; *c; c++)
			if (!isascii((unsigned char)*c))
				*c = '?';
		value = json_string(clean);
	}
	return json_object_set_new(object, key, value);
}

static json_t *facts_to_json(const FunctionFacts *facts)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_set_bdf(o, "bdf", &facts->bdf);
	r |= json_set_text_if_any(o, "driver", facts->driver);
	r |= set_foreign_text(o, "driver_override", facts->driver_override);
	r |= json_object_set_new(o, "num_vfs", json_integer(facts->num_vfs));
	r |= json_set_text_if_any(o, "uuid", facts->uuid);
	if (facts->device_minor >= 0)
		r |= json_object_set_new(o, "device_minor", json_integer(facts->device_minor));
	r |= json_set_text_if_any(o, "serial_number", facts->serial_number);
	r |= json_set_text_if_any(o, "link_speed", facts->link_speed);
	r |= json_set_text_if_any(o, "link_speed_max", facts->link_speed_max);
	r |= json_object_set_new(o, "link_width", json_integer(facts->link_width));
	r |= json_object_set_new(o, "link_width_max", json_integer(facts->link_width_max));
	r |= json_set_true_if(o, "config_all_ones", facts->config_all_ones);
	r |= json_set_true_if(o, "left_asleep", facts->left_asleep);
	return r < 0 ? NULL : TAKE_PTR(o);
}

static json_t *holder_to_json(const Holder *holder)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_set_bdf(o, "bdf", &holder->bdf);
	r |= json_object_set_new(o, "pid", json_integer(holder->pid));
	r |= set_foreign_text(o, "command", holder->command);
	r |= set_foreign_text(o, "unit", holder->unit);
	r |= set_foreign_text(o, "container", holder->container);
	r |= set_foreign_text(o, "path", holder->path);
	r |= json_set_true_if(o, "vfio", holder->vfio);
	return r < 0 ? NULL : TAKE_PTR(o);
}

static json_t *unseen_to_json(const Unseen *unseen)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_object_set_new(o, "pid", json_integer(unseen->pid));
	r |= json_object_set_new(o, "uid", json_integer(unseen->uid));
	r |= set_foreign_text(o, "command", unseen->command);
	r |= json_object_set_new(o, "reason", json_string(unseen_reason_to_string(unseen->reason)));
	return r < 0 ? NULL : TAKE_PTR(o);
}

json_t *inspection_to_json(const Inspection *inspection)
{
	_cleanup_json_ json_t *root = json_object();
	json_t *functions = json_array(), *holders = json_array(); /* given to root below, */
	json_t *unseen = json_array();				   /* and so is this */
	int r = 0;

	for (size_t i = 0; i < inspection->n_functions; i++)
		r |= json_array_append_new(functions, facts_to_json(&inspection->functions[i]));
	for (size_t i = 0; i < inspection->n_holders; i++)
		r |= json_array_append_new(holders, holder_to_json(&inspection->holders[i]));
	for (size_t i = 0; i < inspection->n_unseen; i++)
		r |= json_array_append_new(unseen, unseen_to_json(&inspection->unseen[i]));
	r |= json_object_set_new(root, "schema", json_string(GPUPASS_SCHEMA_INSPECTION));
	r |= json_object_set_new(root, "vfio_pci", json_boolean(inspection->vfio_pci));
	r |= json_object_set_new(root, "vfio_loadable", json_boolean(inspection->vfio_loadable));
	r |= json_object_set_new(root, "noiommu", json_boolean(inspection->noiommu));
	r |= json_object_set_new(root, "unsafe_interrupts",
				 json_boolean(inspection->unsafe_interrupts));
	r |= json_object_set_new(root, "functions", functions);
	r |= json_object_set_new(root, "holders", holders);
	r |= json_object_set_new(root, "unseen", unseen);
	r |= json_object_set_new(root, "all_unseen",
				 json_integer((json_int_t)inspection->all_unseen));
	return r < 0 ? NULL : TAKE_PTR(root);
}

static int facts_from_json(const json_t *json, size_t index, FunctionFacts *f, char **ret_message)
{
	static const char *const keys[] = { "bdf",
					    "driver",
					    "driver_override",
					    "num_vfs",
					    "uuid",
					    "device_minor",
					    "serial_number",
					    "link_speed",
					    "link_speed_max",
					    "link_width",
					    "link_width_max",
					    "config_all_ones",
					    "left_asleep",
					    NULL };
	_cleanup_free_ char *where = strf("functions[%zu]", index);
	JsonReader reader;

	if (!where)
		return -ENOMEM;
	f->device_minor = -1;
	json_reader_begin(&reader, json, where, keys);
	json_read_bdf(&reader, "bdf", &f->bdf);
	json_read_text_if_any(&reader, "driver", &f->driver);
	json_read_text_if_any(&reader, "driver_override", &f->driver_override);
	json_read_unsigned_if_any(&reader, "num_vfs", &f->num_vfs);
	json_read_text_if_any(&reader, "uuid", &f->uuid);
	json_read_int_if_any(&reader, "device_minor", &f->device_minor);
	json_read_text_if_any(&reader, "serial_number", &f->serial_number);
	json_read_text_if_any(&reader, "link_speed", &f->link_speed);
	json_read_text_if_any(&reader, "link_speed_max", &f->link_speed_max);
	json_read_unsigned_if_any(&reader, "link_width", &f->link_width);
	json_read_unsigned_if_any(&reader, "link_width_max", &f->link_width_max);
	json_read_bool_if_any(&reader, "config_all_ones", &f->config_all_ones);
	json_read_bool_if_any(&reader, "left_asleep", &f->left_asleep);
	return json_reader_end(&reader, ret_message);
}

static int holder_from_json(const json_t *json, size_t index, Holder *holder, char **ret_message)
{
	static const char *const keys[] = { "bdf",	 "pid",	 "command", "unit",
					    "container", "path", "vfio",    NULL };
	_cleanup_free_ char *where = strf("holders[%zu]", index);
	JsonReader reader;

	if (!where)
		return -ENOMEM;
	json_reader_begin(&reader, json, where, keys);
	json_read_bdf(&reader, "bdf", &holder->bdf);
	holder->pid = (pid_t)json_read_number(&reader, "pid", INT32_MAX);
	json_read_text_if_any(&reader, "command", &holder->command);
	json_read_text_if_any(&reader, "unit", &holder->unit);
	json_read_text_if_any(&reader, "container", &holder->container);
	json_read_text_if_any(&reader, "path", &holder->path);
	json_read_bool_if_any(&reader, "vfio", &holder->vfio);
	return json_reader_end(&reader, ret_message);
}

static int unseen_from_json(const json_t *json, size_t index, Unseen *unseen, char **ret_message)
{
	static const char *const keys[] = { "pid", "uid", "command", "reason", NULL };
	_cleanup_free_ char *where = strf("unseen[%zu]", index), *reason = NULL;
	JsonReader reader;

	if (!where)
		return -ENOMEM;
	json_reader_begin(&reader, json, where, keys);
	unseen->pid = (pid_t)json_read_number(&reader, "pid", INT32_MAX);
	unseen->uid = (uid_t)json_read_number(&reader, "uid", UINT32_MAX);
	json_read_text_if_any(&reader, "command", &unseen->command);
	json_read_text(&reader, "reason", &reason);
	if (reason && unseen_reason_from_string(reason, &unseen->reason) < 0)
		json_reader_fail(&reader, "reason", "is none that there is");
	return json_reader_end(&reader, ret_message);
}

static int unseen_list_from_json(const json_t *list, Inspection *inspection, char **ret_message)
{
	size_t n = json_array_size(list);
	int r = 0;

	inspection->unseen = calloc(n + 1, sizeof(Unseen));
	if (!inspection->unseen)
		return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < n; i++) {
		inspection->n_unseen = i + 1;
		r = unseen_from_json(json_array_get(list, i), i, &inspection->unseen[i],
				     ret_message);
	}
	return r;
}

/* calloc(0) may return NULL, hence one more than needed. */
static int lists_from_json(const json_t *functions, const json_t *holders, Inspection *inspection,
			   char **ret_message)
{
	size_t n_functions = json_array_size(functions), n_holders = json_array_size(holders);

	inspection->functions = calloc(n_functions + 1, sizeof(FunctionFacts));
	inspection->holders = calloc(n_holders + 1, sizeof(Holder));
	if (!inspection->functions || !inspection->holders)
		return -ENOMEM;
	for (size_t i = 0; i < n_functions; i++) {
		int r;

		inspection->n_functions = i + 1;
		r = facts_from_json(json_array_get(functions, i), i, &inspection->functions[i],
				    ret_message);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < n_holders; i++) {
		int r;

		inspection->n_holders = i + 1;
		r = holder_from_json(json_array_get(holders, i), i, &inspection->holders[i],
				     ret_message);
		if (r < 0)
			return r;
	}
	return 0;
}

/* It travels inside another document, so json_parse_document() has not checked its schema. */
static int check_schema(const json_t *json, char **ret_message)
{
	const char *schema = NULL;

	if (json_get_string(json, "schema", &schema) >= 0 &&
	    strcmp(schema, GPUPASS_SCHEMA_INSPECTION) == 0)
		return 0;
	if (ret_message)
		*ret_message = strf("its schema is %s, not " GPUPASS_SCHEMA_INSPECTION,
				    schema ? schema : "missing");
	return -EPROTO;
}

int inspection_from_json(const json_t *json, Inspection **ret, char **ret_message)
{
	static const char *const keys[] = {
		"schema",    "vfio_pci", "vfio_loadable", "noiommu",	"unsafe_interrupts",
		"functions", "holders",	 "unseen",	  "all_unseen", NULL
	};
	_cleanup_(inspection_freep) Inspection *inspection = NULL;
	const json_t *functions, *holders, *unseen;
	JsonReader reader;
	int r;

	r = check_schema(json, ret_message);
	if (r < 0)
		return r;
	inspection = calloc(1, sizeof(*inspection));
	if (!inspection)
		return -ENOMEM;
	/* No member has a default: a missing fact must not read as "all is well". */
	json_reader_begin(&reader, json, NULL, keys);
	inspection->vfio_pci = json_read_bool(&reader, "vfio_pci");
	inspection->vfio_loadable = json_read_bool(&reader, "vfio_loadable");
	inspection->noiommu = json_read_bool(&reader, "noiommu");
	inspection->unsafe_interrupts = json_read_bool(&reader, "unsafe_interrupts");
	functions = json_read_array(&reader, "functions", FUNCTIONS_MAX);
	holders = json_read_array(&reader, "holders", HOLDERS_MAX);
	unseen = json_read_array(&reader, "unseen", UNSEEN_MAX);
	inspection->all_unseen = (size_t)json_read_number(&reader, "all_unseen", INT32_MAX);
	r = json_reader_end(&reader, ret_message);
	if (r < 0)
		return r;
	r = lists_from_json(functions, holders, inspection, ret_message);
	if (r >= 0)
		r = unseen_list_from_json(unseen, inspection, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(inspection);
	return 0;
}

Inspection *inspection_free(Inspection *inspection)
{
	if (!inspection)
		return NULL;
	for (size_t i = 0; i < inspection->n_functions; i++) {
		FunctionFacts *facts = &inspection->functions[i];

		free(facts->driver);
		free(facts->driver_override);
		free(facts->uuid);
		free(facts->serial_number);
		free(facts->link_speed);
		free(facts->link_speed_max);
	}
	for (size_t i = 0; i < inspection->n_holders; i++) {
		Holder *holder = &inspection->holders[i];

		free(holder->command);
		free(holder->unit);
		free(holder->container);
		free(holder->path);
	}
	for (size_t i = 0; i < inspection->n_unseen; i++)
		free(inspection->unseen[i].command);
	free(inspection->functions);
	free(inspection->holders);
	free(inspection->unseen);
	free(inspection);
	return NULL;
}
