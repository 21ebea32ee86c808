/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was seen of the links makes groups, or speaks against them. */
#include "rig/test.h"

#include "rig/evidence-model.h"

static const Row rows[] = {
	{ .name = "two pairs of one model, not beside each other",
	  .boards = FOUR(A6000),
	  .seen = { "41 nvml@100 a1x4", "61 nvml@100 c1x4", "a1 nvml@100 41x4",
		    "c1 nvml@100 61x4" },
	  .groups = "pair0 free probed NV4 41,a1; pair1 free probed NV4 61,c1",
	  .reason = "0000:41:00.0 and 0000:a1:00.0 each saw 4 links to the other (NVML 550, "
		    "1970-01-01 00:01:40 UTC)" },
	{ .name = "seen by a daemon before this one",
	  .boards = TWO(A6000),
	  .seen = { "41 nvml@100 61x4 stored", "61 nvml@100 41x4 stored" },
	  .groups = "pair0 free cached NV4 41,61" },
	{ .name = "on vfio-pci since",
	  .boards = { { "41", A6000, "vfio-pci", NULL, NULL },
		      { "61", A6000, "vfio-pci", NULL, NULL } },
	  .seen = { "41 nvml@100 61x4", "61 nvml@100 41x4" },
	  .groups = "pair0 bound cached NV4 41,61" },
	{ .name = "link registers",
	  .boards = { { "41", 0x2331, "vfio-pci", NULL, NULL },
		      { "61", 0x2331, "vfio-pci", NULL, NULL } },
	  .seen = { "41 mmio@100 61x12", "61 mmio@100 41x12" },
	  .groups = "pair0 bound mmio NV12 41,61" },
	{ .name = "four on one bridge",
	  .boards = FOUR(H200),
	  .seen = { "41 nvml@1 61x6 a1x6 c1x6", "61 nvml@1 41x6 a1x6 c1x6",
		    "a1 nvml@1 41x6 61x6 c1x6", "c1 nvml@1 41x6 61x6 a1x6" },
	  .groups = "quad0 free probed NV6 41,61,a1,c1" },
	{ .name = "two on a bridge of eighteen",
	  .boards = TWO(H200),
	  .seen = { "41 nvml@1 61x18", "61 nvml@1 41x18" },
	  .groups = "pair0 free probed NV18 41,61" },
	/* fault L4 */
	{ .name = "one of four is not seated",
	  .boards = FOUR(H200),
	  .seen = { "41 nvml@1 61x6 a1x6", "61 nvml@1 41x6 a1x6", "a1 nvml@1 41x6 61x6",
		    "c1 nvml@1" },
	  .groups = "group0 degraded probed NV6 41,61,a1; unknown0 unknown none ? c1",
	  .reason = "0000:41:00.0 has 12 of its 18 NVLinks to members" },
	{ .name = "two of four do not see each other",
	  .boards = FOUR(H200),
	  .seen = { "41 nvml@1 61x6 a1x6", "61 nvml@1 41x6 a1x6 c1x6", "a1 nvml@1 41x6 61x6 c1x6",
		    "c1 nvml@1 61x6 a1x6" },
	  .groups = "quad0 degraded probed NV6 41,61,a1,c1",
	  .reason = "no active link was seen between 0000:41:00.0 and 0000:c1:00.0" },
	/* fault L2 */
	{ .name = "a broken bridge: one sees the other, which sees nobody",
	  .boards = TWO(A6000),
	  .seen = { "41 nvml@1 61x4", "61 nvml@1" },
	  .groups = "unknown0 unknown none ? 41,61",
	  .reason = "0000:41:00.0 sees 4 links to 0000:61:00.0, which sees no link to it" },
	/* fault L2 */
	{ .name = "a broken bridge that is declared",
	  .boards = TWO(A6000),
	  .declared = "41 61",
	  .seen = { "41 nvml@1", "61 nvml@1 41x4" },
	  .groups = "x degraded declared NV4? 41,61",
	  .reason = "0000:61:00.0 sees 4 links to 0000:41:00.0, which sees no link to it (probed, "
		    "NVML 550, 1970-01-01 00:00:01 UTC), but they are declared together in "
		    "groups.d/test.conf:1" },
	{ .name = "not the same number both ways",
	  .boards = TWO(A6000),
	  .seen = { "41 nvml@1 61x3", "61 nvml@1 41x4" },
	  .groups = "unknown0 unknown none ? 41,61",
	  .reason = "0000:61:00.0 sees 4 links to 0000:41:00.0, which sees 3 links to it" },
	/* fault L3 */
	{ .name = "half seated",
	  .boards = TWO(A6000),
	  .seen = { "41 nvml@1 61x2", "61 nvml@1 41x2" },
	  .groups = "pair0 degraded probed NV2 41,61",
	  .reason = "2 of 4 NVLinks are active" },
	{ .name = "no bridge: the only two are not inferred to be a pair",
	  .boards = TWO(A6000),
	  .seen = { "41 nvml@1", "61 nvml@1" },
	  .groups = "unknown0 unknown none ? 41,61",
	  .reason = "no active link was seen between 0000:41:00.0 and 0000:61:00.0 (NVML 550" },
	{ .name = "declared, and nothing is there",
	  .boards = TWO(A6000),
	  .declared = "41 61",
	  .seen = { "41 nvml@1", "61 nvml@1" },
	  .groups = "x degraded declared NV4? 41,61",
	  .reason = "no active link was seen between 0000:41:00.0 and 0000:61:00.0" },
	{ .name = "declared and seen",
	  .boards = TWO(A6000),
	  .declared = "41 61",
	  .seen = { "41 nvml@1 61x4", "61 nvml@1 41x4" },
	  .groups = "x free declared NV4 41,61" },
	/* fault L1 */
	{ .name = "the probe names another peer than the declaration",
	  .boards = FOUR(A6000),
	  .declared = "41 61",
	  .seen = { "41 nvml@1 a1x4", "61 nvml@1 c1x4", "a1 nvml@1 41x4", "c1 nvml@1 61x4" },
	  .groups = "unknown0 unknown none ? a1,c1; x degraded declared NV4? 41,61" },
	{ .name = "a peer that is no GPU of this host",
	  .boards = TWO(A6000),
	  .declared = "41 61",
	  .seen = { "41 nvml@1 99x4", "61 nvml@1" },
	  .groups = "x degraded declared NV4? 41,61",
	  .reason = "0000:41:00.0 sees 4 links to 0000:99:00.0, which is no GPU of this host" },
	{ .name = "a later look names one of an earlier pair",
	  .boards = FOUR(A6000),
	  .seen = { "41 nvml@1 61x4", "61 nvml@1 41x4", "a1 nvml@9 41x4", "c1 nvml@9" },
	  .groups = "pair0 degraded probed NV4 41,61; unknown0 unknown none ? a1,c1",
	  .reason = "0000:a1:00.0 sees 4 links to 0000:41:00.0, which sees no link to it (probed, "
		    "NVML 550, 1970-01-01 00:00:01 UTC), but 0000:41:00.0 is linked to "
		    "0000:61:00.0" },
	{ .name = "mixed models",
	  .boards = { { .bus = "41", .device = A40 },
		      { .bus = "61", .device = A6000 },
		      { .bus = "a1", .device = A40 },
		      { .bus = "c1", .device = A6000 } },
	  .seen = { "41 nvml@1 a1x4 device=2235", "61 nvml@1 c1x4", "a1 nvml@1 41x4 device=2235",
		    "c1 nvml@1 61x4" },
	  .groups = "pair0 free probed NV4 41,a1; pair1 free probed NV4 61,c1" },
	/* fault L5 */
	{ .name = "a board was swapped, by its UUID: its links alone are not used",
	  .boards = { { "41", A6000, NULL, "GPU-new", NULL },
		      { .bus = "61", .device = A6000 },
		      { .bus = "a1", .device = A6000 },
		      { .bus = "c1", .device = A6000 } },
	  .seen = { "41 nvml@1 61x4 uuid=GPU-old stored", "61 nvml@1 41x4 stored",
		    "a1 nvml@1 c1x4 stored", "c1 nvml@1 a1x4 stored" },
	  .groups = "pair0 free cached NV4 a1,c1; unknown0 unknown none ? 41,61",
	  .note = "the board at 0000:41:00.0 was GPU-old, and is GPU-new" },
	/* fault L5 */
	{ .name = "a board was swapped, by its serial number",
	  .boards = { { "41", H200, "vfio-pci", NULL, "48-b0-2d-00-00-00-00-22" },
		      { "61", H200, "vfio-pci", NULL, NULL } },
	  .seen = { "41 nvml@1 61x18 serial=48-b0-2d-00-00-00-00-19 stored",
		    "61 nvml@1 41x18 stored" },
	  .groups = "pair0 inferred inferred NV18? 41,61",
	  .note = "had the serial number 48-b0-2d-00-00-00-00-19, and has 48-b0-2d-00-00-00-00-22" },
	{ .name = "a board of another model is there now",
	  .boards = { { .bus = "41", .device = A40 }, { .bus = "61", .device = A6000 } },
	  .seen = { "41 nvml@1 61x4 stored", "61 nvml@1 41x4 stored" },
	  .groups = "unknown0 unknown none ? 41; unknown1 unknown none ? 61",
	  .note = "at 0000:41:00.0 there was 10de:2230, subsystem 10de:1459, and is 10de:2235" },
	{ .name = "a board is gone",
	  .boards = { { .bus = "41", .device = A6000 } },
	  .seen = { "41 nvml@1 61x4 stored", "61 nvml@1 41x4 stored" },
	  .groups = "unknown0 unknown none ? 41",
	  .note = "0000:61:00.0 is not there any more" },
	/* fault L6 */
	{ .name = "a board like these came since",
	  .boards = { { .bus = "41", .device = A6000 },
		      { .bus = "61", .device = A6000 },
		      { .bus = "a1", .device = A6000 },
		      { .bus = "c1", .device = A40 } },
	  .seen = { "41 nvml@100 61x4 stored", "61 nvml@100 41x4 stored" },
	  .groups = "unknown0 unknown none ? 41,61,a1; unknown1 unknown none ? c1",
	  .note = "links seen at 1970-01-01 00:01:40 UTC are not used: 0000:a1:00.0 (RTX A6000) came "
		  "since; look again: gpupass probe" },
	{ .name = "a board was there and could not be looked at",
	  .boards = { { .bus = "41", .device = A6000 },
		      { .bus = "61", .device = A6000 },
		      { "a1", A6000, "vfio-pci", NULL, NULL } },
	  .seen = { "41 nvml@100 61x4", "61 nvml@100 41x4", "a1 present@100" },
	  .groups = "pair0 free probed NV4 41,61; unknown0 unknown none ? a1" },
	{ .name = "a peer that could not be looked at",
	  .boards = { { .bus = "41", .device = A6000 }, { "61", A6000, "vfio-pci", NULL, NULL } },
	  .seen = { "41 nvml@100 61x4", "61 present@100" },
	  .groups = "unknown0 unknown none ? 41,61",
	  .reason = "0000:41:00.0 sees 4 links to 0000:61:00.0, which was not looked at" },
	/* field: newcomer/1 */
	{ .name = "a peer that could not be looked at, as it is declared",
	  .boards = { { "41", A6000, "vfio-pci", NULL, NULL },
		      { "61", A6000, "vfio-pci", NULL, NULL } },
	  .declared = "41 61",
	  .seen = { "41 nvml@100 61x4", "61 present@100" },
	  .groups = "x bound declared NV4? 41,61" },
	{ .name = "a peer that could not be looked at, and is declared with another",
	  .boards = { { .bus = "41", .device = A6000 },
		      { "61", A6000, "vfio-pci", NULL, NULL },
		      { "a1", A6000, "vfio-pci", NULL, NULL } },
	  .declared = "41 a1",
	  .seen = { "41 nvml@100 61x4", "61 present@100", "a1 present@100" },
	  .groups = "unknown0 unknown none ? 61; x degraded declared NV4? 41,a1" },
	/* promise G6 */
	/* Nobody has it by a record here, so that guest is gone. */
	{ .name = "a guest that is gone saw fewer links than the probe",
	  .boards = { { "41", A6000, "vfio-pci", NULL, NULL },
		      { "61", A6000, "vfio-pci", NULL, NULL } },
	  .seen = { "41 nvml@1 61x4", "61 nvml@1 41x4", "41 guest@9 61x2 domain=1",
		    "61 guest@9 41x2 domain=1" },
	  .groups = "pair0 bound cached NV4 41,61" },
	{ .name = "a guest that is gone saw none",
	  .boards = { { "41", A6000, "vfio-pci", NULL, NULL },
		      { "61", A6000, "vfio-pci", NULL, NULL } },
	  .declared = "41 61",
	  .seen = { "41 guest@9 domain=1", "61 guest@9 domain=1" },
	  .groups = "x bound declared NV4? 41,61" },
	{ .name = "a guest that is gone saw links out of the group",
	  .boards = FOUR(A6000),
	  .declared = "41 61",
	  .seen = { "41 guest@9 a1x4", "61 guest@9 c1x4", "a1 guest@9 41x4", "c1 guest@9 61x4" },
	  .groups = "pair0 inferred inferred NV4? a1,c1; x free declared NV4? 41,61" },
	/* promise G2 */
	/* fault L12 */
	{ .name = "a guest does not overrule upwards what the host saw: fewer links",
	  .boards = { { "41", A6000, "vfio-pci", NULL, NULL },
		      { "61", A6000, "vfio-pci", NULL, NULL } },
	  .declared = "41 61",
	  .seen = { "41 nvml@1 61x2", "61 nvml@1 41x2", "41 guest@9 61x4", "61 guest@9 41x4" },
	  .groups = "x degraded declared NV2 41,61",
	  .reason = "2 of 4 NVLinks are active" },
	/* fault L12 */
	{ .name = "a guest does not overrule upwards what the host saw: no bridge",
	  .boards = { { "41", A6000, "vfio-pci", NULL, NULL },
		      { "61", A6000, "vfio-pci", NULL, NULL } },
	  .seen = { "41 nvml@1", "61 nvml@1", "41 guest@9 61x4", "61 guest@9 41x4" },
	  .groups = "unknown0 unknown none ? 41,61",
	  .reason = "no active link was seen between 0000:41:00.0 and 0000:61:00.0" },
	/* fault L12 */
	{ .name = "a guest does not overrule upwards what the host saw: one side",
	  .boards = { { "41", A6000, "vfio-pci", NULL, NULL },
		      { "61", A6000, "vfio-pci", NULL, NULL } },
	  .declared = "41 61",
	  .seen = { "41 nvml@1 61x4", "61 nvml@1", "41 guest@9 61x4", "61 guest@9 41x4" },
	  .groups = "x degraded declared NV4? 41,61",
	  .reason = "0000:41:00.0 sees 4 links to 0000:61:00.0, which sees no link to it" },
	{ .name = "two guests' looks are not compared",
	  .boards = TWO(A6000),
	  .seen = { "41 guest@1", "61 guest@2" },
	  .groups = "pair0 inferred inferred NV4? 41,61" },
};

