/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From sightings to links. Two boards are linked when both say so, with the same count. If both
 * were looked at and they disagree, that is evidence, too: it makes a doubt.
 */
#include <string.h>
#include <strings.h>

#include "core/links/evidence.h"
#include "util/text.h"
#include "util/xalloc.h"

/* ---- is it still the board that was seen? ---- */

/* The board that a sighting is about; NULL: no GPU has that function as its leading one now. */
static const Gpu *gpu_at(const GpuSet *set, const Bdf *bdf)
{
	const Gpu *gpu = gpu_set_find(set, bdf);

	return gpu && bdf_equal(&gpu->lead->bdf, bdf) ? gpu : NULL;
}

static bool has_ids(const Sighting *s, const Gpu *gpu)
{
	return s->vendor == gpu->lead->vendor && s->device == gpu->lead->device &&
	       s->subsystem_vendor == gpu->lead->subsystem_vendor &&
	       s->subsystem_device == gpu->lead->subsystem_device;
}

/* An unknown text on one side is no difference. */
static bool differ(const char *a, const char *b)
{
	return a && b && strcasecmp(a, b) != 0;
}

static char *changed_board(const Sighting *s, const Gpu *gpu)
{
	if (!gpu)
		return strf("%s is not there any more", BDF_TEXT(&s->bdf));
	if (!has_ids(s, gpu))
		return strf("at %s there was %04x:%04x, subsystem %04x:%04x, and is %04x:%04x, "
			    "subsystem %04x:%04x",
			    BDF_TEXT(&s->bdf), s->vendor, s->device, s->subsystem_vendor,
			    s->subsystem_device, gpu->lead->vendor, gpu->lead->device,
			    gpu->lead->subsystem_vendor, gpu->lead->subsystem_device);
	if (differ(s->uuid, gpu->uuid))
		return strf("the board at %s was %s, and is %s", BDF_TEXT(&s->bdf), s->uuid,
			    gpu->uuid);
	return strf("the board at %s had the serial number %s, and has %s", BDF_TEXT(&s->bdf),
		    s->serial_number, gpu->serial_number);
}

static bool is_changed(const Sighting *s, const Gpu *gpu)
{
	return !gpu || !has_ids(s, gpu) || differ(s->uuid, gpu->uuid) ||
	       differ(s->serial_number, gpu->serial_number);
}

/*
 * A board like this one that came after the look: who installed it may have moved a bridge. A board
 * that was there, but could not be looked at, is known as present.
 */
static const Gpu *newcomer(const Evidence *evidence, const Gpu *gpu, const GpuSet *set)
{
	for (size_t i = 0; i < set->n_gpus; i++) {
		const Gpu *other = &set->gpus[i];

		if (gpu->board && other->board &&
		    strcmp(other->board->name, gpu->board->name) == 0 &&
		    !evidence_knows(evidence, &other->lead->bdf))
			return other;
	}
	return NULL;
}

char *sighting_stale(const Evidence *evidence, const Sighting *s, const GpuSet *set)
{
	const Gpu *gpu = gpu_at(set, &s->bdf), *other;

	if (is_changed(s, gpu))
		return changed_board(s, gpu);
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

/* ---- links ---- */

typedef struct Maker {
	Links *into;
	const Evidence *evidence;
	const GpuSet *set;
	bool *stale; /* by index of sighting */
} Maker;

static Provenance provenance_of(const Maker *m, const Sighting *s)
{
	const Gpu *gpu = gpu_at(m->set, &s->bdf);

	if (!s->fresh)
		return PROVENANCE_CACHED;
	switch (s->way) {
	case WAY_NVML:
		/* Off its driver, nothing watches the links any more. */
		return str_equal(gpu->lead->driver, "nvidia") ? PROVENANCE_PROBED
							      : PROVENANCE_CACHED;
	case WAY_MMIO:
		return PROVENANCE_MMIO;
	case WAY_GUEST: /* makes no link */
	case WAY_PRESENT:
	case WAY_MAX_:
		break;
	}
	return PROVENANCE_NONE;
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

static void add_pair(Maker *m, const Sighting *a, const Sighting *b)
{
	unsigned ab = sighting_links_to(a, &b->bdf), ba = sighting_links_to(b, &a->bdf);
	bool ordered = bdf_compare(&a->bdf, &b->bdf) < 0;
	Link link = {
		.a = ordered ? a->bdf : b->bdf,
		.b = ordered ? b->bdf : a->bdf,
		.count = ab == ba ? ab : 0,
		.one_sided = ab != ba,
	};

	if (ab == 0 && ba == 0 && !could_be_linked(m, a, b))
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

/* Whether the host looked. A guest reports what it likes, so its word makes and breaks no link. */
static bool is_look(const Sighting *s)
{
	return s->way != WAY_PRESENT && s->way != WAY_GUEST;
}

static bool is_usable(const Maker *m, const Sighting *s)
{
	return is_look(s) && !m->stale[s - m->evidence->items];
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

static void note_stale(const Sighting *s, const char *why, char ***notes)
{
	_cleanup_free_ char *when = utc_text(s->seen_usec);
	_cleanup_free_ char *note =
		strf("links seen at %s are not used: %s; look again: gpupass probe", when, why);

	if (!strv_contains(*notes, note))
		strv_append(notes, note);
}

static void find_stale(Maker *m, char ***notes)
{
	for (size_t i = 0; i < m->evidence->n_items; i++) {
		const Sighting *s = &m->evidence->items[i];
		_cleanup_free_ char *why =
			is_look(s) ? sighting_stale(m->evidence, s, m->set) : NULL;

		if (why)
			note_stale(s, why, notes);
		m->stale[i] = why != NULL;
	}
}

void links_from_evidence(Links *into, const Evidence *evidence, const GpuSet *set, char ***notes)
{
	_cleanup_free_ bool *stale = NULL;
	Maker m = { .into = into, .evidence = evidence, .set = set };

	if (!evidence)
		return;
	stale = xcalloc(evidence->n_items, sizeof(bool));
	m.stale = stale;
	find_stale(&m, notes);
	for (size_t i = 0; i < evidence->n_items; i++)
		if (is_usable(&m, &evidence->items[i]))
			add_links_of(&m, i);
}
