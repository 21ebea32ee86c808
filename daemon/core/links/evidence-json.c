/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sightings as JSON, in topology.json and in a worker's answer to a probe. */
#include <string.h>

#include "core/base/json-struct.h"
#include "core/links/evidence.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

static json_t *peers_to_json(const Sighting *s)
{
	_cleanup_json_ json_t *array = json_array();

	for (size_t i = 0; i < s->n_peers; i++)
		json_append(array, json_build("{s:s, s:I}", "address", BDF_TEXT(&s->peers[i].bdf),
					      "links", (json_int_t)s->peers[i].links));
	return TAKE_PTR(array);
}

static void read_peer(const json_t *json, const Sighting *s, SeenPeer *ret, JsonReader *outer)
{
	static const char *const keys[] = { "address", "links", NULL };
	JsonReader reader;

	json_reader_begin(&reader, json, "peers", keys);
	json_read_bdf(&reader, "address", &ret->bdf);
	ret->links = (unsigned)json_read_number(&reader, "links", SIGHTING_LINKS_MAX);
	if (json_reader_end(&reader, NULL) < 0 || ret->links == 0 || bdf_equal(&ret->bdf, &s->bdf))
		json_reader_fail(outer, "peers", "has one that is no peer");
}

/* A board has this many links at most, and each leads to one peer. */
static void read_peers(JsonReader *reader, const char *key, void *sighting)
{
	const json_t *array = json_read_array(reader, key, SIGHTING_LINKS_MAX);
	Sighting *s = sighting;
	size_t n = json_array_size(array), links = s->inactive + s->other;

	s->peers = xcalloc(n + 1, sizeof(SeenPeer));
	for (size_t i = 0; reader->error == 0 && i < n; i++) {
		SeenPeer *peer = &s->peers[i];

		read_peer(json_array_get(array, i), s, peer, reader);
		for (size_t k = 0; k < i; k++)
			if (bdf_equal(&s->peers[k].bdf, &peer->bdf))
				json_reader_fail(reader, key, "names one twice");
		links += peer->links;
		s->n_peers++;
	}
	if (links > SIGHTING_LINKS_MAX)
		json_reader_fail(reader, key, "has more links than any board");
}

static int write_peers(json_t *o, const char *key, const void *sighting)
{
	json_set(o, key, peers_to_json(sighting));
	return 0;
}

static const JsonMember sighting_members[] = {
	JSON_BDF_AS(Sighting, bdf, "address"),
	JSON_ENUM(Sighting, way, SightingWay, SIGHTING_WAYS, "is none that this version knows"),
	JSON_NUMBER(Sighting, seen_usec, INT64_MAX),
	JSON_TEXT_IF_ANY(Sighting, source),
	JSON_TEXT_IF_ANY(Sighting, domain),
	JSON_PCI_IDS(Sighting),
	JSON_TEXT_IF_ANY(Sighting, uuid),
	JSON_TEXT_IF_ANY(Sighting, vbios),
	JSON_TEXT_IF_ANY(Sighting, board_serial),
	JSON_TEXT_IF_ANY(Sighting, serial_number),
	JSON_ENUM_IF_ANY(Sighting, mig, MigMode, MIG_MODES, "is neither on nor off"),
	JSON_ENUM_IF_ANY(Sighting, mig_pending, MigMode, MIG_MODES, "is neither on nor off"),
	JSON_OTHER("peers", read_peers, write_peers),
	JSON_NUMBER(Sighting, inactive, SIGHTING_LINKS_MAX),
	JSON_NUMBER(Sighting, other, SIGHTING_LINKS_MAX),
	JSON_END,
};

static json_t *sighting_to_json(const Sighting *s)
{
	return json_struct_write(sighting_members, s);
}

void sighting_clear(Sighting *sighting)
{
	json_struct_clear(sighting_members, sighting);
	free(sighting->peers);
	*sighting = (Sighting){ 0 };
}