static bool is_noted(char *const *notes, const char *text)
{
	for (; notes && *notes; notes++)
		if (strstr(*notes, text))
			return true;
	return false;
}

TEST(what_was_seen_makes_groups_or_speaks_against_them)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *found = NULL;
		const Group *first;
		_cleanup_(host_done) HostModel h = host_of(&rows[i]);

		host_resolve(&h);
		host_observe(&h, false);
		found = groups_in_short(&h);
		first = &h.groups->items[0];
		if (strcmp(found, rows[i].groups) != 0)
			fail_msg("%s: %s", rows[i].name, found);
		if (rows[i].reason &&
		    !strstr(first->fault ? first->fault : first->reasoning, rows[i].reason))
			fail_msg("%s: %s, %s", rows[i].name, str_or_empty(first->fault),
				 first->reasoning);
		if (rows[i].note ? !is_noted(h.notes, rows[i].note) : h.notes != NULL)
			fail_msg("%s: note %s", rows[i].name, h.notes ? *h.notes : "is missing");
		for (size_t k = 0; k < h.groups->n_items; k++)
			if (h.groups->items[k].assignable &&
			    (h.groups->items[k].fault ||
			     h.groups->items[k].provenance <= PROVENANCE_INFERRED))
				fail_msg("%s: %s can be assigned", rows[i].name, found);
	}
}

