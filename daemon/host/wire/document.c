/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/document.h"

#include <errno.h>
#include <string.h>

#include "core/base/json-fields.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

/* Linux has no higher errno: MAX_ERRNO in the kernel. */
#define ERRNO_MAX 4095

static json_t *document_new(const char *verb, int error)
{
	return json_build("{s:s, s:s, s:i}", "schema", GPUPASS_SCHEMA_WORKER, "verb", verb, "error",
			  -error);
}

char *worker_inspect_document(int error, const Inspection *inspection)
{
	_cleanup_json_ json_t *root = document_new("inspect", error);

	if (inspection)
		json_set(root, "inspection", inspection_to_json(inspection));
	return json_dumps(root, JSON_COMPACT);
}

/* The document, if it is a worker's about this verb. Text after it makes it invalid. */
static int parse_document(const char *text, size_t size, const char *verb, json_t **ret)
{
	_cleanup_json_ json_t *root = NULL;
	const char *found = NULL;
	int r;

	r = json_parse_document(text, size, GPUPASS_SCHEMA_WORKER, &root, NULL);
	if (r < 0)
		return r == -EPROTO ? -EBADMSG : r;
	if (json_get_string(root, "verb", &found) < 0 || strcmp(found, verb) != 0)
		return -EBADMSG;
	*ret = TAKE_PTR(root);
	return 0;
}

/* The same, if it is no error that the worker met; that error otherwise. */
static int parse_answer(const char *text, size_t size, const char *verb, json_t **ret)
{
	_cleanup_json_ json_t *root = NULL;
	unsigned long long error;
	int r = parse_document(text, size, verb, &root);

	if (r < 0)
		return r;
	if (json_get_unsigned(root, "error", ERRNO_MAX, &error) < 0)
		return -EBADMSG;
	if (error != 0)
		return -(int)error;
	*ret = TAKE_PTR(root);
	return 0;
}

int worker_move_document_parse(const char *text, size_t size, const Bdf *bdf, DriverResult *ret)
{
	static const char *const keys[] = { "schema", "verb",	 "bdf",	   "error",
					    "phase",  "changed", "driver", "driver_override",
					    NULL };
	_cleanup_(driver_result_clear) DriverResult result = { 0 };
	_cleanup_free_ char *phase = NULL;
	_cleanup_json_ json_t *root = NULL;
	JsonReader reader;
	Bdf about = { 0 };
	int r;

	r = parse_document(text, size, "move", &root);
	if (r < 0)
		return r;
	json_reader_begin(&reader, root, NULL, keys);
	json_read_bdf(&reader, "bdf", &about);
	result.error = -(int)json_read_number(&reader, "error", ERRNO_MAX);
	json_read_text(&reader, "phase", &phase);
	result.changed = json_read_bool(&reader, "changed");
	json_read_text_if_any(&reader, "driver", &result.driver);
	json_read_text_if_any(&reader, "driver_override", &result.driver_override);
	r = json_reader_end(&reader, NULL);
	if (r < 0)
		return r;
	if (!bdf_equal(&about, bdf) || driver_phase_from_string(phase, &result.phase) < 0)
		return -EBADMSG;
	*ret = (DriverResult){
		.error = result.error,
		.phase = result.phase,
		.changed = result.changed,
		.driver = TAKE_PTR(result.driver),
		.driver_override = TAKE_PTR(result.driver_override),
	};
	return 0;
}

int worker_reset_document_parse(const char *text, size_t size, const Bdf *bdf, ResetReport *ret)
{
	_cleanup_(reset_report_clear) ResetReport report = { 0 };
	_cleanup_json_ json_t *root = NULL;
	int r;

	r = parse_document(text, size, "reset", &root);
	if (r >= 0)
		r = reset_report_from_json(json_object_get(root, "report"), &report);
	if (r < 0)
		return r;
	if (!bdf_equal(&report.bdf, bdf))
		return -EBADMSG;
	*ret = report;
	report = (ResetReport){ 0 };
	return 0;
}

int worker_inspect_document_parse(const char *text, size_t size, const Bdf *functions, size_t n,
				  Inspection **ret)
{
	_cleanup_(inspection_freep) Inspection *inspection = NULL;
	_cleanup_json_ json_t *root = NULL;
	int r = parse_answer(text, size, "inspect", &root);

	if (r < 0)
		return r;
	r = inspection_from_json(json_object_get(root, "inspection"), &inspection, NULL);
	if (r < 0)
		return -EBADMSG;
	/* An answer that leaves a function out must not read as "no process holds it". */
	for (size_t i = 0; i < n; i++)
		if (!inspection_find(inspection, &functions[i]))
			return -EBADMSG;
	*ret = TAKE_PTR(inspection);
	return 0;
}

char *worker_examine_document(int error, const Examination *host, const GpuHealth *gpu)
{
	_cleanup_json_ json_t *root = document_new("examine", error);

	if (host)
		json_set(root, "host", examination_to_json(host));
	if (gpu)
		json_set(root, "gpu", gpu_health_to_json(gpu));
	return json_dumps(root, JSON_COMPACT);
}

int worker_examine_host_parse(const char *text, size_t size, Examination **ret)
{
	_cleanup_json_ json_t *root = NULL;
	int r = parse_answer(text, size, "examine", &root);

	return r < 0 ? r : examination_from_json(json_object_get(root, "host"), ret, NULL);
}

int worker_examine_gpu_parse(const char *text, size_t size, const Bdf *gpu, GpuHealth *ret)
{
	_cleanup_json_ json_t *root = NULL;
	GpuHealth health = { 0 };
	int r = parse_answer(text, size, "examine", &root);

	if (r >= 0)
		r = gpu_health_from_json(json_object_get(root, "gpu"), &health, NULL);
	if (r < 0)
		return r;
	if (!bdf_equal(&health.bdf, gpu)) {
		gpu_health_clear(&health);
		return -EBADMSG;
	}
	*ret = health;
	return 0;
}
