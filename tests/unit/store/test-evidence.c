/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/bdf.h"
#include "rig/stores.h"
#include "rig/temp-dir.h"
#include "util/xalloc.h"

#define A "0000:41:00.0"
#define B "0000:61:00.0"

/* A and B, each with so many links to the other. */
static Evidence *pair(unsigned links)
{
	const Bdf ends[] = { bdf_of(A), bdf_of(B) };
	Evidence *evidence = xcalloc(1, sizeof(Evidence));

	for (size_t i = 0; i < 2; i++) {
		Sighting s = { .bdf = ends[i],
			       .way = WAY_NVML,
			       .seen_usec = 1,
			       .source = strdup("NVML 550"),
			       .peers = calloc(1, sizeof(SeenPeer)),
			       .n_peers = 1,
			       .fresh = true };

		assert_non_null(s.peers);
		s.peers[0] = (SeenPeer){ .bdf = ends[1 - i], .links = links };
		assert_int_equal(evidence_add(evidence, &s), 0);
	}
	return evidence;
}

/* Of the test that runs. */
static TopologyStore store;

static void open_store(const TempDir *dir, size_t faults)
{
	topology_store_open(dir->path, &store);
	topology_store_load(&store);
	assert_int_equal(store.records.faults.n_items, faults);
}

/* The links that the store knows A to have to B. */
static void expect_known(unsigned links, bool fresh)
{
	_cleanup_(evidence_unrefp) Evidence *evidence = topology_store_get(&store);
	const Bdf a = bdf_of(A);
	const Sighting *s = evidence_find_host(evidence, &a);

	assert_int_equal(s ? s->peers[0].links : 0, links);
	assert_int_equal(s && s->fresh, fresh);
}

WITH_DIR(what_was_seen_is_known_to_the_next_daemon_as_not_fresh)
{
	_cleanup_(evidence_unrefp) Evidence *seen = pair(4);

	open_store(dir, 0);
	expect_known(0, false);
	assert_int_equal(topology_store_update(&store, seen, true), 0);
	expect_known(4, true);
	topology_store_close(&store);
	open_store(dir, 0);
	expect_known(4, false);
	topology_store_close(&store);
}

/* It is known for as long as this daemon runs. */
WITH_DIR(what_cannot_be_stored_is_known_all_the_same)
{
	_cleanup_(evidence_unrefp) Evidence *seen = pair(4);

	temp_dir_write(dir, TOPOLOGY_FILE, "{\"schema\":\"org.gpupass1.evidence/9\"}");
	open_store(dir, 1);
	assert_int_equal(topology_store_update(&store, seen, true), -EPROTO);
	expect_known(4, true);
	topology_store_close(&store);
}

/* promise G2 */
/* fault L13 */
WITH_DIR(a_guests_look_stands_beside_the_probe)
{
	_cleanup_(evidence_unrefp) Evidence *seen = pair(4), *told = pair(3), *now = NULL;
	const Bdf a = bdf_of(A);

	for (size_t i = 0; i < told->n_items; i++)
		told->items[i].way = WAY_GUEST;
	open_store(dir, 0);
	assert_int_equal(topology_store_update(&store, seen, true), 0);
	assert_int_equal(topology_store_update(&store, told, false), 0);
	expect_known(4, true);
	now = topology_store_get(&store);
	assert_int_equal(evidence_find_guest(now, &a)->peers[0].links, 3);
	topology_store_close(&store);
}
