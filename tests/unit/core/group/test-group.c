/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is declared and inferred makes groups. Whole hosts are in test-golden.c. */
#include "rig/test.h"

#include "rig/host-text.h"

#define RTX_3090 "2204"
#define H100_NVL "2321"
#define H200_NVL "233b"
#define L40S "26b9"
#define UNKNOWN "fff0"
#define BOTH "x=41,61"
#define ALL_FOUR "x=41,61,a1,c1"

static const Scenario declared[] = {
	ROW("declared and inferred", "=" RTX_3090 " 41 61 a1 c1", "left=c1,41",
	    .groups = "left free declared NV4? 41,c1; pair0 inferred inferred NV4? 61,a1"),
	ROW("names of declarations are not given away", "=" RTX_3090 " 41 61 a1 c1 01=2230",
	    "pair0=41,c1 unknown0=slot:1,slot:2", "61-a1 nvml@1 x4, 41-c1 present@1",
	    .groups = "pair0 free declared NV4? 41,c1; pair1 free probed NV4 61,a1; "
		      "unknown0 degraded declared ? ; unknown1 unknown none ? 01",
	    .note = "no GPU is in physical slot 1"),
	ROW("a member is missing: nothing is inferred of its model",
	    "=" RTX_3090 " 41 61 =2230 01 02", "half=41,99:00.0",
	    .groups = "half degraded declared NV4? 41; pair0 inferred inferred NV4? 01,02; "
		      "unknown0 unknown none ? 61",
	    .note = "group half (groups.d/test.conf:1): there is no NVIDIA GPU at 0000:99:00.0"),
	ROW("no member is there: nothing is inferred", "41 61", "gone=98:00.0,99:00.0",
	    .groups = "gone degraded declared ? ; unknown0 unknown none ? 41,61",
	    .note = "there is no NVIDIA GPU at 0000:98:00.0"),
	ROW("two members are one GPU", "=" RTX_3090 " 41 slot=3 61 a1", "self=41,slot:3 good=61,a1",
	    .groups = "good free declared NV4? 61,a1; self degraded declared NV4? 41",
	    .note = "two members are the same GPU, 0000:41:00.0"),
	ROW("a GPU that two declarations mean stays with the first", "41 slot=3 61 a1",
	    "first=41,61 second=slot:3,a1",
	    .groups = "first free declared NV4? 41,61; second degraded declared NV4? a1",
	    .note = "0000:41:00.0 is in another declared group"),
	/* ---- what can be a group ---- */
	ROW("Ada", "41=" RTX_3090 " 61=2684", BOTH, .groups = "x degraded declared NV4? 41,61",
	    .tells = { "0000:61:00.0 (RTX 4090) cannot be in a group: Ada boards have no NVLink" }),
	ROW("SXM", "=2330 41 61", BOTH, .groups = "x degraded declared ? 41,61",
	    .tells = { "0000:41:00.0 (H100 SXM5 80GB) cannot be in a group: NVLinks of SXM" }),
	ROW("two models", "41=2235 61", BOTH, .groups = "x degraded declared NV4? 41,61",
	    .tells = { "0000:41:00.0 (A40) and 0000:61:00.0 (RTX A6000) differ" }),
	ROW("a model and one that nobody knows", "41=2204 61=" UNKNOWN, BOTH,
	    .groups = "x degraded declared NV4? 41,61",
	    .tells = { "0000:41:00.0 (RTX 3090) and 0000:61:00.0 (10de:fff0) differ" }),
	ROW("three on a bridge for two", "=" RTX_3090 " 41 61 a1", "x=41,61,a1",
	    .groups = "x degraded declared NV4? 41,61,a1",
	    .tells = { "it has 3 GPUs, but a bridge ties at most 2 of RTX 3090" }),
	ROW("five on a bridge for four", "=" H200_NVL " 41 61 a1 c1 e1", "x=41,61,a1,c1,e1",
	    .groups = "x degraded declared NV6? 41,61,a1,c1,e1",
	    .tells = { "it has 5 GPUs, but a bridge ties at most 4 of H200 NVL" }),
	/* both revisions of one board, and boards that only the operator knows */
	ROW("two revisions", "41=1e04 61=1e07", BOTH, .groups = "x free declared NV2? 41,61"),
	ROW("in no catalogue", "=" UNKNOWN " 41 61", BOTH, .groups = "x free declared ? 41,61"),
	ROW("nobody knows", "=2313 41 61", BOTH, .groups = "x free declared ? 41,61"),
	/* ---- links seen are told from those expected ---- */
	ROW("one link a board", "=1e82 41 61", BOTH, .groups = "x free declared NV1? 41,61"),
	ROW("two of four", "=" H200_NVL " 41 61", BOTH, .groups = "x free declared NV18? 41,61"),
	ROW("four", "=" H200_NVL " 41 61 a1 c1", ALL_FOUR,
	    .groups = "x free declared NV6? 41,61,a1,c1"),
	ROW("four, a link less", "=" H200_NVL " 41 61 a1 c1", ALL_FOUR, "41-61-a1-c1 nvml@1 x5",
	    .groups = "x degraded declared NV5 41,61,a1,c1"),
	ROW("twelve", "=20b5 41 61", BOTH, "41-61 nvml@1 x12",
	    .groups = "x free declared NV12 41,61"),
	ROW("eleven", "=2331 41 61", BOTH, "41-61 nvml@1 x11",
	    .groups = "x degraded declared NV11 41,61"),
	ROW("no number is known", "=20b8 41 61", BOTH, .groups = "x free declared ? 41,61"),
	ROW("no number is known, and seen", "=20b8 41 61", BOTH, "41-61 nvml@1 x3",
	    .groups = "x free declared NV3 41,61"),
};

