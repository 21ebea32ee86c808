/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/host-model.h"

static const char *const slots[] = { "0000:41:00", "0000:61:00", "0000:a1:00", "0000:c1:00",
				     "0000:e1:00" };

/* The first n slots with boards of this kind on nvidia. */
static HostModel boards(uint16_t device, size_t n)
{
	HostModel h = host_new();

	for (size_t i = 0; i < n; i++)
		host_gpu(&h, slots[i], device, "nvidia");
	return h;
}

TEST(every_bridge_board_is_in_one_group_and_no_other_board_is)
{
	_cleanup_(host_done) HostModel h = boards(0x2204, 4);

	host_gpu(&h, "0000:01:00", 0x2684, "nvidia"); /* RTX 4090 */
	host_gpu(&h, "0000:02:00", 0x2230, "nvidia"); /* a lone A6000 */
	host_declare(&h, "[Group]\nName=left\nGpu=41:00.0\nGpu=c1:00.0\n");
	host_resolve(&h);
	assert_int_equal(h.groups->n_items, 3);
	for (size_t i = 0; i < h.set->n_gpus; i++) {
		const Gpu *gpu = &h.set->gpus[i];
		size_t n = 0;

		for (size_t g = 0; g < h.groups->n_items; g++)
			for (size_t k = 0; k < h.groups->items[g].n_gpus; k++)
				n += h.groups->items[g].gpus[k] == gpu;
		if (n != (gpu->board->kind == NVLINK_BRIDGE ? 1 : 0))
			fail_msg("%s is in %zu groups", BDF_TEXT(&gpu->lead->bdf), n);
	}
	assert_int_equal(host_group(&h, "left")->provenance, PROVENANCE_DECLARED);
	assert_int_equal(host_group(&h, "pair0")->provenance, PROVENANCE_INFERRED);
	assert_int_equal(host_group(&h, "unknown0")->provenance, PROVENANCE_NONE);
}

TEST(names_of_declarations_are_not_given_away)
{
	_cleanup_(host_done) HostModel h = boards(0x2204, 4);

	host_gpu(&h, "0000:01:00", 0x2230, "nvidia");
	host_declare(&h, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=c1:00.0\n"
			 "[Group]\nName=unknown0\nGpu=slot:1\nGpu=slot:2\n");
	host_link(&h, "0000:61:00.0", "0000:a1:00.0", PROVENANCE_PROBED, 4);
	host_resolve(&h);
	assert_int_equal(host_group(&h, "pair0")->provenance, PROVENANCE_DECLARED);
	assert_int_equal(host_group(&h, "pair1")->provenance, PROVENANCE_PROBED);
	assert_int_equal(host_group(&h, "unknown0")->n_gpus, 0);
	assert_int_equal(host_group(&h, "unknown1")->n_gpus, 1);
}

