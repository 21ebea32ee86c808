/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/evidence.h"

#include <errno.h>

#include "util/text.h"
#include "util/xalloc.h"

void topology_store_open(const char *state_directory, TopologyStore *ret)
{
	ret->current = NULL;
	records_open(&ret->records, &evidence_kind, state_directory);
}

void topology_store_close(TopologyStore *store)
{
	store->current = evidence_unref(store->current);
	records_close(&store->records);
}

static void take(void *into, _unused_ const char *name, void *evidence)
{
	TopologyStore *store = into;

	store->current = evidence;
}

void topology_store_load(TopologyStore *store)
{
	MUTEX_HOLD(&store->records.lock);

	store->current = evidence_unref(store->current);
	records_load(&store->records, take, store);
}

Evidence *topology_store_get(TopologyStore *store)
{
	MUTEX_HOLD(&store->records.lock);

	return evidence_ref(store->current);
}

int topology_store_update(TopologyStore *store, const Evidence *seen, bool whole)
{
	Evidence *merged = NULL;
	int r;
	MUTEX_HOLD(&store->records.lock);

	r = evidence_merge(store->current, seen, whole, &merged);
	if (r >= 0) {
		evidence_unref(store->current);
		store->current = merged;
		r = records_replace(&store->records, TOPOLOGY_FILE, evidence_document(merged));
	}
	return r;
}

/* Any number for a board that is not in the catalogue, or whose number of links is not known. */
static unsigned most_links(const Board *board)
{
	return !board || (board->kind == NVLINK_BRIDGE && board->links == 0) ? SIGHTING_LINKS_MAX
									     : board->links;
}

static int sighting_of(const GuestLook *look, size_t i, Sighting *s)
{
	const Gpu *gpu = look->gpus[i];
	/* A domain's name may have any bytes. Here it is only shown. */
	_cleanup_free_ char *source = strf("guest %.50s", look->domain);
	unsigned most = most_links(gpu->board), all = 0;

	*s = (Sighting){
		.bdf = gpu->lead->bdf,
		.way = WAY_GUEST,
		.seen_usec = look->seen_usec,
		.source = str_printable(source),
		.domain = xstrdup(look->domain_uuid),
		.uuid = xstrdup(gpu->uuid),
		.serial_number = xstrdup(gpu->serial_number),
		.vendor = gpu->lead->vendor,
		.device = gpu->lead->device,
		.subsystem_vendor = gpu->lead->subsystem_vendor,
		.subsystem_device = gpu->lead->subsystem_device,
		.peers = xcalloc(look->n_gpus + 1, sizeof(SeenPeer)),
		.inactive = look->inactive ? look->inactive[i] : 0,
		.fresh = true,
	};
	for (size_t k = 0; k < look->n_gpus; k++) {
		unsigned links = look->links[i * look->n_gpus + k];

		all += links < SIGHTING_LINKS_MAX ? links : SIGHTING_LINKS_MAX + 1;
		if (all > most || (k == i && links > 0))
			return -EINVAL;
		if (links > 0)
			s->peers[s->n_peers++] =
				(SeenPeer){ .bdf = look->gpus[k]->lead->bdf, .links = links };
	}
	return 0;
}

int topology_store_note_guest(TopologyStore *store, const GuestLook *look)
{
	_cleanup_(evidence_unrefp) Evidence *seen = NULL;
	int r = 0;

	seen = evidence_new();
	for (size_t i = 0; r >= 0 && i < look->n_gpus; i++) {
		Sighting s = { 0 };

		r = sighting_of(look, i, &s);
		if (r >= 0)
			r = evidence_add(seen, &s);
		else
			sighting_clear(&s);
	}
	return r < 0 ? r : topology_store_update(store, seen, false);
}
