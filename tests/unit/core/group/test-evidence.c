/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was seen of the links makes groups, or speaks against them. */
#include "rig/test.h"

#include "rig/host-text.h"

#define FOUR "41 61 a1 c1"
#define FOUR_H200 "=233b " FOUR
#define ON_VFIO ":vfio-pci 41 61"

static const Scenario seen[] = {
	ROW("two pairs of one model, not beside each other", FOUR,
	    .seen = "41-a1 nvml@100 x4, 61-c1 nvml@100 x4",
	    .groups = "pair0 free probed NV4 41,a1; pair1 free probed NV4 61,c1",
	    .tells = { "0000:41:00.0 and 0000:a1:00.0 each saw 4 links to the other (NVML 550, "
		       "1970-01-01 00:01:40 UTC)" }),
	ROW("seen by a daemon before this one", "41 61", .seen = "41-61 nvml@100 x4 stored",
	    .groups = "pair0 free cached NV4 41,61"),
	ROW("on vfio-pci since", ON_VFIO, .seen = "41-61 nvml@100 x4",
	    .groups = "pair0 bound cached NV4 41,61"),
	ROW("link registers", "=2331 " ON_VFIO, .seen = "41-61 mmio@100 x12",
	    .groups = "pair0 bound mmio NV12 41,61"),
	ROW("four on one bridge", FOUR_H200, .seen = "41-61-a1-c1 nvml@1 x6",
	    .groups = "quad0 free probed NV6 41,61,a1,c1"),
	ROW("a group is as well known as its weakest link", FOUR_H200,
	    .seen = "41-61-a1 nvml@1 x6 c1x6, c1 nvml@1 41x6 61x6 a1x6 stored",
	    .groups = "quad0 free cached NV6 41,61,a1,c1"),
	ROW("two on a bridge of eighteen", "=233b 41 61", .seen = "41-61 nvml@1 x18",
	    .groups = "pair0 free probed NV18 41,61"),
	/* fault L4 */
	ROW("one of four is not seated", FOUR_H200, .seen = "41-61-a1 nvml@1 x6, c1 nvml@1",
	    .groups = "group0 degraded probed NV6 41,61,a1; unknown0 unknown none ? c1",
	    .tells = { "0000:41:00.0 has 12 of its 18 NVLinks to members" }),
	ROW("two of four do not see each other", FOUR_H200,
	    .seen = "41 nvml@1 61x6 a1x6, 61 nvml@1 41x6 a1x6 c1x6, a1 nvml@1 41x6 61x6 c1x6, "
		    "c1 nvml@1 61x6 a1x6",
	    .groups = "quad0 degraded probed NV6 41,61,a1,c1",
	    .tells = { "no active link was seen between 0000:41:00.0 and 0000:c1:00.0" }),
	/* fault L2 */
	ROW("a broken bridge: one sees the other, which sees nobody", "41 61",
	    .seen = "41 nvml@1 61x4, 61 nvml@1", .groups = "unknown0 unknown none ? 41,61",
	    .tells = { "0000:41:00.0 sees 4 links to 0000:61:00.0, which sees no link to it" }),
	/* fault L2 */
	ROW("a broken bridge that is declared", "41 61", "x=41,61", "41 nvml@1, 61 nvml@1 41x4",
	    .groups = "x degraded declared NV4? 41,61",
	    .tells = { "0000:61:00.0 sees 4 links to 0000:41:00.0, which sees no link to it (probed, "
		       "NVML 550, 1970-01-01 00:00:01 UTC), but they are declared together in "
		       "groups.d/test.conf:1" }),
	ROW("not the same number both ways", "41 61", .seen = "41 nvml@1 61x3, 61 nvml@1 41x4",
	    .groups = "unknown0 unknown none ? 41,61",
	    .tells = { "0000:61:00.0 sees 4 links to 0000:41:00.0, which sees 3 links to it" }),
	/* fault L3 */
	ROW("half seated", "41 61", .seen = "41-61 nvml@1 x2",
	    .groups = "pair0 degraded probed NV2 41,61", .tells = { "2 of 4 NVLinks are active" }),
	ROW("no bridge: the only two are not inferred to be a pair", "41 61",
	    .seen = "41-61 nvml@1", .groups = "unknown0 unknown none ? 41,61",
	    .tells = { "no active link was seen between 0000:41:00.0 and 0000:61:00.0 (NVML 550" }),
	ROW("declared, and nothing is there", "41 61", "x=41,61", "41-61 nvml@1",
	    .groups = "x degraded declared NV4? 41,61",
	    .tells = { "no active link was seen between 0000:41:00.0 and 0000:61:00.0" }),
	/* fault L17 */
	ROW("in MIG mode, where NVLink is off", "=20b5 41 61", .seen = "41-61 nvml@1 mig stored",
	    .groups = "pair0 inferred inferred NV12? 41,61",
	    .note = "links seen at 1970-01-01 00:00:01 UTC are not used: 0000:61:00.0 was in MIG "
		    "mode, in which NVLink is off (nvidia-smi -i 0000:61:00.0 -mig 0); look again: "
		    "gpupass probe"),
	/* fault L17 */
	ROW("in MIG mode, and declared", "=20b5 41 61", "x=41,61", "41-61 nvml@1 mig",
	    .groups = "x free declared NV12? 41,61", .note = "0000:41:00.0 was in MIG mode"),
	ROW("one in MIG mode, and declared", "=20b5 41 61", "x=41,61", "41 nvml@1, 61 nvml@1 mig",
	    .groups = "x free declared NV12? 41,61", .note = "0000:61:00.0 was in MIG mode"),
	ROW("one in MIG mode, whose links the other still sees", "=20b5 41 61", "x=41,61",
	    "41 nvml@1 61x12, 61 nvml@1 mig", .groups = "x free declared NV12? 41,61",
	    .note = "0000:61:00.0 was in MIG mode"),
	ROW("in MIG mode, and links are there all the same", "=20b5 41 61",
	    .seen = "41-61 nvml@1 x12 mig", .groups = "pair0 free probed NV12 41,61"),
	/* fault L17 */
	ROW("the driver offers no NVLink, and it is declared", "41 61", "x=41,61",
	    "41-61 nvml@1 off", .groups = "x free declared NV4? 41,61",
	    .note = "the driver offered no NVLink of 0000:41:00.0 (NVreg_NvLinkDisable=1"),
	ROW("boards that the catalogue does not know, and no NVLink", "=fffe 41 61", "x=41,61",
	    "41-61 nvml@1 off", .groups = "x degraded declared ? 41,61",
	    .tells = { "no active link was seen between 0000:41:00.0 and 0000:61:00.0" }),
	ROW("one GPU alone in MIG mode", "=20b5 41", .seen = "41 nvml@1 mig",
	    .groups = "unknown0 unknown none ? 41"),
	ROW("declared and seen", "41 61", "x=41,61", "41-61 nvml@1 x4",
	    .groups = "x free declared NV4 41,61"),
	/* fault L1 */
	/* And the two that are left are not paired by that doubtful declaration. */
	ROW("the probe names another peer than the declaration", FOUR, "x=41,61",
	    "41-a1 nvml@1 x4, 61-c1 nvml@1 x4",
	    .groups = "unknown0 unknown none ? a1,c1; x degraded declared NV4? 41,61",
	    .tells = { "0000:41:00.0 is linked to 0000:a1:00.0, which is not a member (probed, NVML "
		       "550, 1970-01-01 00:00:01 UTC), but declared with 0000:61:00.0 in "
		       "groups.d/test.conf:1",
		       "declared group x" }),
	ROW("a peer that is no GPU of this host", "41 61", "x=41,61", "41 nvml@1 99x4, 61 nvml@1",
	    .groups = "x degraded declared NV4? 41,61",
	    .tells = { "0000:41:00.0 sees 4 links to 0000:99:00.0, which is no GPU of this host" }),
	ROW("nothing is inferred of a board that sees a stranger", "41 61",
	    .seen = "41 present@1, 61 nvml@1 99x4", .groups = "unknown0 unknown none ? 41,61"),
	ROW("a later look names one of an earlier pair", FOUR,
	    .seen = "41-61 nvml@1 x4, a1 nvml@9 41x4, c1 nvml@9",
	    .groups = "pair0 degraded probed NV4 41,61; unknown0 unknown none ? a1,c1",
	    .tells = { "0000:a1:00.0 sees 4 links to 0000:41:00.0, which sees no link to it (probed, "
		       "NVML 550, 1970-01-01 00:00:01 UTC), but 0000:41:00.0 is linked to "
		       "0000:61:00.0" }),
	ROW("mixed models", "41=2235 61 a1=2235 c1", .seen = "41-a1 nvml@1 x4, 61-c1 nvml@1 x4",
	    .groups = "pair0 free probed NV4 41,a1; pair1 free probed NV4 61,c1"),
	/* fault L5 */
	ROW("a board was swapped, by its UUID: its links alone are not used",
	    "41 uuid=GPU-new 61 a1 c1",
	    .seen = "41 nvml@1 61x4 uuid=GPU-old stored, 61 nvml@1 41x4 stored, "
		    "a1-c1 nvml@1 x4 stored",
	    .groups = "pair0 free cached NV4 a1,c1; unknown0 unknown none ? 41,61",
	    .note = "the board at 0000:41:00.0 was GPU-old, and is GPU-new"),
	/* fault L5 */
	ROW("a board was swapped, by its serial number",
	    "=233b :vfio-pci 41 serial=48-b0-2d-00-00-00-00-22 61",
	    .seen = "41 nvml@1 61x18 serial=48-b0-2d-00-00-00-00-19 stored, 61 nvml@1 41x18 stored",
	    .groups = "pair0 inferred inferred NV18? 41,61",
	    .note = "had the serial number 48-b0-2d-00-00-00-00-19, and has "
		    "48-b0-2d-00-00-00-00-22"),
	ROW("a board of another model is there now", "41=2235 61",
	    .seen = "41-61 nvml@1 x4 device=2230 stored",
	    .groups = "unknown0 unknown none ? 41; unknown1 unknown none ? 61",
	    .note = "at 0000:41:00.0 there was 10de:2230, subsystem 10de:1459, and is 10de:2235"),
	ROW("a board is gone", "41", .seen = "41-61 nvml@1 x4 stored",
	    .groups = "unknown0 unknown none ? 41", .note = "0000:61:00.0 is not there any more"),
	/* fault L6 */
	ROW("a board like these came since", "41 61 a1 c1=2235", .seen = "41-61 nvml@100 x4 stored",
	    .groups = "unknown0 unknown none ? 41,61,a1; unknown1 unknown none ? c1",
	    .note = "links seen at 1970-01-01 00:01:40 UTC are not used: 0000:a1:00.0 (RTX A6000) "
		    "came since; look again: gpupass probe"),
	ROW("a board was there and could not be looked at", "41 61 :vfio-pci a1",
	    .seen = "41-61 nvml@100 x4, a1 present@100",
	    .groups = "pair0 free probed NV4 41,61; unknown0 unknown none ? a1"),
	ROW("a peer that could not be looked at", "41 :vfio-pci 61",
	    .seen = "41 nvml@100 61x4, 61 present@100", .groups = "unknown0 unknown none ? 41,61",
	    .tells = { "0000:41:00.0 sees 4 links to 0000:61:00.0, which was not looked at" }),
	/* field: newcomer/1 */
	ROW("a peer that could not be looked at, as it is declared", ON_VFIO, "x=41,61",
	    "41 nvml@100 61x4, 61 present@100", .groups = "x bound declared NV4? 41,61"),
	ROW("a peer that could not be looked at, and is declared with another",
	    "41 :vfio-pci 61 a1", "x=41,a1", "41 nvml@100 61x4, 61-a1 present@100",
	    .groups = "unknown0 unknown none ? 61; x degraded declared NV4? 41,a1"),
	/* promise G6 */
	/* Nobody has it by a record here, so that guest is gone. */
	ROW("a guest that is gone saw fewer links than the probe", ON_VFIO,
	    .seen = "41-61 nvml@1 x4, 41-61 guest@9 x2 domain=1",
	    .groups = "pair0 bound cached NV4 41,61"),
	ROW("a guest that is gone saw none", ON_VFIO, "x=41,61", "41-61 guest@9 domain=1",
	    .groups = "x bound declared NV4? 41,61"),
	ROW("a guest that is gone saw links out of the group", FOUR, "x=41,61",
	    "41-a1 guest@9 x4, 61-c1 guest@9 x4",
	    .groups = "pair0 inferred inferred NV4? a1,c1; x free declared NV4? 41,61"),
	/* promise G2 */
	/* fault L12 */
	ROW("a guest does not overrule upwards what the host saw: fewer links", ON_VFIO, "x=41,61",
	    "41-61 nvml@1 x2, 41-61 guest@9 x4", .groups = "x degraded declared NV2 41,61",
	    .tells = { "2 of 4 NVLinks are active" }),
	/* fault L12 */
	ROW("a guest does not overrule upwards what the host saw: no bridge", ON_VFIO,
	    .seen = "41-61 nvml@1, 41-61 guest@9 x4", .groups = "unknown0 unknown none ? 41,61",
	    .tells = { "no active link was seen between 0000:41:00.0 and 0000:61:00.0" }),
	/* fault L12 */
	ROW("a guest does not overrule upwards what the host saw: one side", ON_VFIO, "x=41,61",
	    "41 nvml@1 61x4, 61 nvml@1, 41-61 guest@9 x4",
	    .groups = "x degraded declared NV4? 41,61",
	    .tells = { "0000:41:00.0 sees 4 links to 0000:61:00.0, which sees no link to it" }),
	ROW("two guests' looks are not compared", "41 61", .seen = "41 guest@1, 61 guest@2",
	    .groups = "pair0 inferred inferred NV4? 41,61"),
	ROW("sixteen GPUs are eight pairs, each with the one eight places on",
	    "=2235 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f",
	    .seen = "10-18 nvml@1 x4, 11-19 nvml@1 x4, 12-1a nvml@1 x4, 13-1b nvml@1 x4, "
		    "14-1c nvml@1 x4, 15-1d nvml@1 x4, 16-1e nvml@1 x4, 17-1f nvml@1 x4",
	    .groups = "pair0 free probed NV4 10,18; pair1 free probed NV4 11,19; "
		      "pair2 free probed NV4 12,1a; pair3 free probed NV4 13,1b; "
		      "pair4 free probed NV4 14,1c; pair5 free probed NV4 15,1d; "
		      "pair6 free probed NV4 16,1e; pair7 free probed NV4 17,1f"),
};

