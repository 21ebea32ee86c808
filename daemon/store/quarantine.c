/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/quarantine.h"

#include <errno.h>
#include <string.h>

#include "core/base/json-fields.h"
#include "gpupass/dbus.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

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
		if (bdf_parse(json_string_value(json_array_get(array, i)), &functions[i]) < 0)
			return json_refuse(ret_message, "functions[%zu] is not a PCI address", i);
	}
	return 0;
}

static json_t *document_of(const Quarantine *q)
{
	return json_build("{s:s, s:o, s:o, s:I, s:I, s:o}", "schema", GPUPASS_SCHEMA_QUARANTINE,
			  "group", json_text(q->group), "reason", json_text(q->reason), "job",
			  (json_int_t)q->job, "since_usec", (json_int_t)(q->since_usec & INT64_MAX),
			  "functions", functions_to_json(q));
}

/* What one file says. */
typedef struct Entry {
	char *group, *reason;
	Bdf functions[GROUP_FUNCTIONS_MAX];
	size_t n_functions;
} Entry;

static void entry_free(void *record)
{
	Entry *entry = record;

	free(entry->group);
	free(entry->reason);
	free(entry);
}

static int read_into(const json_t *root, Entry *entry, char **ret_why)
{
	static const char *const keys[] = { "schema",	  "group",     "reason", "job",
					    "since_usec", "functions", NULL };
	const json_t *array;
	JsonReader reader;
	int r;

	json_reader_begin(&reader, root, NULL, keys);
	json_read_text(&reader, "group", &entry->group);
	json_read_text(&reader, "reason", &entry->reason);
	json_read_number(&reader, "job", UINT32_MAX);
	json_read_number(&reader, "since_usec", INT64_MAX);
	array = json_read_array(&reader, "functions", GROUP_FUNCTIONS_MAX);
	r = json_reader_end(&reader, ret_why);
	if (r >= 0)
		r = read_functions(array, entry->functions, ret_why);
	if (r < 0)
		return r;
	entry->n_functions = json_array_size(array);
	return entry->n_functions > 0 ? 0 : json_refuse(ret_why, "it names no function");
}

static int entry_read(const json_t *document, void **ret, char **ret_why)
{
	Entry *entry = xcalloc(1, sizeof(Entry));
	int r = read_into(document, entry, ret_why);

	if (r < 0)
		entry_free(entry);
	else
		*ret = entry;
	return r;
}

static char *file_name(const char *group)
{
	return strf("%s.json", group);
}

/* clear finds the file by the group. */
static bool is_name(const char *name, const void *record)
{
	const Entry *entry = record;
	_cleanup_free_ char *own = file_name(entry->group);

	return strcmp(name, own) == 0;
}

#define REMEDY "when its cause is gone: gpupass clear, with the name that list shows"

const RecordKind quarantine_kind = {
	.folder = "quarantine",
	.schema = GPUPASS_SCHEMA_QUARANTINE_2,
	.most = 64U * 1024,
	.read = entry_read,
	.free = entry_free,
	.is_name = is_name,
	.misnamed = "its name is not its group's",
	.apart = true,
	.of_group = true,
	.remedy = { REMEDY, REMEDY, REMEDY },
};

static void take(void *into, _unused_ const char *name, void *record)
{
	const Entry *entry = record;

	claims_add_quarantine(into, entry->group, entry->functions, entry->n_functions, NULL,
			      entry->reason);
	entry_free(record);
}

void quarantine_store_load(QuarantineStore *store, Claims *claims)
{
	const RecordFaults *faults = &store->faults;

	records_load(store, take, claims);
	for (size_t i = 0; i < faults->n_items; i++)
		claims_add_fault(claims, &faults->items[i]);
}

int quarantine_store_set_aside(QuarantineStore *store, const char *name)
{
	void *entry = NULL;
	int r = 0;
	MUTEX_HOLD(&store->lock);

	if (record_file_read(store->dir_fd, &quarantine_kind, name, &entry, NULL) >= 0)
		entry_free(entry);
	else
		r = records_set_aside(store, name);
	return r;
}

int quarantine_store_save(QuarantineStore *store, const Quarantine *q)
{
	_cleanup_free_ char *name = file_name(q->group);
	int r;
	MUTEX_HOLD(&store->lock);

	/* An unreadable file may be about more functions than this. */
	r = quarantine_store_set_aside(store, name);
	if (r >= 0)
		r = records_replace(store, name, document_of(q));
	return r;
}

int quarantine_plan(QuarantineStore *store, const Plan *plan, uint32_t job, const char *reason)
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

int quarantine_store_remove(QuarantineStore *store, const char *group)
{
	_cleanup_free_ char *name = file_name(group);

	return records_remove(store, name);
}
