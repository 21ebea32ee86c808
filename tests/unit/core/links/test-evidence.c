/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evidence itself: merged, kept in a file, bounded. */
#include "rig/test.h"

#include "rig/host-text.h"

/* ---- merging ---- */

static char *in_short(const Evidence *evidence)
{
	_cleanup_strv_ char **list = NULL;

	for (size_t i = 0; i < evidence->n_items; i++) {
		const Sighting *s = &evidence->items[i];

		strv_appendf(&list, "%02x %s@%u", s->bdf.bus, sighting_way_to_string(s->way),
			     (unsigned)(s->seen_usec / 1000000));
	}
	return strv_join(list, "; ");
}

TEST(a_new_look_takes_the_place_of_the_same_boards_older_one)
{
	static const struct {
		const char *older, *newer;
		bool whole;
		const char *merged;
	} cases[] = {
		{ "41-61 nvml@1 x4", "41-61 mmio@2 x4", true, "41 mmio@2; 61 mmio@2" },
		/* On vfio-pci they cannot be looked at; what was seen of them stays. */
		{ "41-61 nvml@1 x4", "41-61 present@2, a1 nvml@2", true,
		  "41 nvml@1; 61 nvml@1; a1 nvml@2" },
		/* But not of another board. */
		{ "41 nvml@1 61x4 device=2235, 61 nvml@1 41x4", "41-61 present@2", true,
		  "61 nvml@1; 41 present@2" },
		{ "41-99 nvml@1", "41 nvml@2", true, "41 nvml@2" },
		{ "41 nvml@1, 41-99 guest@1", "41 guest@2", false,
		  "41 nvml@1; 99 guest@1; 41 guest@2" },
		{ "41-61 guest@1", "41 nvml@2", true, "41 guest@1; 41 nvml@2" },
		/* A guest told of another board. */
		{ "41 guest@1 uuid=GPU-old, 61 guest@1 uuid=GPU-x",
		  "41 nvml@2 uuid=GPU-new, 61 nvml@2 uuid=GPU-x", true,
		  "61 guest@1; 41 nvml@2; 61 nvml@2" },
	};

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_(evidence_unrefp) Evidence *older = evidence_of_text(cases[i].older, NULL);
		_cleanup_(evidence_unrefp) Evidence *newer = evidence_of_text(cases[i].newer, NULL);
		_cleanup_(evidence_unrefp) Evidence *merged = NULL;
		_cleanup_free_ char *found = NULL;

		assert_int_equal(evidence_merge(older, newer, cases[i].whole, &merged), 0);
		found = in_short(merged);
		if (strcmp(found, cases[i].merged) != 0)
			fail_msg("case %zu: %s", i, found);
	}
}

/* ---- the file ---- */

static char *evidence_to_text(const Evidence *evidence)
{
	return record_text(&evidence_kind, evidence_document(evidence));
}

static int evidence_from_text(const char *text, size_t size, Evidence **ret, char **ret_why)
{
	void *evidence = NULL;
	int r = record_parse(&evidence_kind, text, size, &evidence, ret_why);

	if (r >= 0)
		*ret = evidence;
	return r;
}

static const char stored[] = "41 nvml@1 61x4 uuid=GPU-1b5c2f6e serial=48-b0-2d-00-00-00-00-19, "
			     "61 nvml@1 41x4, a1 present@1, 41 guest@2 61x4";

TEST(evidence_survives_its_file_but_is_no_longer_fresh)
{
	_cleanup_(evidence_unrefp) Evidence *evidence = evidence_of_text(stored, NULL),
					    *back = NULL;
	_cleanup_free_ char *text = evidence_to_text(evidence), *again = NULL;

	assert_int_equal(evidence_from_text(text, strlen(text), &back, NULL), 0);
	again = evidence_to_text(back);
	assert_string_equal(text, again);
	assert_int_equal(back->n_items, 4);
	assert_int_equal(back->items[0].peers[0].links, 4);
	assert_string_equal(back->items[0].serial_number, "48-b0-2d-00-00-00-00-19");
	for (size_t i = 0; i < back->n_items; i++)
		assert_false(back->items[i].fresh);
}

/* What replacing a member does not bring about: see test-core-plan-documents. */
TEST(what_cannot_be_is_refused)
{
	static const struct {
		const char *seen;
		bool good;
	} rows[] = {
		{ "", true },
		{ "41 nvml@1", true },
		{ "41 nvml@1, 41 nvml@1", false },
		{ "41 nvml@1, 41 guest@1", true },
		{ "41 nvml@1 uuid=GPU\x01", false },
		{ "41 nvml@1 61x4", true },
		{ "41 nvml@1 41x4", false },
		{ "41 nvml@1 61x0", false },
		{ "41 nvml@1 61x65", false },
		{ "41 nvml@1 61x60 62x60", false },
		{ "41 nvml@1 61x2 61x2", false },
		/* Only a guest's sighting has a domain. */
		{ "41 guest@2 61x4 domain=1", true },
		{ "41 nvml@1 domain=1", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(evidence_unrefp) Evidence *evidence =
			evidence_of_text(rows[i].seen, NULL);
		_cleanup_(evidence_unrefp) Evidence *back = NULL;
		_cleanup_free_ char *text = evidence_to_text(evidence), *again = NULL, *why = NULL;

		if (evidence_from_text(text, strlen(text), &back, &why) !=
			    (rows[i].good ? 0 : -EBADMSG) ||
		    !why == !rows[i].good)
			fail_msg("%s: %s", rows[i].seen, str_or_empty(why));
		again = rows[i].good ? evidence_to_text(back) : NULL;
		if (again)
			assert_string_equal(text, again);
	}
}

TEST(no_more_boards_than_any_host_has_are_kept)
{
	Sighting s = { 0 };
	_cleanup_(evidence_unrefp) Evidence *evidence = xcalloc(1, sizeof(Evidence));

	for (size_t i = 0; i < SIGHTINGS_MAX; i++)
		assert_int_equal(evidence_add(evidence, &s), 0);
	s.source = strdup("x");
	assert_int_equal(evidence_add(evidence, &s), -E2BIG);
	assert_null(s.source);
}