TEST(what_was_seen_makes_groups_or_speaks_against_them)
{
	expect_scenarios(seen, ELEMENTS(seen));
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
	static const Scenario scenario = ROW(
		"", ON_VFIO, "x=41,61", .seen = "41 nvml@5 61x4, 61 nvml@7 41x4, 41-61 guest@9 x4");
	_cleanup_(host_done) HostModel h = host_of(&scenario);
	const Group *group = host_group(&h, "x");

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

/* fault L14 */
TEST(what_is_assigned_stays_one_group_under_its_name)
{
#define VM1 "vm1 41 61 running", "pair0 vm1 41 61", true
	static const Scenario assigned[] = {
		ROW("the evidence went stale: a board like these came", ON_VFIO " :nvidia a1 c1",
		    NULL, "41-61 nvml@1 x4 stored, a1 present@1 stored", VM1,
		    .groups = "pair0 degraded:vm1 none ? 41,61; unknown0 unknown none ? a1,c1",
		    .tells = { "assigned to vm1, but nothing shows any more that its GPUs are "
			       "linked" },
		    .note = "0000:c1:00.0 (RTX A6000) came since"),
		ROW("there is another pair, which would have taken the name",
		    ON_VFIO " uuid=GPU-new :nvidia a1 c1", NULL,
		    "41 nvml@1 61x4 stored, 61 nvml@1 41x4 uuid=GPU-old stored, "
		    "a1-c1 nvml@1 x4 stored",
		    VM1, .groups = "pair0 degraded:vm1 none ? 41,61; pair1 free cached NV4 a1,c1",
		    .note = "was GPU-old, and is GPU-new"),
		ROW("it was the second pair, and the first one is not known any more",
		    ON_VFIO " :nvidia a1 c1", NULL,
		    "41-61 nvml@1 x4 stored, a1-c1 present@1 stored", "vm1 41 61 running",
		    "pair1 vm1 41 61", true,
		    .groups = "pair1 assigned:vm1 cached NV4 41,61; unknown0 unknown none ? a1,c1"),
		ROW("nothing else to pair them with: inferred, and still assigned", ON_VFIO, NULL,
		    NULL, "vm1 41 61 running", "pair7 vm1 41 61", true,
		    .groups = "pair7 assigned:vm1 inferred NV4? 41,61"),
		ROW("one was pulled, and another of that model is in the host",
		    ":vfio-pci 41 :nvidia a1", NULL, "41-61 nvml@1 x4 stored", VM1,
		    .groups = "pair0 degraded:vm1 none ? 41; unknown0 unknown none ? a1",
		    .tells = { "the record of vm1 names 0000:61:00.0, which is not there" },
		    .note = "0000:61:00.0 is not there any more"),
		ROW("a later look ties one of them to a stranger", ON_VFIO " :nvidia a1", NULL,
		    "41-a1 nvml@1 x4, 61 nvml@1", VM1,
		    .groups = "pair0 degraded:vm1 none ? 41,61; unknown0 unknown none ? a1"),
		ROW("a declaration says otherwise of one of them", ON_VFIO " :nvidia a1", "x=61,a1",
		    NULL, VM1,
		    .groups = "unknown0 unknown none ? 41; x degraded:vm1 declared NV4? 61,a1"),
	};

	expect_scenarios(assigned, ELEMENTS(assigned));
}

/* ---- what a guest says ---- */

/* promise G6 */
/* fault L11 */
TEST(a_guests_word_counts_while_its_domain_has_the_group_and_is_no_fault)
{
#define HOST_SAW "41-61 nvml@5 x4, "
#define GUEST(name, seen, record) name, ON_VFIO, "x=41,61", seen, "vm1 41 61 running", record
#define RECORD "x vm1 41 61"
	static const Scenario cases[] = {
		{ GUEST("fewer links than the probe", HOST_SAW "41-61 guest@9 x2 domain=1",
			RECORD " since=9"),
		  .groups = "x degraded:vm1 declared NV2 41,61",
		  .tells = { "guest vm1 reports 2 of 4 NVLinks between its GPUs (a guest's word, "
			     "1970-01-01 00:00:09 UTC): reboot the guest, then: gpupass verify "
			     "vm1" } },
		{ GUEST("one of them more than the other",
			"41 guest@9 61x4 domain=1, 61 guest@9 41x1 domain=1", RECORD),
		  .groups = "x degraded:vm1 declared NV1 41,61",
		  .tells = { "reports 1 of 4 NVLinks" } },
		{ GUEST("no link", HOST_SAW "41-61 guest@9 domain=1", RECORD),
		  .groups = "x degraded:vm1 declared NV4 41,61",
		  .tells = { "reports no NVLink between its GPUs" } },
		{ GUEST("all links, which the host never saw", "41-61 guest@9 x4 domain=1 stored",
			RECORD),
		  .groups = "x assigned:vm1 declared NV4 41,61" },
		{ GUEST("the host looked later", HOST_SAW "41-61 guest@4 x2 domain=1", RECORD),
		  .groups = "x assigned:vm1 declared NV2 41,61" },
		{ "the group was released", ON_VFIO, "x=41,61", HOST_SAW "41-61 guest@9 domain=1",
		  .groups = "x bound declared NV4 41,61",
		  .past = "guest vm1 (00000000-0000-0000-0000-000000000001) reported no NVLink, 1970-01-01 "
			  "00:00:09 UTC: a guest's word, which does not count any more" },
		{ GUEST("another domain has it now", HOST_SAW "41-61 guest@9 domain=7", RECORD),
		  .groups = "x assigned:vm1 declared NV4 41,61",
		  .past = "guest vm1 (00000000-0000-0000-0000-000000000007) reported no NVLink" },
		{ GUEST("it was released and came back", HOST_SAW "41-61 guest@9 domain=1",
			RECORD " since=10"),
		  .groups = "x assigned:vm1 declared NV4 41,61", .past = "reported no NVLink" },
		{ GUEST("a version that kept no domain noted it", HOST_SAW "41-61 guest@9", RECORD),
		  .groups = "x assigned:vm1 declared NV4 41,61",
		  .past = "guest vm1 reported no NVLink" },
		{ GUEST("it told of one board only, or at two times",
			HOST_SAW "41 guest@9 domain=1, 61 guest@8 domain=1", RECORD),
		  .groups = "x assigned:vm1 declared NV4 41,61" },
		{ GUEST("of another board",
			HOST_SAW "41 guest@9 domain=1 device=2235, 61 guest@9 domain=1", RECORD),
		  .groups = "x assigned:vm1 declared NV4 41,61" },
	};

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_(host_done) HostModel h = host_of(&cases[i]);
		const Group *group = host_group(&h, "x");
		_cleanup_free_ char *past = NULL;

		expect_groups(&h, &cases[i]);
		past = group_word_past(group);
		if (cases[i].past ? !past || !strstr(past, cases[i].past) : past != NULL)
			fail_msg("%s: %s", cases[i].name, str_or_empty(past));
		if (group->fault || group->seen_otherwise)
			fail_msg("%s: a fault: %s", cases[i].name, str_or_empty(group->fault));
	}
}
