/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/evidence.h"

void topology_store_open(const char *state_directory, TopologyStore *ret)
{
	ret->current = NULL;
	records_open(&ret->records, &evidence_kind, state_directory);
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
