/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/bdf.h"
#include "rig/temp-dir.h"
#include "store/evidence.h"

#define A "0000:41:00.0"
#define B "0000:61:00.0"

/* A and B, each with so many links to the other. */
static Evidence *pair(unsigned links)
{
	const Bdf ends[] = { bdf_of(A), bdf_of(B) };
	Evidence *evidence = evidence_new();

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

static void open_store(const TempDir *dir, TopologyStore *store, size_t faults)
{
	topology_store_open(dir->path, store);
	topology_store_load(store);
	assert_int_equal(store->records.faults.n_items, faults);
}

/* Links that the store knows A to have to B. */
static unsigned known(TopologyStore *store, bool *ret_fresh)
{
	_cleanup_(evidence_unrefp) Evidence *evidence = topology_store_get(store);
	const Bdf a = bdf_of(A);
	const Sighting *s = evidence_find_host(evidence, &a);

	*ret_fresh = s && s->fresh;
	return s ? s->peers[0].links : 0;
}

WITH_DIR(what_was_seen_is_known_to_the_next_daemon_as_not_fresh)
{
	_cleanup_(evidence_unrefp) Evidence *seen = pair(4);
	TopologyStore store;
	bool fresh;

	open_store(*state, &store, 0);
	assert_int_equal(known(&store, &fresh), 0);
	assert_int_equal(topology_store_update(&store, seen, true), 0);
	assert_int_equal(known(&store, &fresh), 4);
	assert_true(fresh);
	topology_store_close(&store);

	open_store(*state, &store, 0);
	assert_int_equal(known(&store, &fresh), 4);
	assert_false(fresh);
	topology_store_close(&store);
}

/* It is known for as long as this daemon runs. */
WITH_DIR(what_cannot_be_stored_is_known_all_the_same)
{
	_cleanup_(evidence_unrefp) Evidence *seen = pair(4);
	TopologyStore store;
	bool fresh;

	temp_dir_write(*state, TOPOLOGY_FILE, "{\"schema\":\"org.gpupass1.evidence/9\"}");
	open_store(*state, &store, 1);
	assert_int_equal(topology_store_update(&store, seen, true), -EPROTO);
	assert_int_equal(known(&store, &fresh), 4);
	topology_store_close(&store);
}

/* promise G2 */
/* fault L13 */
WITH_DIR(a_guests_look_stands_beside_the_probe)
{
	PciFunction functions[] = {
		{ .bdf = bdf_of(A), .vendor = PCI_VENDOR_NVIDIA, .device = 0x2230 },
		{ .bdf = bdf_of(B), .vendor = PCI_VENDOR_NVIDIA, .device = 0x2230 },
	};
	Gpu gpus[] = { { .lead = &functions[0], .uuid = (char[]){ "GPU-1" } },
		       { .lead = &functions[1] } };
	const Gpu *const members[] = { &gpus[0], &gpus[1] };
	static const unsigned links[] = { 0, 3, 4, 0 }, inactive[] = { 1, 0 };
	static const unsigned to_itself[] = { 4, 0, 0, 0 }, too_many[] = { 0, 65, 0, 0 };
	static const unsigned more_than_the_board[] = { 0, 5, 4, 0 };
	GuestLook look = { .domain = "vm\n42",
			   .domain_uuid = "22222222-2222-4222-8222-222222222222",
			   .seen_usec = 7,
			   .gpus = members,
			   .n_gpus = 2,
			   .links = links,
			   .inactive = inactive };
	_cleanup_(evidence_unrefp) Evidence *seen = pair(4), *now = NULL;
	TopologyStore store;
	const Sighting *s;
	bool fresh;

	open_store(*state, &store, 0);
	assert_int_equal(topology_store_update(&store, seen, true), 0);
	assert_int_equal(topology_store_note_guest(&store, &look), 0);
	assert_int_equal(known(&store, &fresh), 4);
	now = topology_store_get(&store);
	s = evidence_find_guest(now, &functions[0].bdf);
	assert_string_equal(s->source, "guest vm?42");
	assert_string_equal(s->domain, "22222222-2222-4222-8222-222222222222");
	assert_string_equal(s->uuid, "GPU-1");
	assert_int_equal(s->seen_usec, 7);
	assert_int_equal(s->inactive, 1);
	assert_int_equal(s->peers[0].links, 3);
	assert_int_equal(evidence_find_guest(now, &functions[1].bdf)->peers[0].links, 4);
	look.links = to_itself;
	assert_int_equal(topology_store_note_guest(&store, &look), -EINVAL);
	look.links = too_many;
	assert_int_equal(topology_store_note_guest(&store, &look), -EINVAL);
	/* A guest that claims more than the board has; what was known stays. */
	gpus[0].board = board_find(PCI_VENDOR_NVIDIA, 0x2230, 0);
	look.links = more_than_the_board;
	assert_int_equal(topology_store_note_guest(&store, &look), -EINVAL);
	evidence_unref(now);
	now = topology_store_get(&store);
	assert_int_equal(evidence_find_guest(now, &functions[0].bdf)->peers[0].links, 3);
	topology_store_close(&store);
}