TEST(declarations_make_groups_or_name_their_fault)
{
	expect_scenarios(declared, ELEMENTS(declared));
}

TEST(exactly_two_boards_of_one_model_are_inferred)
{
	static const Scenario inferred[] = {
		ROW("far apart", "41 c1", .groups = "pair0 inferred inferred NV4? 41,c1"),
		ROW("accepted", "41 61", .inferred = true,
		    .groups = "pair0 free inferred NV4? 41,61"),
		ROW("three boards", "41 61 81", .groups = "unknown0 unknown none ? 41,61,81"),
		ROW("two models", "41 61=2204 81 a1=2204",
		    .groups = "pair0 inferred inferred NV4? 41,81; "
			      "pair1 inferred inferred NV4? 61,a1"),
		ROW("two makes", "41 61 make=2",
		    .groups = "unknown0 unknown none ? 41; unknown1 unknown none ? 61"),
		ROW("3090 and 3090 Ti", "41=2204 61=2203",
		    .groups = "unknown0 unknown none ? 41; unknown1 unknown none ? 61"),
		ROW("boards not in the catalogue", "=" UNKNOWN " 41 61", .groups = ""),
		ROW("boards nobody knows about", "=2313 41 61", .groups = ""),
		ROW("two boards that bridge by four", "=" H200_NVL " 41 61",
		    .groups = "pair0 inferred inferred NV18? 41,61"),
		ROW("four of them", "=" H200_NVL " 41 61 a1 c1",
		    .groups = "unknown0 unknown none ? 41,61,a1,c1"),
		ROW("the one that a declaration leaves", "41 61 a1", "x=41,a1",
		    .groups = "unknown0 unknown none ? 61; x free declared NV4? 41,a1"),
		/* A label to look at, and no reason to infer or not. */
		ROW("one slot is known", "41 slot=3 61",
		    .groups = "pair0 inferred inferred NV4? 41,61",
		    .tells = { "that no declaration names\n" }),
	};

	expect_scenarios(inferred, ELEMENTS(inferred));
}

/* ---- groups of one GPU: declared, or with SingleGpus=yes ---- */

TEST(one_gpu_can_be_declared_a_group)
{
#define ALONE "solo7=41"
	static const Scenario alone[] = {
		ROW("no NVLink", "41=" L40S, ALONE, .groups = "solo7 free declared - 41"),
		ROW("a bridge board", "41=" RTX_3090, ALONE, .groups = "solo7 free declared - 41"),
		ROW("unknown", "41=" UNKNOWN, ALONE, .groups = "solo7 free declared - 41"),
		ROW("Fabric Manager's boards are not for us, alone neither", "41=2330", ALONE,
		    .groups = "solo7 degraded declared - 41"),
		ROW("not there", "", ALONE, .groups = "solo7 degraded declared - ",
		    .note = "there is no NVIDIA GPU"),
		ROW("its like are not paired with it: one pairing is left", "41 61 a1", ALONE,
		    .groups = "pair0 inferred inferred NV4? 61,a1; solo7 free declared - 41"),
		ROW("one is left", "41 61", ALONE,
		    .groups = "solo7 free declared - 41; unknown0 unknown none ? 61"),
		ROW("a group is never split, whatever was declared", "41 61", ALONE,
		    "41-61 nvml@1 x4",
		    .groups = "solo7 degraded declared - 41; unknown0 unknown none ? 61"),
		ROW("two", "41 61", "a=41 b=61",
		    .groups = "a free declared - 41; b free declared - 61"),
	};

	expect_scenarios(alone, ELEMENTS(alone));
}

