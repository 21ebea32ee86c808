/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gpupass/cleanup.h"
#include "rig/rows.h"
#include "util/bdf.h"

/* NULL: it is refused, and the result stays as it is. */
static char *canonical(const char *text)
{
	const Bdf before = { 9, 8, 7, 6 };
	Bdf bdf = before;

	if (bdf_parse(text, &bdf) == 0)
		return strdup(BDF_TEXT(&bdf));
	assert_int_equal(bdf_parse(text, &bdf), -EINVAL);
	assert_true(bdf_equal(&bdf, &before));
	return NULL;
}

static bool is_refused(const char *text)
{
	_cleanup_free_ char *found = canonical(text);

	return !found;
}

TEST(every_form_in_use_is_taken)
{
	static const TextRow rows[] = {
		{ "41:00.0", "0000:41:00.0" },
		{ "0000:41:00.0", "0000:41:00.0" },
		{ "00000000:C1:1f.7", "0000:c1:1f.7" },
		{ "pci_0000_41_00_1", "0000:41:00.1" },
		{ "pci_10000_e1_00_0", "10000:e1:00.0" },
		{ "10000:e1:00.0", "10000:e1:00.0" },
		{ "ffffffff:ff:1f.7", "ffffffff:ff:1f.7" },
		{ "ABCD:Ef:0a.3", "abcd:ef:0a.3" },
		{ "", NULL },
		{ NULL, NULL },
	};

	EXPECT_TEXTS(rows, canonical);
}

TEST(everything_else_is_refused)
{
	expect_each("41|41:00|41:00.|0000:41:00:0|0000:41.00.0|0000::41:00.0|..:..:...|../../etc",
		    is_refused, true);
	/* Functions end at 7, devices at 1f; a function has one digit, a device two. */
	expect_each("41:00.8|41:20.0|41:00.00|41:0.0", is_refused, true);
	/* A segment has four digits at least and eight at most. */
	expect_each(
		"141:00.0|000:41:00.0|000000000:41:00.0|100000000:41:00.0|pci_100000000_41_00_0",
		is_refused, true);
	/* Nothing stands before it or behind it, and no other character in it. */
	expect_each(
		"0000:41:00.0 | 0000:41:00.0|0000:41:00.0\n|0x00:41:00.0|-001:41:00.0|gggg:41:00.0",
		is_refused, true);
	/* libvirt's form has its prefix, and its segment. */
	expect_each("0000_41_00_0|pci_41_00_0|pci_0000:41:00.0|pci_0000_41_00_0_|PCI_0000_41_00_0",
		    is_refused, true);
}

TEST(every_address_reads_back_as_it_was_written)
{
	static const uint32_t segments[] = { 0, 1, 0xffff, 0x10000, 0xffffffff };

	for (size_t s = 0; s < ELEMENTS(segments); s++)
		for (unsigned n = 0; n < 65536; n++) {
			Bdf bdf = { segments[s], (uint8_t)(n >> 8), n >> 3 & 31, n & 7 }, back;

			assert_int_equal(bdf_parse(BDF_TEXT(&bdf), &back), 0);
			assert_true(bdf_equal(&bdf, &back));
		}
}

TEST(addresses_are_ordered_by_segment_bus_device_function)
{
	static const char *const sorted[] = { "0000:00:00.0", "0000:00:00.1", "0000:00:01.0",
					      "0000:01:00.0", "0000:ff:1f.7", "0001:00:00.0",
					      "10000:00:00.0" };

	for (size_t i = 0; i < ELEMENTS(sorted); i++)
		for (size_t k = 0; k < ELEMENTS(sorted); k++) {
			Bdf a, b;
			int order;

			assert_int_equal(bdf_parse(sorted[i], &a), 0);
			assert_int_equal(bdf_parse(sorted[k], &b), 0);
			order = bdf_compare(&a, &b);
			if ((order < 0) != (i < k) || (order == 0) != (i == k))
				fail_msg("%s and %s: %d", sorted[i], sorted[k], order);
		}
}

TEST(one_slot_is_all_but_the_function)
{
	const Bdf a = { 0, 0x41, 0, 0 }, audio = { 0, 0x41, 0, 1 }, device = { 0, 0x41, 1, 0 },
		  segment = { 1, 0x41, 0, 0 };
	const Bdf list[] = { audio, device };

	assert_true(bdf_same_slot(&a, &audio));
	assert_false(bdf_same_slot(&a, &device));
	assert_false(bdf_same_slot(&a, &segment));
	assert_true(bdf_in(&device, list, ELEMENTS(list)));
	assert_false(bdf_in(&a, list, ELEMENTS(list)));
	assert_false(bdf_in(&a, NULL, 0));
}
