/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/probe.h"

#include <errno.h>
#include <string.h>

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/xalloc.h"

#define REASON_MAX 512

void probe_answer_unseen(ProbeAnswer *answer, const Bdf *bdf, char *reason)
{
	answer->unseen = xreallocarray(answer->unseen, answer->n_unseen + 1, sizeof(UnseenBoard));
	answer->unseen[answer->n_unseen++] = (UnseenBoard){ .bdf = *bdf, .reason = reason };
}

static void write_boards(json_t *o, const char *key, const void *of)
{
	const ProbeAnswer *answer = of;

	json_set(o, key, sightings_to_json(answer->boards));
}

static void read_boards(JsonReader *reader, const char *key, void *of)
{
	const json_t *boards = json_read_array(reader, key, SIGHTINGS_MAX);
	ProbeAnswer *answer = of;
	int r = sightings_from_json(boards, &answer->boards, NULL);

	if (r < 0)
		reader->error = r;
}

static const JsonMember unseen_members[] = {
	JSON_BDF_AS(UnseenBoard, bdf, "address"),
	JSON_TEXT(UnseenBoard, reason),
	JSON_END,
};

static const JsonMember answer_members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_PROBE),
	JSON_TEXT_IF_ANY(ProbeAnswer, error),
	JSON_OTHER("boards", read_boards, write_boards),
	JSON_ARRAY(ProbeAnswer, unseen, UnseenBoard, unseen_members, SIGHTINGS_MAX),
	JSON_END,
};

void probe_answer_clear(ProbeAnswer *answer)
{
	evidence_unref(answer->boards);
	json_struct_clear(answer_members, answer);
	*answer = (ProbeAnswer){ 0 };
}

char *probe_document(const ProbeAnswer *answer)
{
	return json_struct_text(answer_members, answer);
}

static size_t times_told(const ProbeAnswer *answer, const Bdf *bdf)
{
	size_t n = 0;

	for (size_t i = 0; i < answer->boards->n_items; i++)
		n += bdf_equal(&answer->boards->items[i].bdf, bdf);
	for (size_t i = 0; i < answer->n_unseen; i++)
		n += bdf_equal(&answer->unseen[i].bdf, bdf);
	return n;
}

static bool is_about(const ProbeAnswer *answer, const Bdf *functions, size_t n, SightingWay way)
{
	if (answer->error)
		return strlen(answer->error) <= REASON_MAX && answer->boards->n_items == 0 &&
		       answer->n_unseen == 0;
	if (answer->boards->n_items + answer->n_unseen != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (times_told(answer, &functions[i]) != 1)
			return false;
	for (size_t i = 0; i < answer->boards->n_items; i++)
		if (answer->boards->items[i].way != way)
			return false;
	for (size_t i = 0; i < answer->n_unseen; i++)
		if (strlen(answer->unseen[i].reason) > REASON_MAX)
			return false;
	return true;
}

int probe_document_parse(const char *text, size_t size, const Bdf *functions, size_t n,
			 SightingWay way, ProbeAnswer *ret)
{
	_cleanup_(probe_answer_clear) ProbeAnswer answer = { 0 };
	int r = json_struct_parse(answer_members, text, size, &answer);

	if (r < 0)
		return r;
	if (!is_about(&answer, functions, n, way))
		return -EBADMSG;
	*ret = answer;
	answer = (ProbeAnswer){ 0 };
	return 0;
}