/* fault L1 */
TEST(a_contradiction_names_the_declared_and_the_seen_peer)
{
	_cleanup_(host_done) HostModel h;
	const char *fault;

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (strstr(rows[i].name, "another peer than the declaration"))
			h = host_of(&rows[i]);
	host_resolve(&h);
	fault = host_group(&h, "x")->fault;
	assert_string_equal(fault, "0000:41:00.0 is linked to 0000:a1:00.0, which is not a member "
				   "(probed, NVML 550, 1970-01-01 00:00:01 UTC), but declared with "
				   "0000:61:00.0 in groups.d/test.conf:1");
}

/* Each with the one eight places on, so that neighbours are never partners. */
TEST(sixteen_gpus_are_eight_pairs)
{
	_cleanup_(host_done) HostModel h = host_new();

	h.evidence = evidence_new();
	for (unsigned i = 0; i < 16; i++) {
		_cleanup_free_ char *slot = strf("0000:%02x:00", 0x10 + i);
		_cleanup_free_ char *text = strf("%02x nvml@1 %02xx4", 0x10 + i, 0x10 + (i ^ 8));

		host_gpu(&h, slot, A40, "nvidia");
		see(h.evidence, text, A40);
	}
	host_resolve(&h);
	assert_int_equal(h.groups->n_items, 8);
	for (unsigned i = 0; i < 8; i++) {
		const Group *group = &h.groups->items[i];

		assert_int_equal(group->state, GROUP_FREE);
		assert_int_equal(group->provenance, PROVENANCE_PROBED);
		assert_int_equal(group->gpus[0]->lead->bdf.bus, 0x10 + i);
		assert_int_equal(group->gpus[1]->lead->bdf.bus, 0x18 + i);
	}
}

