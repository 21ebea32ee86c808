/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/links/evidence.h"

#include <strings.h>

#include "gpupass/dbus.h"
#include "util/grow.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define TEXT_MAX 64

#include "evidence.inc"

/* What a look of each way makes of links; NONE: it makes none, as a guest's word. */
static const struct {
	Provenance provenance; /* while this daemon saw it; later it is CACHED */
	const char *driver;    /* and while the board has it: off it nothing watches the links */
} ways[WAY_MAX_] = {
	[WAY_PRESENT] = { PROVENANCE_NONE, NULL },
	[WAY_NVML] = { PROVENANCE_PROBED, "nvidia" },
	[WAY_MMIO] = { PROVENANCE_MMIO, NULL },
	[WAY_GUEST] = { PROVENANCE_NONE, NULL },
};

bool sighting_is_look(const Sighting *s)
{
	return ways[s->way].provenance != PROVENANCE_NONE;
}

int evidence_add(Evidence *into, Sighting *sighting)
{
	if (into->n_items >= SIGHTINGS_MAX) {
		sighting_clear(sighting);
		return -E2BIG;
	}
	*GROW(into->items, into->n_items) = *sighting;
	*sighting = (Sighting){ 0 };
	return 0;
}

static const Sighting *evidence_find(const Evidence *evidence, const Bdf *bdf, bool guest)
{
	EACH_IN (const Sighting, s, evidence, items)
		if (bdf_equal(&s->bdf, bdf) && (s->way == WAY_GUEST) == guest)
			return s;
	return NULL;
}

const Sighting *evidence_find_host(const Evidence *evidence, const Bdf *bdf)
{
	const Sighting *s = evidence_find(evidence, bdf, false);

	return s && sighting_is_look(s) ? s : NULL;
}

const Sighting *evidence_find_guest(const Evidence *evidence, const Bdf *bdf)
{
	return evidence_find(evidence, bdf, true);
}

bool evidence_knows(const Evidence *evidence, const Bdf *bdf)
{
	return evidence_find(evidence, bdf, false) || evidence_find(evidence, bdf, true);
}

unsigned sighting_links_to(const Sighting *s, const Bdf *peer)
{
	const SeenPeer *seen = BDF_FIND(s->peers, s->n_peers, peer);

	return seen ? seen->links : 0;
}

void sighting_add_link(Sighting *s, const Bdf *peer)
{
	SeenPeer *seen = BDF_FIND(s->peers, s->n_peers, peer);

	if (seen)
		seen->links++;
	else
		*GROW(s->peers, s->n_peers) = (SeenPeer){ .bdf = *peer, .links = 1 };
}

static int add_copy(Evidence *into, const Sighting *from)
{
	Sighting copy = sighting_copy(from);

	return evidence_add(into, &copy);
}

/* A board that is only known as present adds nothing to an earlier look at it. */
static bool outlives(const Sighting *older, const Sighting *newer)
{
	return newer->way == WAY_PRESENT && PCI_SAME_IDS(older, newer);
}

/* An unknown text on one side is no difference. */
static bool differ(const char *a, const char *b)
{
	return a && b && strcasecmp(a, b) != 0;
}

static bool is_kept(const Sighting *older, const Evidence *newer, bool whole)
{
	const Sighting *replacement = evidence_find(newer, &older->bdf, older->way == WAY_GUEST);
	const Sighting *host = evidence_find(newer, &older->bdf, false);

	/* Drops what a guest reported about a board that the host found to be another one. */
	if (older->way == WAY_GUEST && host &&
	    (!PCI_SAME_IDS(older, host) || differ(older->uuid, host->uuid) ||
	     differ(older->serial_number, host->serial_number)))
		return false;

	if (replacement)
		return outlives(older, replacement);
	return !whole || evidence_find(newer, &older->bdf, false);
}

int evidence_merge(const Evidence *older, const Evidence *newer, bool whole, Evidence **ret)
{
	_cleanup_(evidence_unrefp) Evidence *merged = xcalloc(1, sizeof(Evidence));
	int r = 0;

	for (size_t i = 0; r >= 0 && older && i < older->n_items; i++)
		if (is_kept(&older->items[i], newer, whole))
			r = add_copy(merged, &older->items[i]);
	for (size_t i = 0; r >= 0 && i < newer->n_items; i++) {
		const Sighting *s = &newer->items[i];

		if (!evidence_find(merged, &s->bdf, s->way == WAY_GUEST))
			r = add_copy(merged, s);
	}
	if (r >= 0)
		*ret = TAKE_PTR(merged);
	return r;
}

