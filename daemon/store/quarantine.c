/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/base/json-fields.h"
#include "core/facts/remains.h"
#include "core/links/declaration.h"
#include "gpupass/dbus.h"
#include "store/unread.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FILE_MAX (64U * 1024)
#define SUFFIX ".json"
#define SCHEMA_BASE "org.gpupass1.quarantine/"

int quarantine_store_open(const char *directory, QuarantineStore *ret)
{
	return dir_open_private(directory, &ret->dir_fd);
}

void quarantine_store_close(QuarantineStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
}

static json_t *functions_to_json(const Quarantine *q)
{
	json_t *a = json_array();

	for (size_t i = 0; i < q->n_functions; i++)
		json_append(a, json_string(BDF_TEXT(&q->functions[i])));
	return a;
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

/* What one file says. */
typedef struct Entry {
	char *group, *reason;
	Bdf functions[GROUP_FUNCTIONS_MAX];
	size_t n_functions;
} Entry;

static void entry_clear(Entry *entry)
{
	free(entry->group);
	free(entry->reason);
}

static int refuse(const char *why, char **ret_message)
{
	*ret_message = xstrdup(why);
	return -EBADMSG;
}

static int read_entry(const json_t *root, const char *base, Entry *ret, char **ret_message)
{
	static const char *const keys[] = { "schema",	  "group",     "reason", "job",
					    "since_usec", "functions", NULL };
	const json_t *array;
	JsonReader reader;
	int r;

	json_reader_begin(&reader, root, NULL, keys);
	json_read_text(&reader, "group", &ret->group);
	json_read_text(&reader, "reason", &ret->reason);
	json_read_number(&reader, "job", UINT32_MAX);
	json_read_number(&reader, "since_usec", INT64_MAX);
	array = json_read_array(&reader, "functions", GROUP_FUNCTIONS_MAX);
	r = json_reader_end(&reader, ret_message);
	if (r >= 0)
		r = read_functions(array, ret->functions, ret_message);
	if (r < 0)
		return r;
	ret->n_functions = json_array_size(array);
	if (ret->n_functions == 0)
		return refuse("it names no function", ret_message);
	/* clear finds the file by the group. */
	return strcmp(ret->group, base) == 0 ? 0
					     : refuse("its name is not its group's", ret_message);
}

/* Returns *ret_text whenever the file has a text, also on failure. */
static int read_file(const QuarantineStore *store, const char *name, const char *base, Entry *ret,
		     char **ret_text, size_t *ret_size, char **ret_message)
{
	_cleanup_json_ json_t *root = NULL;
	int r = file_read_state_at(store->dir_fd, name, FILE_MAX, ret_text, ret_size);

	if (r >= 0)
		r = json_parse_document(*ret_text, *ret_size, GPUPASS_SCHEMA_QUARANTINE, &root,
					ret_message);
	return r >= 0 ? read_entry(root, base, ret, ret_message) : r;
}

static void keep_apart(Claims *claims, const char *name, const char *base, int error,
		       const char *message, const char *text, size_t size)
{
	_cleanup_(remains_clear) Remains remains = { 0 };

	if (error == -EPROTO)
		remains_of_document(text, size, SCHEMA_BASE, &remains);
	else if (text)
		remains = remains_scan(text, size);
	unread_claim(claims, &(UnreadFile){
				     .directory = "quarantine",
				     .name = name,
				     .group = group_name_valid(base) ? base : NULL,
				     .error = error,
				     .message = message,
				     .remains = &remains,
			     });
}

static void load_one(const QuarantineStore *store, const char *name, Claims *claims)
{
	_cleanup_free_ char *base = xstrndup(name, strlen(name) - strlen(SUFFIX));
	_cleanup_free_ char *text = NULL, *message = NULL;
	_cleanup_(entry_clear) Entry entry = { 0 };
	size_t size = 0;
	int r;

	r = read_file(store, name, base, &entry, &text, &size, &message);
	if (r >= 0)
		claims_add_quarantine(claims, entry.group, entry.functions, entry.n_functions, NULL,
				      entry.reason);
	else
		keep_apart(claims, name, base, r, message, text, size);
}

int quarantine_store_load(const QuarantineStore *store, Claims *claims)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(store->dir_fd, SUFFIX, &names);

	for (char **name = names; name && *name; name++)
		load_one(store, *name, claims);
	return r;
}

int quarantine_store_set_aside(const QuarantineStore *store, const char *name)
{
	_cleanup_free_ char *base = xstrndup(name, strlen(name) - strlen(SUFFIX));
	_cleanup_free_ char *text = NULL, *message = NULL;
	_cleanup_(entry_clear) Entry entry = { 0 };
	size_t size = 0;
	int r;

	r = read_file(store, name, base, &entry, &text, &size, &message);
	if (r >= 0 || r == -ENOENT)
		return 0;
	return file_set_aside_at(store->dir_fd, name);
}

int quarantine_store_save(const QuarantineStore *store, const Quarantine *q)
{
	_cleanup_free_ char *name = strf("%s" SUFFIX, q->group), *text = NULL;
	_cleanup_json_ json_t *o = json_build(
		"{s:s, s:o, s:o, s:I, s:I, s:o}", "schema", GPUPASS_SCHEMA_QUARANTINE, "group",
		json_text(q->group), "reason", json_text(q->reason), "job", (json_int_t)q->job,
		"since_usec", (json_int_t)(q->since_usec & INT64_MAX), "functions",
		functions_to_json(q));
	int r;

	text = json_dumps(o, JSON_INDENT(2));
	/* An unreadable file may be about more functions than this. */
	r = quarantine_store_set_aside(store, name);
	if (r < 0)
		return r;
	return file_replace_at(store->dir_fd, name, text, strlen(text), FILE_MODE_PRIVATE);
}

int quarantine_plan(const QuarantineStore *store, const Plan *plan, uint32_t job,
		    const char *reason)
{
	_cleanup_free_ Bdf *functions = xcalloc(plan->n_functions + 1, sizeof(Bdf));

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
	int r = file_remove_at(store->dir_fd, name);

	return r == -ENOENT ? 0 : r;
}
