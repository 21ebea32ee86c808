/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/boot-faults.h"

#include "core/base/json-fields.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

/* The most assigned functions that a report may have. */
#define FUNCTIONS_MAX 4096

static void boot_faults_add(BootFaults *faults, const Bdf *bdf, char **outcome, char **detail)
{
	BootFault *bigger = xreallocarray(faults->items, faults->n_items + 1, sizeof(BootFault));

	faults->items = bigger;
	bigger[faults->n_items++] = (BootFault){ .bdf = *bdf,
						 .outcome = TAKE_PTR(*outcome),
						 .detail = TAKE_PTR(*detail) };
}

static int read_function(const json_t *json, size_t i, BootFaults *faults, char **ret_message)
{
	static const char *const keys[] = {
		"bdf", "group", "domain_uuid", "outcome", "detail", NULL
	};
	_cleanup_free_ char *where = strf("functions[%zu]", i), *outcome = NULL, *detail = NULL;
	JsonReader reader;
	Bdf bdf = { 0 };
	int r;

	json_reader_begin(&reader, json, where, keys);
	json_read_bdf(&reader, "bdf", &bdf);
	json_read_text(&reader, "outcome", &outcome);
	json_read_text_if_any(&reader, "detail", &detail);
	r = json_reader_end(&reader, ret_message);
	if (r < 0 || str_equal(outcome, "bound") || str_equal(outcome, "reserved"))
		return r;
	boot_faults_add(faults, &bdf, &outcome, &detail);
	return 0;
}

static int read_root(const json_t *root, BootFaults *faults, char **ret_message)
{
	static const char *const keys[] = { "schema", "functions", "notes", NULL };
	const json_t *functions;
	JsonReader reader;
	int r;

	json_reader_begin(&reader, root, NULL, keys);
	functions = json_read_array(&reader, "functions", FUNCTIONS_MAX);
	r = json_reader_end(&reader, ret_message);
	for (size_t i = 0; r >= 0 && i < json_array_size(functions); i++)
		r = read_function(json_array_get(functions, i), i, faults, ret_message);
	return r;
}

int boot_faults_parse(const char *text, size_t size, BootFaults **ret, char **ret_message)
{
	_cleanup_(boot_faults_freep) BootFaults *faults = xcalloc(1, sizeof(BootFaults));
	_cleanup_json_ json_t *root = NULL;
	int r;

	r = json_parse_document(text, size, GPUPASS_SCHEMA_BOOT, &root, ret_message);
	if (r >= 0)
		r = read_root(root, faults, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(faults);
	return 0;
}

const BootFault *boot_faults_find(const BootFaults *faults, const Bdf *bdf)
{
	for (size_t i = 0; faults && i < faults->n_items; i++)
		if (bdf_equal(&faults->items[i].bdf, bdf))
			return &faults->items[i];
	return NULL;
}

char *boot_fault_text(const BootFault *fault)
{
	return strf("%s%s%s", fault->outcome, fault->detail ? ": " : "",
		    str_or_empty(fault->detail));
}

BootFaults *boot_faults_free(BootFaults *faults)
{
	if (!faults)
		return NULL;
	for (size_t i = 0; i < faults->n_items; i++) {
		free(faults->items[i].outcome);
		free(faults->items[i].detail);
	}
	free(faults->items);
	free(faults);
	return NULL;
}
