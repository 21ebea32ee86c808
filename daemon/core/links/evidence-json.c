/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sightings as JSON, in topology.json and in a worker's answer to a probe. */
#include <string.h>

#include "core/base/json-struct.h"
#include "core/links/evidence.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

static json_t *sighting_to_json(const Sighting *s)
{
	return json_struct_write(sighting_members, s);
}

json_t *sightings_to_json(const Evidence *evidence)
{
	json_t *array = json_array();

	for (size_t i = 0; evidence && i < evidence->n_items; i++)
		json_append(array, sighting_to_json(&evidence->items[i]));
	return array;
}

/* Two sightings of one board in one layer would count twice. */
static bool is_twice(const Evidence *evidence, const Sighting *s)
{
	for (size_t i = 0; i < evidence->n_items; i++)
		if (bdf_equal(&evidence->items[i].bdf, &s->bdf) &&
		    (evidence->items[i].way == WAY_GUEST) == (s->way == WAY_GUEST))
			return true;
	return false;
}

static bool is_plain(const Sighting *s)
{
	const char *const texts[] = { s->source, s->uuid, s->vbios, s->board_serial,
				      s->serial_number };

	for (size_t i = 0; i < ELEMENTS(texts); i++)
		if (texts[i] && !evidence_text_valid(texts[i]))
			return false;
	return true;
}

/* A board has so many links at most, and each leads to one peer. */
static int check_peers(const Sighting *s, char **ret_message)
{
	size_t links = s->inactive + s->other;

	for (size_t i = 0; i < s->n_peers; i++) {
		const SeenPeer *peer = &s->peers[i];

		if (peer->links == 0 || bdf_equal(&peer->bdf, &s->bdf))
			return json_refuse(ret_message, "boards.peers has one that is no peer");
		for (size_t k = 0; k < i; k++)
			if (bdf_equal(&s->peers[k].bdf, &peer->bdf))
				return json_refuse(ret_message, "boards.peers names one twice");
		links += peer->links;
	}
	if (links > SIGHTING_LINKS_MAX)
		return json_refuse(ret_message, "boards.peers has more links than any board");
	return 0;
}

static int sighting_check(const Evidence *evidence, const Sighting *s, char **ret_message)
{
	if (!is_plain(s))
		return json_refuse(ret_message, "boards.source or an identity is no plain text");
	if (s->domain && (s->way != WAY_GUEST || !assignment_uuid_valid(s->domain)))
		return json_refuse(ret_message, "boards.domain is no guest's, or no UUID");
	if (is_twice(evidence, s))
		return json_refuse(ret_message, "%s is there twice", BDF_TEXT(&s->bdf));
	return check_peers(s, ret_message);
}

int sightings_from_json(const json_t *array, Evidence **ret, char **ret_message)
{
	_cleanup_(evidence_unrefp) Evidence *evidence = evidence_new();
	int r;

	if (!json_is_array(array) || json_array_size(array) > SIGHTINGS_MAX)
		return json_refuse(ret_message, "boards is not an array of at most %d",
				   SIGHTINGS_MAX);
	for (size_t i = 0; i < json_array_size(array); i++) {
		Sighting s = { 0 };

		r = json_struct_read(sighting_members, json_array_get(array, i), "boards", &s,
				     ret_message);
		if (r >= 0)
			r = sighting_check(evidence, &s, ret_message);
		if (r < 0) {
			sighting_clear(&s);
			return r;
		}
		r = evidence_add(evidence, &s);
		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(evidence);
	return 0;
}

json_t *evidence_document(const Evidence *evidence)
{
	json_t *o = json_object();

	json_set(o, "schema", json_text(GPUPASS_SCHEMA_EVIDENCE_2));
	json_set(o, "boards", sightings_to_json(evidence));
	return o;
}

static int evidence_read(const json_t *document, void **ret, char **ret_why)
{
	static const char *const keys[] = { "schema", "boards", NULL };
	Evidence *evidence = NULL;
	JsonReader reader;
	const json_t *boards;
	int r;

	json_reader_begin(&reader, document, NULL, keys);
	boards = json_read_array(&reader, "boards", SIGHTINGS_MAX);
	r = json_reader_end(&reader, ret_why);
	if (r >= 0)
		r = sightings_from_json(boards, &evidence, ret_why);
	if (r >= 0)
		*ret = evidence;
	return r;
}

static void evidence_free_record(void *evidence)
{
	evidence_unref(evidence);
}

#define NOT_KNOWN "what was seen of the links is not known"
#define PROBE "look at the links again, which replaces the file: gpupass probe"

const RecordKind evidence_kind = {
	.file = TOPOLOGY_FILE,
	.schema = GPUPASS_SCHEMA_EVIDENCE_3,
	.most = 1024U * 1024,
	.read = evidence_read,
	.free = evidence_free_record,
	.so = {
		[RECORD_NEWER] = "it is left alone, and what is probed now is not kept over a "
				 "restart",
		[RECORD_DAMAGED] = NOT_KNOWN,
		[RECORD_UNREAD] = NOT_KNOWN,
	},
	.remedy = {
		[RECORD_NEWER] = "run the version of gpupass that wrote it; or remove the file, "
				 "then: gpupass probe",
		[RECORD_DAMAGED] = PROBE,
		[RECORD_UNREAD] = PROBE,
	},
};

static void add_report(const Evidence *evidence, const Sighting *s, const GpuSet *set,
		       const Assignments *assignments, json_t *boards)
{
	json_t *board = sighting_to_json(s);
	const Gpu *gpu = gpu_set_find(set, &s->bdf);
	_cleanup_free_ char *why = sighting_stale(evidence, s, set);
	_cleanup_free_ char *model = gpu ? gpu_model(gpu) : NULL;

	if (!why && s->way == WAY_GUEST)
		why = sighting_guest_over(s, assignments);
	json_set(board, "model", json_string_or_null(model));
	json_set(board, "expected", json_integer(gpu && gpu->board ? gpu->board->links : 0));
	json_set(board, "stale", json_string_or_null(why));
	json_append(boards, board);
}

char *evidence_report(const Evidence *evidence, const GpuSet *set, const Assignments *assignments)
{
	_cleanup_json_ json_t *o = json_object();
	json_t *boards = json_array();

	json_set(o, "schema", json_text(GPUPASS_SCHEMA_EVIDENCE));
	json_set(o, "boards", boards);
	for (size_t i = 0; evidence && i < evidence->n_items; i++)
		add_report(evidence, &evidence->items[i], set, assignments, boards);
	return json_dumps(o, JSON_COMPACT);
}