TEST(groups_that_cannot_be_are_listed_with_their_fault)
{
	static const struct {
		uint16_t devices[5];
		const char *members, *fault; /* NULL: none */
	} rows[] = {
		{ { 0x2204, 0x2204 }, "Gpu=41:00.0\nGpu=61:00.0\n", NULL },
		{ { 0x2204, 0x2204 },
		  "Gpu=41:00.0\nGpu=81:00.0\n",
		  "there is no NVIDIA GPU at 0000:81:00.0" },
		{ { 0x2204, 0x2684 },
		  "Gpu=41:00.0\nGpu=61:00.0\n",
		  "0000:61:00.0 (RTX 4090) cannot be in a group: Ada boards have no NVLink" },
		{ { 0x2330, 0x2330 },
		  "Gpu=41:00.0\nGpu=61:00.0\n",
		  "0000:41:00.0 (H100 SXM5 80GB) cannot be in a group: NVLinks of SXM" },
		{ { 0x2235, 0x2230 },
		  "Gpu=41:00.0\nGpu=61:00.0\n",
		  "0000:41:00.0 (A40) and 0000:61:00.0 (RTX A6000) differ" },
		{ { 0x2204, 0xfff0 },
		  "Gpu=41:00.0\nGpu=61:00.0\n",
		  "0000:41:00.0 (RTX 3090) and 0000:61:00.0 (10de:fff0) differ" },
		{ { 0x2204, 0x2204, 0x2204 },
		  "Gpu=41:00.0\nGpu=61:00.0\nGpu=a1:00.0\n",
		  "it has 3 GPUs, but a bridge ties at most 2 of RTX 3090" },
		{ { 0x233b, 0x233b, 0x233b, 0x233b, 0x233b },
		  "Gpu=41:00.0\nGpu=61:00.0\nGpu=a1:00.0\nGpu=c1:00.0\nGpu=e1:00.0\n",
		  "it has 5 GPUs, but a bridge ties at most 4 of H200 NVL" },
		{ { 0x233b, 0x233b, 0x233b, 0x233b },
		  "Gpu=41:00.0\nGpu=61:00.0\nGpu=a1:00.0\nGpu=c1:00.0\n",
		  NULL },
		/* both revisions of one board, and boards that only the operator knows */
		{ { 0x1e04, 0x1e07 }, "Gpu=41:00.0\nGpu=61:00.0\n", NULL },
		{ { 0xfff0, 0xfff0 }, "Gpu=41:00.0\nGpu=61:00.0\n", NULL },
		{ { 0x2313, 0x2313 }, "Gpu=41:00.0\nGpu=61:00.0\n", NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = strf("[Group]\nName=x\n%s", rows[i].members);
		const Group *group;
		_cleanup_(host_done) HostModel h = host_new();

		for (size_t k = 0; k < ELEMENTS(slots) && rows[i].devices[k]; k++)
			host_gpu(&h, slots[k], rows[i].devices[k], "nvidia");
		host_declare(&h, text);
		host_resolve(&h);
		host_observe(&h, true);
		group = host_group(&h, "x");
		if (group->assignable != !rows[i].fault ||
		    group->state != (rows[i].fault ? GROUP_DEGRADED : GROUP_FREE) ||
		    !str_starts_with(str_or_empty(group->reason), str_or_empty(rows[i].fault)))
			fail_msg("row %zu: %s, %s", i, group_state_to_string(group->state),
				 str_or_empty(group->reason));
	}
}

TEST(link_text_tells_seen_from_expected)
{
	static const struct {
		uint16_t device;
		size_t n;
		unsigned seen; /* between any two; 0: no probe */
		const char *text;
		bool sound;
	} rows[] = {
		{ 0x2204, 2, 0, "NV4?", true },	  { 0x2204, 2, 4, "NV4", true },
		{ 0x2204, 2, 2, "NV2", false },	  { 0x20b5, 2, 12, "NV12", true },
		{ 0x1e82, 2, 0, "NV1?", true },	  { 0x233b, 2, 0, "NV18?", true },
		{ 0x233b, 4, 0, "NV6?", true },	  { 0x233b, 4, 6, "NV6", true },
		{ 0x233b, 4, 5, "NV5", false },	  { 0x20b8, 2, 0, "?", true },
		{ 0x20b8, 2, 3, "NV3", true },	  { 0xfff0, 2, 0, "?", true },
		{ 0x2331, 2, 11, "NV11", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = NULL;
		const Group *group;
		_cleanup_(host_done) HostModel h = boards(rows[i].device, rows[i].n);

		host_declare(&h,
			     rows[i].n == 2
				     ? "[Group]\nName=x\nGpu=41:00.0\nGpu=61:00.0\n"
				     : "[Group]\nName=x\nGpu=41:00.0\nGpu=61:00.0\nGpu=a1:00.0\n"
				       "Gpu=c1:00.0\n");
		for (size_t a = 0; rows[i].seen && a < rows[i].n; a++)
			for (size_t b = a + 1; b < rows[i].n; b++) {
				_cleanup_free_ char *x = strf("%s.0", slots[a]);
				_cleanup_free_ char *y = strf("%s.0", slots[b]);

				host_link(&h, x, y, PROVENANCE_PROBED, rows[i].seen);
			}
		host_resolve(&h);
		group = host_group(&h, "x");
		text = group_link_text(group);
		if (strcmp(text, rows[i].text) != 0 || (group->fault == NULL) != rows[i].sound)
			fail_msg("row %zu: %s, %s", i, text, str_or_empty(group->fault));
	}
}

TEST(observed_links_make_groups_as_strong_as_their_weakest)
{
	const Group *quad;
	_cleanup_(host_done) HostModel h = boards(0x233b, 4);

	host_link(&h, "0000:41:00.0", "0000:61:00.0", PROVENANCE_PROBED, 6);
	host_link(&h, "0000:61:00.0", "0000:a1:00.0", PROVENANCE_PROBED, 6);
	host_link(&h, "0000:a1:00.0", "0000:c1:00.0", PROVENANCE_CACHED, 6);
	/* Not needed: the GPUs are connected without it. */
	host_link(&h, "0000:41:00.0", "0000:a1:00.0", PROVENANCE_CACHED, 6);
	host_resolve(&h);
	quad = host_group(&h, "quad0");
	assert_int_equal(quad->n_gpus, 4);
	assert_int_equal(quad->provenance, PROVENANCE_CACHED);
	assert_string_equal(quad->source, "NVML");
	assert_null(quad->fault);
}

TEST(separate_links_make_separate_pairs)
{
	_cleanup_(host_done) HostModel h = boards(0x2230, 4);

	host_link(&h, "0000:61:00.0", "0000:a1:00.0", PROVENANCE_PROBED, 4);
	host_link(&h, "0000:41:00.0", "0000:c1:00.0", PROVENANCE_GUEST, 4);
	host_resolve(&h);
	assert_int_equal(h.groups->n_items, 2);
	assert_string_equal(BDF_TEXT(&host_group(&h, "pair0")->gpus[1]->lead->bdf), "0000:c1:00.0");
	assert_int_equal(host_group(&h, "pair0")->provenance, PROVENANCE_GUEST);
	assert_int_equal(host_group(&h, "pair1")->provenance, PROVENANCE_PROBED);
}

TEST(a_probe_that_contradicts_a_declaration_refuses_it)
{
	const Group *left;
	_cleanup_(host_done) HostModel h = boards(0x2230, 4);

	host_declare(&h, "[Group]\nName=left\nGpu=41:00.0\nGpu=61:00.0\n");
	host_link(&h, "0000:41:00.0", "0000:a1:00.0", PROVENANCE_PROBED, 4);
	host_resolve(&h);
	host_observe(&h, true);
	left = host_group(&h, "left");
	assert_int_equal(left->state, GROUP_DEGRADED);
	assert_string_equal(left->reason,
			    "0000:41:00.0 is linked to 0000:a1:00.0, which is not a member "
			    "(probed, NVML, -), but declared with 0000:61:00.0 in "
			    "groups.d/test.conf:1");
	/* And the two that are left are not paired by that doubtful declaration. */
	assert_int_equal(host_group(&h, "unknown0")->n_gpus, 2);
	assert_non_null(strstr(host_group(&h, "unknown0")->reasoning, "declared group left"));
}

TEST(a_probe_that_agrees_adds_its_count_to_a_declaration)
{
	const Group *left;
	_cleanup_(host_done) HostModel h = boards(0x2230, 2);

	host_declare(&h, "[Group]\nName=left\nGpu=41:00.0\nGpu=61:00.0\n");
	host_link(&h, "0000:41:00.0", "0000:61:00.0", PROVENANCE_CACHED, 2);
	host_link(&h, "0000:41:00.0", "0000:61:00.0", PROVENANCE_PROBED, 4);
	host_resolve(&h);
	left = host_group(&h, "left");
	assert_int_equal(left->provenance, PROVENANCE_DECLARED);
	assert_int_equal(left->links, 4);
	assert_null(left->fault);
}

TEST(links_to_boards_that_are_gone_are_ignored)
{
	_cleanup_(host_done) HostModel h = boards(0x2204, 1);

	host_link(&h, "0000:41:00.0", "0000:99:00.0", PROVENANCE_CACHED, 4);
	host_resolve(&h);
	assert_int_equal(h.groups->n_items, 1);
	assert_int_equal(host_group(&h, "unknown0")->n_gpus, 1);
}

TEST(an_unsettled_declaration_stops_inference_for_its_model_only)
{
	_cleanup_(host_done) HostModel h = boards(0x2204, 2);

	host_gpu(&h, "0000:01:00", 0x2230, "nvidia");
	host_gpu(&h, "0000:02:00", 0x2230, "nvidia");
	/* Whatever board is meant by the second line may be the one at 61:00.0 now. */
	host_declare(&h, "[Group]\nName=half\nGpu=41:00.0\nGpu=99:00.0\n");
	host_resolve(&h);
	assert_int_equal(host_group(&h, "half")->n_gpus, 1);
	assert_int_equal(host_group(&h, "unknown0")->n_gpus, 1);
	assert_string_equal(BDF_TEXT(&host_group(&h, "unknown0")->gpus[0]->lead->bdf),
			    "0000:61:00.0");
	assert_int_equal(host_group(&h, "pair0")->gpus[0]->lead->device, 0x2230);
	assert_int_equal(strv_length(h.groups->notes), 1);
	assert_string_equal(h.groups->notes[0], h.notes[0]);
}

TEST(a_declaration_of_which_nothing_is_found_stops_all_inference)
{
	_cleanup_(host_done) HostModel h = boards(0x2204, 2);

	host_declare(&h, "[Group]\nName=gone\nGpu=98:00.0\nGpu=99:00.0\n");
	host_resolve(&h);
	assert_int_equal(host_group(&h, "gone")->n_gpus, 0);
	assert_string_equal(group_driver(host_group(&h, "gone")), "none");
	assert_int_equal(host_group(&h, "unknown0")->n_gpus, 2);
}

TEST(every_group_says_how_it_is_known)
{
	_cleanup_(host_done) HostModel h = boards(0x2230, 3);

	host_gpu(&h, "0000:01:00", 0x2204, "nvidia");
	host_resolve(&h);
	assert_string_equal(
		host_group(&h, "unknown1")->reasoning,
		"which of 0000:41:00.0, 0000:61:00.0, 0000:a1:00.0 (3 RTX A6000) are bridged "
		"cannot be read from sysfs");
	assert_non_null(strstr(host_group(&h, "unknown0")->reasoning,
			       "0000:01:00.0 is the only RTX 3090 of subsystem 10de:1459"));
}

TEST(functions_and_drivers_are_those_of_all_gpus)
{
	_cleanup_free_ const PciFunction **functions = NULL;
	Bdf audio = bdf_of("0000:61:00.1"), absent = bdf_of("0000:61:00.2");
	const Group *pair;
	size_t n;
	_cleanup_(host_done) HostModel h = boards(0x2204, 2);

	host_resolve(&h);
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
