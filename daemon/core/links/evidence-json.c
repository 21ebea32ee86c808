/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sightings as JSON, in topology.json and in a worker's answer to a probe. */
#include <ctype.h>
#include <string.h>

#include "core/base/json-fields.h"
#include "core/links/evidence.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

static const char *const sighting_keys[] = {
	"address",
	"way",
	"seen_usec",
	"source",
	"vendor",
	"device",
	"subsystem_vendor",
	"subsystem_device",
	"uuid",
	"vbios",
	"board_serial",
	"serial_number",
	"peers",
	"inactive",
	"other",
	NULL,
};

static json_t *peers_to_json(const Sighting *s)
{
	_cleanup_json_ json_t *array = json_array();

	for (size_t i = 0; i < s->n_peers; i++)
		if (json_array_append_new(array, json_pack("{s:s, s:I}", "address",
							   BDF_TEXT(&s->peers[i].bdf), "links",
							   (json_int_t)s->peers[i].links)) < 0)
			return NULL;
	return TAKE_PTR(array);
}

static json_t *sighting_to_json(const Sighting *s)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_set_bdf(o, "address", &s->bdf);
	r |= json_object_set_new(o, "way", json_string(sighting_way_to_string(s->way)));
	r |= json_object_set_new(o, "seen_usec",
				 json_integer((json_int_t)(s->seen_usec & INT64_MAX)));
	r |= json_set_text_if_any(o, "source", s->source);
	r |= json_set_hex(o, "vendor", s->vendor, 4);
	r |= json_set_hex(o, "device", s->device, 4);
	r |= json_set_hex(o, "subsystem_vendor", s->subsystem_vendor, 4);
	r |= json_set_hex(o, "subsystem_device", s->subsystem_device, 4);
	r |= json_set_text_if_any(o, "uuid", s->uuid);
	r |= json_set_text_if_any(o, "vbios", s->vbios);
	r |= json_set_text_if_any(o, "board_serial", s->board_serial);
	r |= json_set_text_if_any(o, "serial_number", s->serial_number);
	r |= json_object_set_new(o, "peers", peers_to_json(s));
	r |= json_object_set_new(o, "inactive", json_integer(s->inactive));
	r |= json_object_set_new(o, "other", json_integer(s->other));
	return r < 0 ? NULL : TAKE_PTR(o);
}

