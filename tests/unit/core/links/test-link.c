/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/host-model.h"

static HostModel four_boards(uint16_t device)
{
	static const char *const slots[] = { "0000:41:00", "0000:61:00", "0000:a1:00",
					     "0000:c1:00" };
	HostModel h = host_new();

	for (size_t i = 0; i < ELEMENTS(slots); i++)
		host_gpu(&h, slots[i], device, "nvidia");
	return h;
}

static void declare(HostModel *h)
{
	host_seal(h);
	links_from_declarations(h->links, h->declarations, h->set, &h->notes);
}

static void infer(HostModel *h)
{
	declare(h);
	links_infer(h->links, h->set);
}

TEST(a_declaration_links_every_two_of_its_members)
{
	_cleanup_(host_done) HostModel h = four_boards(0x233b);

	host_declare(&h, "[Group]\nName=trio\nGpu=c1:00.0\nGpu=41:00.0\nGpu=61:00.1\n");
	declare(&h);
	assert_int_equal(h.links->n_items, 3);
	for (size_t i = 0; i < 3; i++) {
		const Link *link = &h.links->items[i];

		assert_true(bdf_compare(&link->a, &link->b) < 0);
		assert_int_equal(link->a.function, 0);
		assert_int_equal(link->provenance, PROVENANCE_DECLARED);
		assert_string_equal(link->group_name, "trio");
		assert_string_equal(link->source, "groups.d/test.conf:1");
		assert_null(link->reasoning);
	}
	assert_null(h.notes);
}

TEST(a_declaration_that_does_not_hold_links_nothing_and_is_noted)
{
	static const struct {
		const char *declared, *linked, *note; /* linked: the group of the only link */
	} rows[] = {
		{ "[Group]\nName=half\nGpu=41:00.0\nGpu=81:00.0\n", NULL,
		  "group half (groups.d/test.conf:1): there is no NVIDIA GPU at 0000:81:00.0" },
		{ "[Group]\nName=self\nGpu=41:00.0\nGpu=slot:3\n"
		  "[Group]\nName=good\nGpu=61:00.0\nGpu=a1:00.0\n",
		  "good", "two members are the same GPU, 0000:41:00.0" },
		/* A GPU that two declarations mean stays with the first. */
		{ "[Group]\nName=first\nGpu=41:00.0\nGpu=61:00.0\n"
		  "[Group]\nName=second\nGpu=slot:3\nGpu=a1:00.0\n",
		  "first", "0000:41:00.0 is in another declared group" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(host_done) HostModel h = four_boards(0x2204);

		h.snapshot->functions[0]->physical_slot = strdup("3");
		host_declare(&h, rows[i].declared);
		declare(&h);
		assert_int_equal(h.links->n_items, rows[i].linked ? 1 : 0);
		if (rows[i].linked)
			assert_string_equal(h.links->items[0].group_name, rows[i].linked);
		assert_int_equal(strv_length(h.notes), 1);
		if (!strstr(h.notes[0], rows[i].note))
			fail_msg("row %zu: %s", i, h.notes[0]);
	}
}

TEST(exactly_two_boards_of_one_model_are_inferred)
{
	static const struct {
		uint16_t devices[4]; /* 0: empty slot */
		uint16_t subsystems[4];
		const char *declare;
		size_t n_inferred;
		const char *what;
	} rows[] = {
		{ { 0x2204, 0x2204 }, { 1, 1 }, NULL, 1, "two boards" },
		{ { 0x2204, 0, 0, 0x2204 }, { 1, 0, 0, 1 }, NULL, 1, "far apart" },
		{ { 0x2204 }, { 1 }, NULL, 0, "one board" },
		{ { 0x2204, 0x2204, 0x2204 }, { 1, 1, 1 }, NULL, 0, "three boards" },
		{ { 0x2204, 0x2204, 0x2204, 0x2204 }, { 1, 1, 1, 1 }, NULL, 0, "four boards" },
		{ { 0x2204, 0x2204, 0x2230, 0x2230 }, { 1, 1, 1, 1 }, NULL, 2, "two models" },
		{ { 0x2204, 0x2204 }, { 1, 2 }, NULL, 0, "two makes" },
		{ { 0x2204, 0x2203 }, { 1, 1 }, NULL, 0, "3090 and 3090 Ti" },
		{ { 0x2684, 0x2684 }, { 1, 1 }, NULL, 0, "boards without NVLink" },
		{ { 0x2330, 0x2330 }, { 1, 1 }, NULL, 0, "SXM boards" },
		{ { 0xfff0, 0xfff0 }, { 1, 1 }, NULL, 0, "boards not in the catalogue" },
		{ { 0x2313, 0x2313 }, { 1, 1 }, NULL, 0, "boards nobody knows about" },
		{ { 0x233b, 0x233b }, { 1, 1 }, NULL, 1, "two boards that bridge by four" },
		{ { 0x233b, 0x233b, 0x233b, 0x233b }, { 1, 1, 1, 1 }, NULL, 0, "four of them" },
		{ { 0x2204, 0x2204, 0x2204, 0x2204 },
		  { 1, 1, 1, 1 },
		  "[Group]\nName=x\nGpu=41:00.0\nGpu=c1:00.0\n",
		  1,
		  "the two that a declaration leaves" },
		{ { 0x2204, 0x2204, 0x2204 },
		  { 1, 1, 1 },
		  "[Group]\nName=x\nGpu=41:00.0\nGpu=a1:00.0\n",
		  0,
		  "the one that a declaration leaves" },
	};
	static const char *const slots[] = { "0000:41:00", "0000:61:00", "0000:a1:00",
					     "0000:c1:00" };

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		size_t inferred = 0;
		_cleanup_(host_done) HostModel h = host_new();

		for (size_t k = 0; k < 4; k++) {
			if (rows[i].devices[k] == 0)
				continue;
			host_gpu(&h, slots[k], rows[i].devices[k], NULL);
			h.snapshot->functions[h.snapshot->n_functions - 2]->subsystem_device =
				rows[i].subsystems[k];
		}
		if (rows[i].declare)
			host_declare(&h, rows[i].declare);
		infer(&h);
		for (size_t k = 0; k < h.links->n_items; k++)
			if (h.links->items[k].provenance == PROVENANCE_INFERRED)
				inferred++;
		if (inferred != rows[i].n_inferred)
			fail_msg("row %zu, %s: %zu inferred", i, rows[i].what, inferred);
	}
}