TEST(a_gpu_without_a_partner_is_a_group_where_that_is_set)
{
#define SINGLES .singles = true, .groups
	static const Scenario singles[] = {
		ROW("no NVLink", "=" L40S " 41 61",
		    SINGLES = "solo0 free single - 41; solo1 free single - 61"),
		ROW("not set", "=" L40S " 41 61", .groups = ""),
		ROW("a bridge board", "41", SINGLES = "solo0 free single - 41"),
		ROW("not set of a bridge board", "41", .groups = "unknown0 unknown none ? 41"),
		ROW("two of a kind may be bridged", "41=" L40S " 61 a1",
		    SINGLES = "pair0 inferred inferred NV4? 61,a1; solo0 free single - 41"),
		ROW("three, of which a look saw two linked: their bridge is full",
		    "=" H100_NVL " 41 61 a1", .seen = "41-61 nvml@1 x12, a1 present@1",
		    SINGLES = "pair0 free probed NV12 41,61; solo0 free single - a1"),
		ROW("three", "=" H100_NVL " 41 61 a1",
		    SINGLES = "unknown0 unknown none ? 41,61,a1"),
		ROW("a bridge for four, of which two are known: the third may be on it",
		    "=" H200_NVL " 41 61 a1", "p=41,61",
		    SINGLES = "p free declared NV18? 41,61; unknown0 unknown none ? a1"),
		ROW("unknown", "41=" UNKNOWN, SINGLES = ""),
		ROW("SXM", "41=2330", SINGLES = ""),
		ROW("a declaration that does not hold may mean this board", "41", "p=61,a1",
		    SINGLES = "p degraded declared ? ; unknown0 unknown none ? 41",
		    .note = "there is no NVIDIA GPU"),
		/* Whatever the setting is by then. */
		ROW("an assigned single stays a group", "41=" L40S, .records = "solo3 vm1 41",
		    .groups = "solo3 degraded:vm1 single - 41"),
		ROW("a board beside it may be bridged to it now", "=" RTX_3090 " 41 61",
		    .records = "solo3 vm1 41",
		    .groups = "solo3 degraded:vm1 none ? 41; unknown0 unknown none ? 61",
		    .tells = { "nothing shows any more that its GPUs are linked" }),
	};

	expect_scenarios(singles, ELEMENTS(singles));
}

/* ---- a group ---- */

/* Of two links between the same boards the later look counts; at the same time, the stronger. */
TEST(the_link_that_counts_is_the_later_or_the_stronger)
{
	_cleanup_(host_done) HostModel h = host_new();

	host_boards(&h, "41 61");
	host_declared(&h, "left=41,61");
	host_link(&h, "0000:41:00.0", "0000:61:00.0", PROVENANCE_CACHED, 2);
	host_link(&h, "0000:41:00.0", "0000:61:00.0", PROVENANCE_PROBED, 4);
	host_resolve(&h);
	assert_int_equal(host_group(&h, "left")->links, 4);
	assert_null(host_group(&h, "left")->fault);
}

TEST(functions_and_drivers_are_those_of_all_gpus)
{
	_cleanup_free_ const PciFunction **functions = NULL;
	Bdf audio = bdf_of("0000:61:00.1"), absent = bdf_of("0000:61:00.2");
	const Group *pair;
	size_t n;
	_cleanup_(host_done) HostModel h = host_of(&(Scenario){ .boards = "41 61" });

	pair = host_group(&h, "pair0");
	functions = group_functions(pair, &n);
	assert_int_equal(n, 4);
	assert_string_equal(BDF_TEXT(&functions[1]->bdf), "0000:41:00.1");
	assert_string_equal(BDF_TEXT(&functions[3]->bdf), "0000:61:00.1");
	assert_ptr_equal(group_set_find_gpu(h.groups, &audio), pair);
	assert_null(group_set_find_gpu(h.groups, &absent));
	assert_string_equal(group_driver(pair), "nvidia");
	free(h.snapshot->functions[2]->driver);
	h.snapshot->functions[2]->driver = NULL;
	assert_string_equal(group_driver(pair), "mixed");
	free(h.snapshot->functions[0]->driver);
	h.snapshot->functions[0]->driver = NULL;
	assert_string_equal(group_driver(pair), "none");
}

TEST(names_are_ordered_as_people_count)
{
	static const char *const sorted[] = { "",
					      "a",
					      "pair",
					      "pair0",
					      "pair1",
					      "pair2",
					      "pair02x",
					      "pair10",
					      "pair10a",
					      "pair10b",
					      "pair99",
					      "pair100",
					      "quad0",
					      "r99999999999999999999998",
					      "r99999999999999999999999" };

	for (size_t i = 0; i < ELEMENTS(sorted); i++)
		for (size_t k = 0; k < ELEMENTS(sorted); k++) {
			int order = group_compare_names(sorted[i], sorted[k]);

			if ((order < 0) != (i < k) || (order == 0) != (i == k))
				fail_msg("%s and %s: %d", sorted[i], sorted[k], order);
		}
	/* Equal numbers written in two ways are still two names. */
	assert_true(group_compare_names("pair1", "pair01") != 0);
}