bool evidence_text_valid(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > TEXT_MAX)
		return false;
	return !SOME_OF(s, n, it < ' ' || it > '~');
}

/* ---- is it still the board that was seen? ---- */

/* The board that a sighting is about; NULL: no GPU has that function as its leading one now. */
static const Gpu *gpu_at(const GpuSet *set, const Bdf *bdf)
{
	const Gpu *gpu = gpu_set_find(set, bdf);

	return gpu && bdf_equal(&gpu->lead->bdf, bdf) ? gpu : NULL;
}

/* What tells that it is another board; NULL: nothing does. */
static char *changed_board(const Sighting *s, const Gpu *gpu)
{
	if (!gpu)
		return strf("%s is not there any more", BDF_TEXT(&s->bdf));
	if (!PCI_SAME_IDS(s, gpu->lead))
		return strf("at %s there was %04x:%04x, subsystem %04x:%04x, and is %04x:%04x, "
			    "subsystem %04x:%04x",
			    BDF_TEXT(&s->bdf), PCI_IDS(s), PCI_IDS(gpu->lead));
	if (differ(s->uuid, gpu->uuid))
		return strf("the board at %s was %s, and is %s", BDF_TEXT(&s->bdf), s->uuid,
			    gpu->uuid);
	if (differ(s->serial_number, gpu->serial_number))
		return strf("the board at %s had the serial number %s, and has %s",
			    BDF_TEXT(&s->bdf), s->serial_number, gpu->serial_number);
	return NULL;
}

/*
 * A board like this one that came after the look: who installed it may have moved a bridge. A board
 * that was there, but could not be looked at, is known as present.
 */
static const Gpu *newcomer(const Evidence *evidence, const Gpu *gpu, const GpuSet *set)
{
	return FIND(set->gpus, set->n_gpus,
		    gpu->board && it->board && strcmp(it->board->name, gpu->board->name) == 0 &&
			    !evidence_knows(evidence, &it->lead->bdf));
}

char *sighting_stale(const Evidence *evidence, const Sighting *s, const GpuSet *set)
{
	const Gpu *gpu = gpu_at(set, &s->bdf), *other;
	char *changed = changed_board(s, gpu);

	if (changed)
		return changed;
	/* A guest sees only its own boards, and says nothing about others. */
	other = s->way == WAY_GUEST ? NULL : newcomer(evidence, gpu, set);
	return other ? strf("%s (%s) came since", BDF_TEXT(&other->lead->bdf), other->board->name)
		     : NULL;
}

char *sighting_guest_over(const Sighting *s, const Assignments *assignments)
{
	const Assignment *record = assignments_find_function(assignments, &s->bdf);

	if (!s->domain)
		return xstrdup("it is not known which domain that guest was");
	if (!record || !str_equal(record->domain_uuid, s->domain))
		return strf("it is the word of %s, which no longer has the board",
			    str_or_empty(s->source));
	if (record->created_usec > s->seen_usec)
		return strf("it is the word of %s from before it got the board again",
			    str_or_empty(s->source));
	return NULL;
}

/*
 * ---- links ----
 *
 * Two boards are linked when both say so, with the same count. If both were looked at and they
 * disagree, that is evidence, too: it makes a doubt. A board whose NVLink was off at the look has
 * nothing to disagree with.
 */

typedef struct Maker {
	Links *into;
	const Evidence *evidence;
	const GpuSet *set;
	bool *stale; /* by index of sighting */
	char ***notes;
} Maker;

static Provenance provenance_of(const Maker *m, const Sighting *s)
{
	const char *driver = gpu_at(m->set, &s->bdf)->lead->driver;

	return s->fresh && (!ways[s->way].driver || str_equal(driver, ways[s->way].driver))
		       ? ways[s->way].provenance
		       : PROVENANCE_CACHED;
}

static char *count_text(unsigned n)
{
	return n == 0 ? xstrdup("no link") : strf("%u link%s", n, n == 1 ? "" : "s");
}

static char *source_text(const Sighting *a, const Sighting *b)
{
	if (str_equal(a->source, b->source))
		return xstrdup(str_or_empty(a->source));
	return strf("%s and %s", str_or_empty(a->source), str_or_empty(b->source));
}