TEST(a_group_shows_each_way_of_knowing_strongest_first)
{
	static const struct {
		Provenance provenance;
		unsigned links;
		uint64_t seconds;
		const char *source;
	} wanted[] = {
		{ PROVENANCE_DECLARED, 0, 0, "groups.d/test.conf:1" },
		{ PROVENANCE_CACHED, 4, 5, "NVML 550" },
	};
	static const Row row = {
		.boards = { { "41", A6000, "vfio-pci", NULL, NULL },
			    { "61", A6000, "vfio-pci", NULL, NULL } },
		.declared = "41 61",
		.seen = { "41 nvml@5 61x4", "61 nvml@7 41x4", "41 guest@9 61x4",
			  "61 guest@9 41x4" },
	};
	const Group *group;
	_cleanup_(host_done) HostModel h = host_of(&row);

	host_resolve(&h);
	group = host_group(&h, "x");
	assert_int_equal(group->n_evidence, ELEMENTS(wanted));
	for (size_t i = 0; i < ELEMENTS(wanted); i++) {
		assert_int_equal(group->evidence[i].provenance, wanted[i].provenance);
		assert_int_equal(group->evidence[i].links, wanted[i].links);
		assert_int_equal(group->evidence[i].seen_usec, wanted[i].seconds * 1000000);
		assert_string_equal(group->evidence[i].source, wanted[i].source);
	}
	assert_int_equal(group->evidence_usec, 5 * 1000000);
	/* A guest's word is kept apart. */
	assert_int_equal(group->word.links, 4);
	assert_int_equal(group->word.seen_usec, 9 * 1000000);
}

