/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evidence: counting references, finding, merging. */
#include "core/links/evidence.h"

#include <string.h>
#include <strings.h>

#include "util/grow.h"
#include "util/text.h"

#define TEXT_MAX 64

DEFINE_STRING_TABLE(sighting_way, SightingWay, SIGHTING_WAYS)

#include "evidence.inc"

Evidence *evidence_new(void)
{
	Evidence *evidence = xcalloc(1, sizeof(Evidence));

	atomic_init(&evidence->references, 1);
	return evidence;
}

Evidence *evidence_ref(Evidence *evidence)
{
	if (evidence)
		atomic_fetch_add_explicit(&evidence->references, 1, memory_order_relaxed);
	return evidence;
}

Evidence *evidence_unref(Evidence *evidence)
{
	if (!evidence ||
	    atomic_fetch_sub_explicit(&evidence->references, 1, memory_order_acq_rel) > 1)
		return NULL;
	for (size_t i = 0; i < evidence->n_items; i++)
		sighting_clear(&evidence->items[i]);
	free(evidence->items);
	free(evidence);
	return NULL;
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
	for (size_t i = 0; evidence && i < evidence->n_items; i++) {
		const Sighting *s = &evidence->items[i];

		if (bdf_equal(&s->bdf, bdf) && (s->way == WAY_GUEST) == guest)
			return s;
	}
	return NULL;
}

const Sighting *evidence_find_host(const Evidence *evidence, const Bdf *bdf)
{
	const Sighting *s = evidence_find(evidence, bdf, false);

	return s && s->way != WAY_PRESENT ? s : NULL;
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
	for (size_t i = 0; i < s->n_peers; i++)
		if (bdf_equal(&s->peers[i].bdf, peer))
			return s->peers[i].links;
	return 0;
}

void sighting_add_link(Sighting *s, const Bdf *peer)
{
	for (size_t i = 0; i < s->n_peers; i++)
		if (bdf_equal(&s->peers[i].bdf, peer)) {
			s->peers[i].links++;
			return;
		}
	*GROW(s->peers, s->n_peers) = (SeenPeer){ .bdf = *peer, .links = 1 };
}

static int add_copy(Evidence *into, const Sighting *from)
{
	Sighting copy = sighting_copy(from);

	return evidence_add(into, &copy);
}

static bool same_ids(const Sighting *a, const Sighting *b)
{
	return a->vendor == b->vendor && a->device == b->device &&
	       a->subsystem_vendor == b->subsystem_vendor &&
	       a->subsystem_device == b->subsystem_device;
}

/* A board that is only known as present adds nothing to an earlier look at it. */
static bool outlives(const Sighting *older, const Sighting *newer)
{
	return newer->way == WAY_PRESENT && same_ids(older, newer);
}

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
	    (!same_ids(older, host) || differ(older->uuid, host->uuid) ||
	     differ(older->serial_number, host->serial_number)))
		return false;

	if (replacement)
		return outlives(older, replacement);
	return !whole || evidence_find(newer, &older->bdf, false);
}

int evidence_merge(const Evidence *older, const Evidence *newer, bool whole, Evidence **ret)
{
	_cleanup_(evidence_unrefp) Evidence *merged = evidence_new();
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
	for (size_t i = 0; i < n; i++)
		if (s[i] < ' ' || s[i] > '~')
			return false;
	return true;
}