/* "0000:41:00.0 sees 4 links to 0000:61:00.0, which sees no link to it" */
static char *doubt_text(const Sighting *a, const Sighting *b, unsigned ab, unsigned ba)
{
	_cleanup_free_ char *first = count_text(ab), *second = count_text(ba);

	if (ab == 0 && ba == 0)
		return strf("no active link was seen between %s and %s", BDF_TEXT(&a->bdf),
			    BDF_TEXT(&b->bdf));
	return strf("%s sees %s to %s, which sees %s to it", BDF_TEXT(&a->bdf), first,
		    BDF_TEXT(&b->bdf), second);
}

static void finish_link(Maker *m, const Sighting *a, const Sighting *b, Link link)
{
	Provenance x = provenance_of(m, a), y = provenance_of(m, b);
	uint64_t seen_usec = a->seen_usec < b->seen_usec ? a->seen_usec : b->seen_usec;
	_cleanup_free_ char *when = utc_text(seen_usec), *count = count_text(link.count);

	link.provenance = x < y ? x : y;
	link.observed_usec = seen_usec;
	link.source = source_text(a, b);
	if (link.doubt)
		link.reasoning = strf("%s (%s, %s)", link.doubt, link.source, when);
	else
		link.reasoning =
			strf("%s and %s each saw %s to the other (%s, %s)", BDF_TEXT(&a->bdf),
			     BDF_TEXT(&b->bdf), count, link.source, when);
	links_add(m->into, link);
}

/* A bridge could join these boards. Nobody expects links between others. */
static bool could_be_linked(const Maker *m, const Sighting *a, const Sighting *b)
{
	const Gpu *x = gpu_at(m->set, &a->bdf), *y = gpu_at(m->set, &b->bdf);

	if (x->board && y->board)
		return x->board->kind == NVLINK_BRIDGE &&
		       strcmp(x->board->name, y->board->name) == 0;
	return gpu_same_model(x, y);
}

static void note_unused(const Maker *m, const Sighting *s, const char *why)
{
	_cleanup_free_ char *when = utc_text(s->seen_usec);
	_cleanup_free_ char *note =
		strf("links seen at %s are not used: %s; look again: gpupass probe", when, why);

	if (!strv_contains(*m->notes, note))
		strv_append(m->notes, note);
}

/*
 * Why the board could not have shown a link at that look, bridge or not; NULL: it could have. With
 * NVreg_NvLinkDisable=1 NVML has not even links that are down.
 */
static char *nvlink_off(const Maker *m, const Sighting *s)
{
	const Board *board = gpu_at(m->set, &s->bdf)->board;

	if (s->n_peers > 0 || s->other > 0)
		return NULL;
	if (s->mig == MIG_ON)
		return strf("%s was in MIG mode, in which NVLink is off (nvidia-smi -i %s -mig 0)",
			    BDF_TEXT(&s->bdf), BDF_TEXT(&s->bdf));
	if (s->inactive == 0 && board && board->kind == NVLINK_BRIDGE)
		return strf("the driver offered no NVLink of %s (NVreg_NvLinkDisable=1 turns it "
			    "off)",
			    BDF_TEXT(&s->bdf));
	return NULL;
}

static void add_pair(Maker *m, const Sighting *a, const Sighting *b)
{
	unsigned ab = sighting_links_to(a, &b->bdf), ba = sighting_links_to(b, &a->bdf);
	bool ordered = bdf_compare(&a->bdf, &b->bdf) < 0;
	_cleanup_free_ char *a_off = nvlink_off(m, a), *b_off = nvlink_off(m, b);
	Link link = {
		.a = ordered ? a->bdf : b->bdf,
		.b = ordered ? b->bdf : a->bdf,
		.count = ab == ba ? ab : 0,
		.one_sided = ab != ba,
		.half = a_off || b_off,
	};

	if (ab == 0 && ba == 0 && !could_be_linked(m, a, b))
		return;
	if (a_off)
		note_unused(m, a, a_off);
	if (b_off)
		note_unused(m, b, b_off);
	if (ab == 0 && ba == 0 && link.half)
		return;
	/* Names the board that sees more links first. */
	if (link.count == 0)
		link.doubt = ab >= ba ? doubt_text(a, b, ab, ba) : doubt_text(b, a, ba, ab);
	finish_link(m, a, b, link);
}

