/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/probe.h"

#include <errno.h>
#include <string.h>

#include "core/base/json-fields.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

#define REASON_MAX 512

int probe_answer_unseen(ProbeAnswer *answer, const Bdf *bdf, char *reason)
{
	UnseenBoard *bigger =
		reallocarray(answer->unseen, answer->n_unseen + 1, sizeof(UnseenBoard));

	if (bigger)
		answer->unseen = bigger;
	if (!bigger || !reason) {
		free(reason);
		return -ENOMEM;
	}
	bigger[answer->n_unseen++] = (UnseenBoard){ .bdf = *bdf, .reason = reason };
	return 0;
}

void probe_answer_clear(ProbeAnswer *answer)
{
	free(answer->error);
	evidence_unref(answer->boards);
	for (size_t i = 0; i < answer->n_unseen; i++)
		free(answer->unseen[i].reason);
	free(answer->unseen);
	*answer = (ProbeAnswer){ 0 };
}

static json_t *unseen_to_json(const ProbeAnswer *answer)
{
	_cleanup_json_ json_t *array = json_array();

	for (size_t i = 0; i < answer->n_unseen; i++)
		if (json_array_append_new(array, json_pack("{s:s, s:s}", "address",
							   BDF_TEXT(&answer->unseen[i].bdf),
							   "reason", answer->unseen[i].reason)) < 0)
			return NULL;
	return TAKE_PTR(array);
}

char *probe_document(const ProbeAnswer *answer)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_object_set_new(o, "schema", json_string(GPUPASS_SCHEMA_PROBE));
	r |= json_set_text_if_any(o, "error", answer->error);
	r |= json_object_set_new(o, "boards", sightings_to_json(answer->boards));
	r |= json_object_set_new(o, "unseen", unseen_to_json(answer));
	return r < 0 ? NULL : json_dumps(o, JSON_COMPACT);
}

static int parse_unseen(const json_t *array, ProbeAnswer *answer)
{
	static const char *const keys[] = { "address", "reason", NULL };

	for (size_t i = 0; i < json_array_size(array); i++) {
		char *reason = NULL;
		JsonReader reader;
		Bdf bdf = { 0 };
		int r;

		json_reader_begin(&reader, json_array_get(array, i), "unseen", keys);
		json_read_bdf(&reader, "address", &bdf);
		json_read_text(&reader, "reason", &reason);
		r = json_reader_end(&reader, NULL);
		if (r >= 0 && strlen(reason) > REASON_MAX)
			r = -EBADMSG;
		if (r < 0) {
			free(reason);
			return r;
		}
		r = probe_answer_unseen(answer, &bdf, reason);
		if (r < 0)
			return r;
	}
	return 0;
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
		return answer->boards->n_items == 0 && answer->n_unseen == 0;
	if (answer->boards->n_items + answer->n_unseen != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (times_told(answer, &functions[i]) != 1)
			return false;
	for (size_t i = 0; i < answer->boards->n_items; i++)
		if (answer->boards->items[i].way != way)
			return false;
	return true;
}

int probe_document_parse(const char *text, size_t size, const Bdf *functions, size_t n,
			 SightingWay way, ProbeAnswer *ret)
{
	static const char *const keys[] = { "schema", "error", "boards", "unseen", NULL };
	_cleanup_(probe_answer_clear) ProbeAnswer answer = { 0 };
	_cleanup_json_ json_t *root = NULL;
	const json_t *boards, *unseen;
	JsonReader reader;
	int r;

	r = json_parse_document(text, size, GPUPASS_SCHEMA_PROBE, &root, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	json_reader_begin(&reader, root, NULL, keys);
	json_read_text_if_any(&reader, "error", &answer.error);
	boards = json_read_array(&reader, "boards", SIGHTINGS_MAX);
	unseen = json_read_array(&reader, "unseen", SIGHTINGS_MAX);
	r = json_reader_end(&reader, NULL);
	if (r >= 0)
		r = sightings_from_json(boards, &answer.boards, NULL);
	if (r >= 0)
		r = parse_unseen(unseen, &answer);
	if (r < 0)
		return r;
	if ((answer.error && strlen(answer.error) > REASON_MAX) ||
	    !is_about(&answer, functions, n, way))
		return -EBADMSG;
	*ret = answer;
	answer = (ProbeAnswer){ 0 };
	return 0;
}
