/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/setup/driver-ids.h"
#include "rig/rows.h"

/* The boards of field/host: a 3090 of ASUS, its display and its audio function. */
static const PciFunction display = {
	.vendor = 0x10de,
	.device = 0x2204,
	.subsystem_vendor = 0x1043,
	.subsystem_device = 0x87b3,
	.class_code = 0x030000,
};
static const PciFunction audio = {
	.vendor = 0x10de,
	.device = 0x1aef,
	.subsystem_vendor = 0x1043,
	.subsystem_device = 0x87b3,
	.class_code = 0x040300,
};

/* What takes which function: the entry, or NULL. */
static const struct {
	const char *ids, *display, *audio;
} rows[] = {
	/* field: host/01 */
	{ "10de:2204,10de:1aef", "10de:2204", "10de:1aef" },
	{ "10DE:2204", "10DE:2204", NULL },
	/* field: host/14, other-1 to other-3 */
	{ "10de:2204:1043:ffff", NULL, NULL },
	{ "10de:1aef,10de:1ad8", NULL, "10de:1aef" },
	{ "10de:2204:1043:87b3", "10de:2204:1043:87b3", NULL },
	{ "10de:2204:1043", "10de:2204:1043", NULL },
	{ "10de:ffffffff", "10de:ffffffff", "10de:ffffffff" },
	{ "ffffffff:ffffffff:ffffffff:87b3", "ffffffff:ffffffff:ffffffff:87b3",
	  "ffffffff:ffffffff:ffffffff:87b3" },
	/* A number of 16 bits that is all ones is no PCI_ANY_ID. */
	{ "10de:ffff", NULL, NULL },
	{ "10de:ffffffff:ffffffff:ffffffff:030000:ff0000",
	  "10de:ffffffff:ffffffff:ffffffff:030000:ff0000", NULL },
	{ "10de:ffffffff:ffffffff:ffffffff:040300:ffffff", NULL,
	  "10de:ffffffff:ffffffff:ffffffff:040300:ffffff" },
	/* A public form: all boards of a maker. */
	{ "10de:ffffffff:ffffffff:ffffffff:00030000:ffff00ff,"
	  "10de:ffffffff:ffffffff:ffffffff:00040300:ffffffff",
	  "10de:ffffffff:ffffffff:ffffffff:00030000:ffff00ff",
	  "10de:ffffffff:ffffffff:ffffffff:00040300:ffffffff" },
	/* Without a mask no class is compared. */
	{ "10de:2204:ffffffff:ffffffff:040300", "10de:2204:ffffffff:ffffffff:040300", NULL },
	{ ",,10de:2204,", "10de:2204", NULL },
	{ "0x10de:0X2204", "0x10de:0X2204", NULL },
	{ " 10de: 2204", " 10de: 2204", NULL },
	{ "10de:2204 ", "10de:2204 ", NULL },
	{ "10de:2204;10de:1aef", "10de:2204;10de:1aef", NULL },
	{ "10de:2204:", "10de:2204:", NULL },
	/* The kernel keeps 32 bits. */
	{ "10de:100002204", "10de:100002204", NULL },
	{ "000000010de:00002204", "000000010de:00002204", NULL },
};

static void expect_entry(const char *ids, const PciFunction *function, const char *expected)
{
	size_t size = 0;
	const char *entry = driver_ids_find(ids, function, &size);

	if (expected ? !entry || strlen(expected) != size || strncmp(entry, expected, size) != 0
		     : entry != NULL)
		fail_msg("%s: %.*s instead of %s", ids, (int)size, str_or_empty(entry),
			 str_or_empty(expected));
}

static bool takes(const char *ids)
{
	size_t size;

	return driver_ids_find(ids, &display, &size) || driver_ids_find(ids, &audio, &size);
}

TEST(ids_take_what_the_kernel_would_take)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		expect_entry(rows[i].ids, &display, rows[i].display);
		expect_entry(rows[i].ids, &audio, rows[i].audio);
	}
	expect_each("8086:2204,10de:22041|10de:2204:10de|10de:XXXX,10de:YYYY|10de :2204|10de|10de:|"
		    ":2204|10de.2204|-10de:2204|nvidia",
		    takes, false);
	assert_false(takes(""));
}

TEST(ids_that_are_too_long_take_nothing)
{
	_cleanup_free_ char *blanks = repeated(",", 1013);
	_cleanup_free_ char *ids = strf("10de:2204,%s", blanks), *longer = strf("%s,", ids);

	expect_entry(ids, &display, "10de:2204");
	expect_entry(longer, &display, NULL);
}