TEST(an_inferred_link_says_how_it_is_known)
{
	_cleanup_(host_done) HostModel h = host_new();

	host_gpu(&h, "0000:41:00", 0x2204, NULL);
	host_gpu(&h, "0000:61:00", 0x2204, NULL);
	infer(&h);
	assert_string_equal(h.links->items[0].source, "sysfs");
	assert_string_equal(h.links->items[0].reasoning,
			    "0000:41:00.0 and 0000:61:00.0 are the only two RTX 3090 boards of one "
			    "make that no declaration names");
	assert_int_equal(h.links->items[0].count, 0);
}

/* A label to look at, and no reason to infer or not. */
TEST(an_inferred_link_names_the_slots_if_both_are_known)
{
	static const struct {
		const char *first, *second, *told;
	} rows[] = {
		{ "3", "5", "; they are in slots 3 and 5" },
		{ "1", "8-1", "; they are in slots 1 and 8-1" },
		{ "3", NULL, "names" },
		{ NULL, NULL, "names" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		PciFunction **f;
		_cleanup_(host_done) HostModel h = host_new();

		host_gpu(&h, "0000:41:00", 0x2204, NULL);
		host_gpu(&h, "0000:61:00", 0x2204, NULL);
		f = h.snapshot->functions;
		f[0]->physical_slot = rows[i].first ? strdup(rows[i].first) : NULL;
		f[2]->physical_slot = rows[i].second ? strdup(rows[i].second) : NULL;
		infer(&h);
		assert_int_equal(h.links->n_items, 1);
		if (!strstr(h.links->items[0].reasoning, rows[i].told) ||
		    !rows[i].second != !strstr(h.links->items[0].reasoning, "slots"))
			fail_msg("row %zu: %s", i, h.links->items[0].reasoning);
	}
}

TEST(nothing_is_inferred_beside_an_nvswitch)
{
	_cleanup_(host_done) HostModel h = host_new();

	host_gpu(&h, "0000:41:00", 0x2331, NULL);
	host_gpu(&h, "0000:61:00", 0x2331, NULL);
	host_function(&h, "0000:07:00.0", 0x068000, 0x22a3, NULL);
	infer(&h);
	assert_int_equal(h.links->n_items, 0);
}

TEST(nothing_is_inferred_where_a_probe_has_spoken)
{
	_cleanup_(host_done) HostModel h = host_new();

	host_gpu(&h, "0000:41:00", 0x2204, NULL);
	host_gpu(&h, "0000:61:00", 0x2204, NULL);
	host_link(&h, "0000:61:00.0", "0000:81:00.0", PROVENANCE_CACHED, 4);
	infer(&h);
	assert_int_equal(h.links->n_items, 1);
}