/* Adds what a board reports about a peer that was not looked at. */
static void add_one_sided(Maker *m, const Sighting *s, const SeenPeer *peer)
{
	const Gpu *gpu = gpu_set_find(m->set, &peer->bdf);
	bool ordered = bdf_compare(&s->bdf, &peer->bdf) < 0;
	_cleanup_free_ char *count = count_text(peer->links);
	Link link = {
		.a = ordered ? s->bdf : peer->bdf,
		.b = ordered ? peer->bdf : s->bdf,
		.one_sided = true,
		.doubt = strf("%s sees %s to %s, which %s", BDF_TEXT(&s->bdf), count,
			      BDF_TEXT(&peer->bdf),
			      gpu ? "was not looked at" : "is no GPU of this host"),
		.half = gpu != NULL,
	};

	finish_link(m, s, s, link);
}

static bool is_usable(const Maker *m, const Sighting *s)
{
	return sighting_is_look(s) && !m->stale[s - m->evidence->items];
}

static void add_links_of(Maker *m, size_t i)
{
	const Sighting *s = &m->evidence->items[i];

	for (size_t k = i + 1; k < m->evidence->n_items; k++) {
		const Sighting *other = &m->evidence->items[k];

		if (is_usable(m, other) && !bdf_equal(&s->bdf, &other->bdf))
			add_pair(m, s, other);
	}
	/* If the peer is another board now, the report means nothing. */
	for (size_t k = 0; k < s->n_peers; k++)
		if (!evidence_find_host(m->evidence, &s->peers[k].bdf))
			add_one_sided(m, s, &s->peers[k]);
}

static void find_stale(Maker *m)
{
	for (size_t i = 0; i < m->evidence->n_items; i++) {
		const Sighting *s = &m->evidence->items[i];
		_cleanup_free_ char *why =
			sighting_is_look(s) ? sighting_stale(m->evidence, s, m->set) : NULL;

		if (why)
			note_unused(m, s, why);
		m->stale[i] = why != NULL;
	}
}

void links_from_evidence(Links *into, const Evidence *evidence, const GpuSet *set, char ***notes)
{
	_cleanup_free_ bool *stale = NULL;
	Maker m = { .into = into, .evidence = evidence, .set = set, .notes = notes };

	if (!evidence)
		return;
	stale = xcalloc(evidence->n_items, sizeof(bool));
	m.stale = stale;
	find_stale(&m);
	for (size_t i = 0; i < evidence->n_items; i++)
		if (is_usable(&m, &evidence->items[i]))
			add_links_of(&m, i);
}

/* ---- as JSON, in topology.json and in a worker's answer to a probe ---- */

json_t *sightings_to_json(const Evidence *evidence)
{
	return JSON_ARRAY(evidence->items, evidence ? evidence->n_items : 0,
			  json_struct_write(sighting_members, it));
}

static bool is_plain(const Sighting *s)
{
	const char *const texts[] = { s->source, s->uuid, s->vbios, s->board_serial,
				      s->serial_number };

	return !SOME_OF(texts, ELEMENTS(texts), it && !evidence_text_valid(it));
}

/* A board has so many links at most, and each leads to one peer. */
static int check_peers(const Sighting *s, char **ret_message)
{
	size_t links = s->inactive + s->other;

	for (size_t i = 0; i < s->n_peers; i++) {
		const SeenPeer *peer = &s->peers[i];

		if (peer->links == 0 || bdf_equal(&peer->bdf, &s->bdf))
			return json_refuse(ret_message, "boards.peers has one that is no peer");
		if (BDF_FIND(s->peers, i, &peer->bdf))
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
	/* Two sightings of one board in one layer would count twice. */
	if (evidence_find(evidence, &s->bdf, s->way == WAY_GUEST))
		return json_refuse(ret_message, "%s is there twice", BDF_TEXT(&s->bdf));
	return check_peers(s, ret_message);
}

int sightings_from_json(const json_t *array, Evidence **ret, char **ret_message)
{
	_cleanup_(evidence_unrefp) Evidence *evidence = xcalloc(1, sizeof(Evidence));
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
		[RECORD_NEWER] = RECORD_NEWER_REMEDY "; or remove the file, "
				 "then: gpupass probe",
		[RECORD_DAMAGED] = PROBE,
		[RECORD_UNREAD] = PROBE,
	},
};

static void add_report(const Evidence *evidence, const Sighting *s, const GpuSet *set,
		       const Assignments *assignments, json_t *boards)
{
	json_t *board = json_struct_write(sighting_members, s);
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
