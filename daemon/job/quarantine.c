/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/json-fields.h"
#include "gpupass/dbus.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

#define FILE_MAX (64U * 1024)
#define FUNCTIONS_MAX 64
#define SUFFIX ".json"

int quarantine_store_open(const char *directory, QuarantineStore *ret)
{
	int fd = -1, r;

	r = dir_open_at(AT_FDCWD, directory, true, &fd);
	if (r < 0)
		return r;
	ret->dir_fd = fd;
	return 0;
}

void quarantine_store_close(QuarantineStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
}

static json_t *functions_to_json(const Quarantine *q)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; i < q->n_functions; i++)
		if (json_array_append_new(a, json_string(BDF_TEXT(&q->functions[i]))) < 0)
			return NULL;
	return TAKE_PTR(a);
}

int quarantine_store_save(const QuarantineStore *store, const Quarantine *q)
{
	_cleanup_free_ char *name = strf("%s" SUFFIX, q->group), *text = NULL;
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_object_set_new(o, "schema", json_string(GPUPASS_SCHEMA_QUARANTINE));
	r |= json_object_set_new(o, "group", json_string(q->group));
	r |= json_object_set_new(o, "reason", json_string(q->reason));
	r |= json_object_set_new(o, "job", json_integer(q->job));
	r |= json_object_set_new(o, "since_usec",
				 json_integer((json_int_t)(q->since_usec & INT64_MAX)));
	r |= json_object_set_new(o, "functions", functions_to_json(q));
	text = r < 0 ? NULL : json_dumps(o, JSON_INDENT(2));
	if (!name || !text)
		return -ENOMEM;
	return file_replace_at(store->dir_fd, name, text, strlen(text), 0644);
}

int quarantine_plan(const QuarantineStore *store, const Plan *plan, uint32_t job,
		    const char *reason)
{
	_cleanup_free_ Bdf *functions = calloc(plan->n_functions + 1, sizeof(Bdf));

	if (!functions)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_functions; i++)
		functions[i] = plan->functions[i].bdf;
	return quarantine_store_save(store, &(Quarantine){
						    .group = plan->group,
						    .functions = functions,
						    .n_functions = plan->n_functions,
						    .reason = reason,
						    .job = job,
						    .since_usec = now_realtime(),
					    });
}

int quarantine_store_remove(const QuarantineStore *store, const char *group)
{
	_cleanup_free_ char *name = strf("%s" SUFFIX, group);
	int r = name ? file_remove_at(store->dir_fd, name) : -ENOMEM;

	return r == -ENOENT ? 0 : r;
}

static int read_functions(const json_t *array, Bdf *functions, char **ret_message)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (bdf_parse(json_string_value(json_array_get(array, i)), &functions[i]) >= 0)
			continue;
		*ret_message = strf("functions[%zu] is not a PCI address", i);
		return -EBADMSG;
	}
	return 0;
}

static int add(const json_t *root, Claims *claims, char **ret_message)
{
	static const char *const keys[] = { "schema",	  "group",     "reason", "job",
					    "since_usec", "functions", NULL };
	_cleanup_free_ char *group = NULL, *reason = NULL;
	Bdf functions[FUNCTIONS_MAX];
	const json_t *array;
	JsonReader reader;
	int r;

	json_reader_begin(&reader, root, NULL, keys);
	json_read_text(&reader, "group", &group);
	json_read_text(&reader, "reason", &reason);
	json_read_number(&reader, "job", UINT32_MAX);
	json_read_number(&reader, "since_usec", INT64_MAX);
	array = json_read_array(&reader, "functions", FUNCTIONS_MAX);
	r = json_reader_end(&reader, ret_message);
	if (r >= 0)
		r = read_functions(array, functions, ret_message);
	if (r < 0)
		return r;
	return claims_add_quarantine(claims, group, functions, json_array_size(array), NULL,
				     reason);
}

static int load_one(const QuarantineStore *store, const char *name, Claims *claims, char ***notes)
{
	_cleanup_free_ char *text = NULL, *message = NULL;
	_cleanup_json_ json_t *root = NULL;
	size_t size = 0;
	int r;

	r = file_read_at(store->dir_fd, name, FILE_MAX, &text, &size);
	if (r >= 0)
		r = json_parse_document(text, size, GPUPASS_SCHEMA_QUARANTINE, &root, &message);
	if (r >= 0)
		r = add(root, claims, &message);
	if (r >= 0 || r == -ENOMEM)
		return r;
	return strv_appendf(notes,
			    "quarantine/%s cannot be understood (%s): its group is not kept apart; "
			    "look at that group, then remove the file",
			    name, message ? message : strerror(-r));
}

int quarantine_store_load(const QuarantineStore *store, Claims *claims, char ***ret_notes)
{
	_cleanup_strv_ char **names = NULL, **notes = NULL;
	int r = dir_list(store->dir_fd, SUFFIX, &names);

	for (char **name = names; r >= 0 && name && *name; name++)
		r = load_one(store, *name, claims, &notes);
	if (r < 0)
		return r;
	*ret_notes = TAKE_PTR(notes);
	return 0;
}