void sighting_copy(const Sighting *from, Sighting *ret)
{
	SeenPeer *peers = xcalloc(from->n_peers + 1, sizeof(SeenPeer));
	Sighting copy = { 0 };

	json_struct_copy(sighting_members, from, &copy, sizeof(copy));

	copy.peers = peers;
	for (size_t i = 0; i < from->n_peers; i++)
		peers[i] = from->peers[i];
	*ret = copy;
}

json_t *sightings_to_json(const Evidence *evidence)
{
	_cleanup_json_ json_t *array = json_array();

	for (size_t i = 0; evidence && i < evidence->n_items; i++)
		json_append(array, sighting_to_json(&evidence->items[i]));
	return TAKE_PTR(array);
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

static int sighting_check(const Evidence *evidence, const Sighting *s, char **ret_message)
{
	_cleanup_free_ char *what = NULL;

	if (!is_plain(s))
		what = xstrdup("boards.source or an identity is no plain text");
	else if (s->domain && (s->way != WAY_GUEST || !assignment_uuid_valid(s->domain)))
		what = xstrdup("boards.domain is no guest's, or no UUID");
	else if (is_twice(evidence, s))
		what = strf("%s is there twice", BDF_TEXT(&s->bdf));
	else
		return 0;
	if (ret_message)
		*ret_message = TAKE_PTR(what);
	return -EBADMSG;
}

int sightings_from_json(const json_t *array, Evidence **ret, char **ret_message)
{
	_cleanup_(evidence_unrefp) Evidence *evidence = NULL;
	int r = 0;

	evidence_new(&evidence);

	if (!json_is_array(array) || json_array_size(array) > SIGHTINGS_MAX) {
		if (ret_message)
			*ret_message = strf("boards is not an array of at most %d", SIGHTINGS_MAX);
		return -EBADMSG;
	}
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

static const char *schema_of(const Evidence *evidence)
{
	for (size_t i = 0; evidence && i < evidence->n_items; i++)
		if (evidence->items[i].domain)
			return GPUPASS_SCHEMA_EVIDENCE_2;
	return GPUPASS_SCHEMA_EVIDENCE;
}

char *evidence_to_text(const Evidence *evidence)
{
	_cleanup_json_ json_t *o = json_object();

	json_set(o, "schema", json_text(schema_of(evidence)));
	json_set(o, "boards", sightings_to_json(evidence));
	return json_dumps(o, JSON_INDENT(2));
}

int evidence_from_text(const char *text, size_t size, Evidence **ret, char **ret_message)
{
	static const char *const keys[] = { "schema", "boards", NULL };
	_cleanup_json_ json_t *root = NULL;
	JsonReader reader;
	const json_t *boards;
	int r;

	r = json_parse_document(text, size, GPUPASS_SCHEMA_EVIDENCE_2, &root, NULL);
	if (r < 0)
		r = json_parse_document(text, size, GPUPASS_SCHEMA_EVIDENCE, &root, ret_message);
	if (r < 0)
		return r;
	json_reader_begin(&reader, root, NULL, keys);
	boards = json_read_array(&reader, "boards", SIGHTINGS_MAX);
	r = json_reader_end(&reader, ret_message);
	return r < 0 ? r : sightings_from_json(boards, ret, ret_message);
}

static void add_report(const Evidence *evidence, const Sighting *s, const GpuSet *set,
		       const Assignments *assignments, json_t *boards)
{
	_cleanup_json_ json_t *board = sighting_to_json(s);
	_cleanup_free_ char *why = NULL, *model = NULL;
	const Gpu *gpu = gpu_set_find(set, &s->bdf);

	sighting_stale(evidence, s, set, &why);

	if (!why && s->way == WAY_GUEST)
		sighting_guest_over(s, assignments, &why);
	model = gpu ? gpu_model(gpu) : NULL;
	json_set(board, "model", json_string_or_null(model));
	json_set(board, "expected", json_integer(gpu && gpu->board ? gpu->board->links : 0));
	json_set(board, "stale", json_string_or_null(why));
	json_append(boards, TAKE_PTR(board));
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
