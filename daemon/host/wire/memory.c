/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/memory.h"

#include <errno.h>
#include <string.h>

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

#define BOARDS_MAX 512
#define REASON_MAX 512

static const JsonMember report_members[] = {
	JSON_BDF_AS(MemoryReport, bdf, "address"),
	JSON_ENUM(MemoryReport, state, MemoryClear, MEMORY_CLEARS,
		  "is none that this version knows"),
	JSON_TEXT_IF_ANY(MemoryReport, why),
	JSON_END,
};

char *memory_document(const MemoryReport *reports, size_t n)
{
	_cleanup_json_ json_t *o = json_object(), *boards = json_array();
	int r = 0;

	for (size_t i = 0; i < n; i++)
		r |= json_array_append_new(boards, json_struct_write(report_members, &reports[i]));
	r |= json_object_set_new(o, "schema", json_string(GPUPASS_SCHEMA_MEMORY));
	r |= json_object_set(o, "boards", boards);
	return r < 0 ? NULL : json_dumps(o, JSON_COMPACT);
}

static bool is_about(const MemoryReport *report, const Bdf *bdf)
{
	bool known = report->state != MEMORY_NOT_KNOWN;

	return bdf_equal(&report->bdf, bdf) && known == !report->why &&
	       (known || strlen(report->why) <= REASON_MAX);
}

static int parse_boards(const json_t *array, const Bdf *boards, size_t n, MemoryReport *reports)
{
	if (json_array_size(array) != n)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		int r = json_struct_read(report_members, json_array_get(array, i), "boards",
					 &reports[i], NULL);

		if (r < 0)
			return r;
		if (!is_about(&reports[i], &boards[i]))
			return -EBADMSG;
	}
	return 0;
}

int memory_document_parse(const char *text, size_t size, const Bdf *boards, size_t n,
			  MemoryReport *ret)
{
	static const char *const keys[] = { "schema", "boards", NULL };
	_cleanup_free_ MemoryReport *reports = calloc(n + 1, sizeof(MemoryReport));
	_cleanup_json_ json_t *root = NULL;
	const json_t *array;
	JsonReader reader;
	int r;

	if (!reports)
		return -ENOMEM;
	r = json_parse_document(text, size, GPUPASS_SCHEMA_MEMORY, &root, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	json_reader_begin(&reader, root, NULL, keys);
	array = json_read_array(&reader, "boards", BOARDS_MAX);
	r = json_reader_end(&reader, NULL);
	if (r >= 0)
		r = parse_boards(array, boards, n, reports);
	for (size_t i = 0; i < n; i++)
		if (r < 0)
			memory_report_clear(&reports[i]);
		else
			ret[i] = reports[i];
	return r;
}