json_t *sightings_to_json(const Evidence *evidence)
{
	_cleanup_json_ json_t *array = json_array();

	for (size_t i = 0; evidence && i < evidence->n_items; i++)
		if (json_array_append_new(array, sighting_to_json(&evidence->items[i])) < 0)
			return NULL;
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
static void read_peers(JsonReader *reader, Sighting *s)
{
	const json_t *array = json_read_array(reader, "peers", SIGHTING_LINKS_MAX);
	size_t n = json_array_size(array), links = s->inactive + s->other;

	s->peers = calloc(n + 1, sizeof(SeenPeer));
	if (!s->peers) {
		reader->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; reader->error == 0 && i < n; i++) {
		SeenPeer *peer = &s->peers[i];

		read_peer(json_array_get(array, i), s, peer, reader);
		for (size_t k = 0; k < i; k++)
			if (bdf_equal(&s->peers[k].bdf, &peer->bdf))
				json_reader_fail(reader, "peers", "names one twice");
		links += peer->links;
		s->n_peers++;
	}
	if (links > SIGHTING_LINKS_MAX)
		json_reader_fail(reader, "peers", "has more links than any board");
}

static void check_texts(JsonReader *reader, const Sighting *s)
{
	const char *const texts[] = { s->source, s->uuid, s->vbios, s->board_serial,
				      s->serial_number };

	for (size_t i = 0; i < ELEMENTS(texts); i++)
		if (texts[i] && !evidence_text_valid(texts[i]))
			json_reader_fail(reader, "source", "or an identity is no plain text");
}

static int sighting_from_json(const json_t *json, Sighting *s, char **ret_message)
{
	_cleanup_free_ char *way = NULL;
	JsonReader reader;

	json_reader_begin(&reader, json, "boards", sighting_keys);
	json_read_bdf(&reader, "address", &s->bdf);
	json_read_text(&reader, "way", &way);
	if (way && sighting_way_from_string(way, &s->way) < 0)
		json_reader_fail(&reader, "way", "is none that this version knows");
	s->seen_usec = json_read_number(&reader, "seen_usec", INT64_MAX);
	json_read_text_if_any(&reader, "source", &s->source);
	s->vendor = (uint16_t)json_read_hex(&reader, "vendor", UINT16_MAX);
	s->device = (uint16_t)json_read_hex(&reader, "device", UINT16_MAX);
	s->subsystem_vendor = (uint16_t)json_read_hex(&reader, "subsystem_vendor", UINT16_MAX);
	s->subsystem_device = (uint16_t)json_read_hex(&reader, "subsystem_device", UINT16_MAX);
	json_read_text_if_any(&reader, "uuid", &s->uuid);
	json_read_text_if_any(&reader, "vbios", &s->vbios);
	json_read_text_if_any(&reader, "board_serial", &s->board_serial);
	json_read_text_if_any(&reader, "serial_number", &s->serial_number);
	s->inactive = (unsigned)json_read_number(&reader, "inactive", SIGHTING_LINKS_MAX);
	s->other = (unsigned)json_read_number(&reader, "other", SIGHTING_LINKS_MAX);
	if (reader.error == 0)
		read_peers(&reader, s);
	check_texts(&reader, s);
	return json_reader_end(&reader, ret_message);
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

int sightings_from_json(const json_t *array, Evidence **ret, char **ret_message)
{
	_cleanup_(evidence_unrefp) Evidence *evidence = NULL;
	int r = evidence_new(&evidence);

	if (r < 0)
		return r;
	if (!json_is_array(array) || json_array_size(array) > SIGHTINGS_MAX) {
		if (ret_message)
			*ret_message = strf("boards is not an array of at most %d", SIGHTINGS_MAX);
		return -EBADMSG;
	}
	for (size_t i = 0; i < json_array_size(array); i++) {
		Sighting s = { 0 };

		r = sighting_from_json(json_array_get(array, i), &s, ret_message);
		if (r >= 0 && is_twice(evidence, &s)) {
			if (ret_message)
				*ret_message = strf("%s is there twice", BDF_TEXT(&s.bdf));
			r = -EBADMSG;
		}
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

char *evidence_to_text(const Evidence *evidence)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_object_set_new(o, "schema", json_string(GPUPASS_SCHEMA_EVIDENCE));
	r |= json_object_set_new(o, "boards", sightings_to_json(evidence));
	return r < 0 ? NULL : json_dumps(o, JSON_INDENT(2));
}

int evidence_from_text(const char *text, size_t size, Evidence **ret, char **ret_message)
{
	static const char *const keys[] = { "schema", "boards", NULL };
	_cleanup_json_ json_t *root = NULL;
	JsonReader reader;
	const json_t *boards;
	int r;

	r = json_parse_document(text, size, GPUPASS_SCHEMA_EVIDENCE, &root, ret_message);
	if (r < 0)
		return r;
	json_reader_begin(&reader, root, NULL, keys);
	boards = json_read_array(&reader, "boards", SIGHTINGS_MAX);
	r = json_reader_end(&reader, ret_message);
	return r < 0 ? r : sightings_from_json(boards, ret, ret_message);
}

static int add_report(const Evidence *evidence, const Sighting *s, const GpuSet *set,
		      json_t *boards)
{
	_cleanup_json_ json_t *board = sighting_to_json(s);
	_cleanup_free_ char *why = NULL, *model = NULL;
	const Gpu *gpu = gpu_set_find(set, &s->bdf);
	int r = sighting_stale(evidence, s, set, &why);

	model = gpu ? gpu_model(gpu) : NULL;
	if (r < 0 || (gpu && !model))
		return -ENOMEM;
	r |= json_object_set_new(board, "model", json_string_or_null(model));
	r |= json_object_set_new(board, "expected",
				 json_integer(gpu && gpu->board ? gpu->board->links : 0));
	r |= json_object_set_new(board, "stale", json_string_or_null(why));
	r |= json_array_append_new(boards, TAKE_PTR(board));
	return r < 0 ? -ENOMEM : 0;
}

char *evidence_report(const Evidence *evidence, const GpuSet *set)
{
	_cleanup_json_ json_t *o = json_object();
	json_t *boards = json_array();
	int r = 0;

	r |= json_object_set_new(o, "schema", json_string(GPUPASS_SCHEMA_EVIDENCE));
	r |= json_object_set_new(o, "boards", boards);
	for (size_t i = 0; r >= 0 && evidence && i < evidence->n_items; i++)
		r = add_report(evidence, &evidence->items[i], set, boards);
	return r < 0 ? NULL : json_dumps(o, JSON_COMPACT);
}