/* ---- what is assigned ---- */

/* 41 and 61 are vm1's, by the record of `name`. */
static void assign_pair(HostModel *h, const char *name)
{
	static const char *const both[] = { "0000:41:00.0", "0000:41:00.1", "0000:61:00.0",
					    "0000:61:00.1", NULL };

	host_domain(h, "vm1", true, both);
	host_assignment(h, name, "vm1", 1, both);
}

/* fault L14 */
TEST(what_is_assigned_stays_one_group_under_its_name)
{
#define VFIO(bus)                                                                                  \
	{                                                                                          \
		bus, A6000, "vfio-pci", NULL, NULL                                                 \
	}
#define ON_NVIDIA(bus)                                                                             \
	{                                                                                          \
		bus, A6000, NULL, NULL, NULL                                                       \
	}
	static const struct {
		Row row;
		const char *record;
	} cases[] = {
		{ { .name = "the evidence went stale: a board like these came",
		    .boards = { VFIO("41"), VFIO("61"), ON_NVIDIA("a1"), ON_NVIDIA("c1") },
		    .seen = { "41 nvml@1 61x4 stored", "61 nvml@1 41x4 stored",
			      "a1 present@1 stored" },
		    .groups = "pair0 degraded none ? 41,61; unknown0 unknown none ? a1,c1",
		    .reason =
			    "assigned to vm1, but nothing shows any more that its GPUs are linked" },
		  "pair0" },
		{ { .name = "there is another pair, which would have taken the name",
		    .boards = { VFIO("41"),
				{ "61", A6000, "vfio-pci", "GPU-new", NULL },
				ON_NVIDIA("a1"),
				ON_NVIDIA("c1") },
		    .seen = { "41 nvml@1 61x4 stored", "61 nvml@1 41x4 uuid=GPU-old stored",
			      "a1 nvml@1 c1x4 stored", "c1 nvml@1 a1x4 stored" },
		    .groups = "pair0 degraded none ? 41,61; pair1 free cached NV4 a1,c1" },
		  "pair0" },
		{ { .name = "it was the second pair, and the first one is not known any more",
		    .boards = { VFIO("41"), VFIO("61"), ON_NVIDIA("a1"), ON_NVIDIA("c1") },
		    .seen = { "41 nvml@1 61x4 stored", "61 nvml@1 41x4 stored",
			      "a1 present@1 stored", "c1 present@1 stored" },
		    .groups = "pair1 assigned cached NV4 41,61; unknown0 unknown none ? a1,c1" },
		  "pair1" },
		{ { .name = "nothing else to pair them with: inferred, and still assigned",
		    .boards = { VFIO("41"), VFIO("61") },
		    .groups = "pair7 assigned inferred NV4? 41,61" },
		  "pair7" },
		{ { .name = "one was pulled, and another of that model is in the host",
		    .boards = { VFIO("41"), ON_NVIDIA("a1") },
		    .seen = { "41 nvml@1 61x4 stored", "61 nvml@1 41x4 stored" },
		    .groups = "pair0 degraded none ? 41; unknown0 unknown none ? a1",
		    .reason = "the record of vm1 names 0000:61:00.0, which is not there" },
		  "pair0" },
		{ { .name = "a later look ties one of them to a stranger",
		    .boards = { VFIO("41"), VFIO("61"), ON_NVIDIA("a1") },
		    .seen = { "41 nvml@1 a1x4", "61 nvml@1", "a1 nvml@1 41x4" },
		    .groups = "pair0 degraded none ? 41,61; unknown0 unknown none ? a1" },
		  "pair0" },
		{ { .name = "a declaration says otherwise of one of them",
		    .boards = { VFIO("41"), VFIO("61"), ON_NVIDIA("a1") },
		    .declared = "61 a1",
		    .groups = "unknown0 unknown none ? 41; x degraded declared NV4? 61,a1" },
		  "pair0" },
	};

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		const Row *row = &cases[i].row;
		_cleanup_free_ char *found = NULL;
		_cleanup_(host_done) HostModel h = host_of(row);

		assign_pair(&h, cases[i].record);
		host_resolve(&h);
		host_observe(&h, true);
		found = groups_in_short(&h);
		if (strcmp(found, row->groups) != 0)
			fail_msg("%s: %s", row->name, found);
		if (row->reason && !strstr(h.groups->items[0].fault, row->reason))
			fail_msg("%s: %s", row->name, h.groups->items[0].fault);
		for (size_t k = 0; k < h.groups->n_items; k++)
			if (h.groups->items[k].assignable &&
			    h.groups->items[k].gpus[0]->lead->bdf.bus == 0x41)
				fail_msg("%s: %s can be assigned", row->name,
					 h.groups->items[k].name);
	}
}

