/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/persistence.h"

#include <errno.h>
#include <string.h>

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

#define VERB "persistence"
#define REASON_MAX 512
#define GPUS_MAX 64

static const JsonMember gpu_members[] = {
	JSON_BDF_AS(GpuPersistence, bdf, "address"),
	JSON_ENUM_IF_ANY(GpuPersistence, mode, PersistenceMode, PERSISTENCE_MODES,
			 "is neither on nor off"),
	JSON_ENUM_IF_ANY(GpuPersistence, mig, MigMode, MIG_MODES, "is neither on nor off"),
	JSON_ENUM_IF_ANY(GpuPersistence, mig_pending, MigMode, MIG_MODES, "is neither on nor off"),
	JSON_TEXT_IF_ANY_AS(GpuPersistence, why, "reason"),
	JSON_NUMBER_OR_0(GpuPersistence, kept_by, INT32_MAX),
	JSON_END,
};

char *persistence_document(const GpuPersistence *gpus, size_t n)
{
	_cleanup_json_ json_t *o = json_object();
	json_t *array = json_array(); /* moves to o below, also on failure */
	int r = 0;

	for (size_t i = 0; i < n; i++)
		r |= json_array_append_new(array, json_struct_write(gpu_members, &gpus[i]));
	r |= json_object_set_new(o, "schema", json_string(GPUPASS_SCHEMA_WORKER));
	r |= json_object_set_new(o, "verb", json_string(VERB));
	r |= json_object_set_new(o, "gpus", array);
	return r < 0 ? NULL : json_dumps(o, JSON_COMPACT);
}

static int gpu_from_json(const json_t *json, const Bdf *asked, GpuPersistence *ret)
{
	int r = json_struct_read(gpu_members, json, "gpus", ret, NULL);

	if (r < 0)
		return r;
	if (!bdf_equal(&ret->bdf, asked) ||
	    (ret->mode == PERSISTENCE_UNKNOWN && (!ret->why || ret->kept_by != 0)) ||
	    (ret->why && strlen(ret->why) > REASON_MAX))
		return -EBADMSG;
	return 0;
}

static int gpus_from_json(const json_t *array, const Bdf *gpus, size_t n, GpuPersistence *ret)
{
	if (json_array_size(array) != n)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		int r = gpu_from_json(json_array_get(array, i), &gpus[i], &ret[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

int persistence_document_parse(const char *text, size_t size, const Bdf *gpus, size_t n,
			       GpuPersistence *ret)
{
	static const char *const keys[] = { "schema", "verb", "gpus", NULL };
	GpuPersistence *found = calloc(n + 1, sizeof(GpuPersistence));
	_cleanup_json_ json_t *root = NULL;
	_cleanup_free_ char *verb = NULL;
	const json_t *array;
	JsonReader reader;
	int r;

	if (!found)
		return -ENOMEM;
	r = json_parse_document(text, size, GPUPASS_SCHEMA_WORKER, &root, NULL);
	if (r >= 0) {
		json_reader_begin(&reader, root, NULL, keys);
		json_read_text(&reader, "verb", &verb);
		array = json_read_array(&reader, "gpus", GPUS_MAX);
		r = json_reader_end(&reader, NULL);
		if (r >= 0 && strcmp(verb, VERB) != 0)
			r = -EBADMSG;
		if (r >= 0)
			r = gpus_from_json(array, gpus, n, found);
	}
	if (r < 0) {
		persistence_list_free(found, n);
		return r == -ENOMEM ? r : -EBADMSG;
	}
	memcpy(ret, found, n * sizeof(GpuPersistence));
	free(found);
	return 0;
}