/* ---- what a guest says ---- */

/* promise G6 */
/* fault L11 */
TEST(a_guests_word_counts_while_its_domain_has_the_group_and_is_no_fault)
{
#define SEEN_BY_BOTH "41 nvml@5 61x4", "61 nvml@5 41x4"
	static const struct {
		Row row;
		bool assigned;	  /* to domain 1 */
		uint64_t since;	  /* seconds */
		const char *past; /* NULL: no history */
	} cases[] = {
		ROW({ .name = "fewer links than the probe",
		      .seen = { SEEN_BY_BOTH, "41 guest@9 61x2 domain=1",
				"61 guest@9 41x2 domain=1" },
		      .groups = "x degraded declared NV2 41,61",
		      .reason =
			      "guest vm1 reports 2 of 4 NVLinks between its GPUs (a guest's word, "
			      "1970-01-01 00:00:09 UTC): reboot the guest, then: gpupass verify vm1" },
		    true, 9, NULL),
		ROW({ .name = "one of them more than the other",
		      .seen = { "41 guest@9 61x4 domain=1", "61 guest@9 41x1 domain=1" },
		      .groups = "x degraded declared NV1 41,61",
		      .reason = "reports 1 of 4 NVLinks" },
		    true, 0, NULL),
		ROW({ .name = "no link",
		      .seen = { SEEN_BY_BOTH, "41 guest@9 domain=1", "61 guest@9 domain=1" },
		      .groups = "x degraded declared NV4 41,61",
		      .reason = "reports no NVLink between its GPUs" },
		    true, 0, NULL),
		ROW({ .name = "all links, which the host never saw",
		      .seen = { "41 guest@9 61x4 domain=1 stored",
				"61 guest@9 41x4 domain=1 stored" },
		      .groups = "x assigned declared NV4 41,61" },
		    true, 0, NULL),
		ROW({ .name = "the host looked later",
		      .seen = { SEEN_BY_BOTH, "41 guest@4 61x2 domain=1",
				"61 guest@4 41x2 domain=1" },
		      .groups = "x assigned declared NV2 41,61" },
		    true, 0, NULL),
		ROW({ .name = "the group was released",
		      .seen = { SEEN_BY_BOTH, "41 guest@9 domain=1", "61 guest@9 domain=1" },
		      .groups = "x bound declared NV4 41,61" },
		    false, 0,
		    "guest vm1 (00000000-0000-0000-0000-000000000001) reported no NVLink, 1970-01-01 "
		    "00:00:09 UTC: a guest's word, which does not count any more"),
		ROW({ .name = "another domain has it now",
		      .seen = { SEEN_BY_BOTH, "41 guest@9 domain=7", "61 guest@9 domain=7" },
		      .groups = "x assigned declared NV4 41,61" },
		    true, 0, "guest vm1 (00000000-0000-0000-0000-000000000007) reported no NVLink"),
		ROW({ .name = "it was released and came back",
		      .seen = { SEEN_BY_BOTH, "41 guest@9 domain=1", "61 guest@9 domain=1" },
		      .groups = "x assigned declared NV4 41,61" },
		    true, 10, "reported no NVLink"),
		ROW({ .name = "a version that kept no domain noted it",
		      .seen = { SEEN_BY_BOTH, "41 guest@9", "61 guest@9" },
		      .groups = "x assigned declared NV4 41,61" },
		    true, 0, "guest vm1 reported no NVLink"),
		ROW({ .name = "it told of one board only, or at two times",
		      .seen = { SEEN_BY_BOTH, "41 guest@9 domain=1", "61 guest@8 domain=1" },
		      .groups = "x assigned declared NV4 41,61" },
		    true, 0, NULL),
		ROW({ .name = "of another board",
		      .seen = { SEEN_BY_BOTH, "41 guest@9 domain=1 device=2235",
				"61 guest@9 domain=1" },
		      .groups = "x assigned declared NV4 41,61" },
		    true, 0, NULL),
	};

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		Row row = cases[i].row;
		_cleanup_free_ char *found = NULL, *past = NULL;
		const Group *group;
		_cleanup_(host_done) HostModel h;

		row.declared = "41 61";
		row.boards[0] = (BoardRow)VFIO("41");
		row.boards[1] = (BoardRow)VFIO("61");
		h = host_of(&row);
		if (cases[i].assigned) {
			assign_pair(&h, "x");
			h.assignments->items[0]->created_usec = cases[i].since * 1000000;
		}
		host_resolve(&h);
		host_observe(&h, true);
		/* Twice is the same: the manager observes one inventory again and again. */
		host_observe(&h, true);
		group = host_group(&h, "x");
		found = groups_in_short(&h);
		past = group_word_past(group);
		if (strcmp(found, row.groups) != 0)
			fail_msg("%s: %s", row.name, found);
		if (row.reason && !strstr(str_or_empty(group->reason), row.reason))
			fail_msg("%s: %s", row.name, str_or_empty(group->reason));
		if (cases[i].past ? !past || !strstr(past, cases[i].past) : past != NULL)
			fail_msg("%s: %s", row.name, str_or_empty(past));
		if (group->fault || group->seen_otherwise)
			fail_msg("%s: a fault: %s", row.name, str_or_empty(group->fault));
	}
}
