/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/nvme/use.h"
#include "rig/bdf.h"
#include "util/xalloc.h"

TEST(every_hold_says_what_it_is)
{
	for (int kind = 0; kind <= NVME_HOLD_CLAIM; kind++) {
		NvmeHold hold = { (NvmeHoldKind)kind, (char *)"/dev/nvme0n1", NULL };
		_cleanup_free_ char *text = nvme_hold_text(&hold);
		NvmeHoldKind back;

		assert_true(strlen(text) > strlen("/dev/nvme0n1 is "));
		assert_int_equal(
			nvme_hold_kind_from_string(nvme_hold_kind_to_string(hold.kind), &back), 0);
		assert_int_equal(back, kind);
	}
}

TEST(a_hold_is_named_by_who_has_it)
{
	NvmeHold hold = { NVME_HOLD_MOUNT, (char *)"/dev/nvme0n1p2", (char *)"/srv" };
	_cleanup_free_ char *text = nvme_hold_text(&hold);

	assert_string_equal(text, "/dev/nvme0n1p2 is mounted at /srv");
}

TEST(a_controller_behind_vmd_is_known_by_its_segment)
{
	assert_true(nvme_is_behind_vmd(&(Bdf){ .segment = 0x10000, .bus = 0xe1 }));
	assert_false(nvme_is_behind_vmd(&(Bdf){ .segment = 0xffff, .bus = 0xe1 }));
}

typedef struct SpecRow {
	const char *spec, *node;
} SpecRow;

TEST(a_word_of_fstab_finds_its_disk)
{
	char *nodes[] = { (char *)"/dev/nvme0n1", (char *)"/dev/nvme0n1p1", NULL };
	char *aliases[] = { (char *)"/dev/disk/by-id/nvme-X",
			    (char *)"/dev/disk/by-id/nvme-*_S1N9*",
			    (char *)"/dev/disk/by-id/nvme-back\\x20slash", NULL };
	NvmeLabel labels[] = { { .node = nodes[1],
				 .uuid = (char *)"0f2a-11",
				 .name = (char *)"data",
				 .part_uuid = (char *)"aa-01",
				 .part_name = (char *)"boot" } };
	NvmeUse use = { .nodes = nodes, .aliases = aliases, .labels = labels, .n_labels = 1 };
	static const SpecRow rows[] = {
		{ "/dev/nvme0n1p1", "/dev/nvme0n1p1" },
		{ "/dev/nvme0n1p2", NULL },
		{ "/dev/disk/by-id/nvme-X", "/dev/disk/by-id/nvme-X" },
		{ "/dev/disk/by-id/nvme-back\\x20slash", "/dev/disk/by-id/nvme-back\\x20slash" },
		{ "/dev/disk/by-id/nvme-M_S1N9_1-part2", "/dev/disk/by-id/nvme-M_S1N9_1-part2" },
		{ "/dev/disk/by-id/nvme-M_S1N8", NULL },
		{ "/dev/disk/by-uuid/0f2a-11", "/dev/nvme0n1p1" },
		{ "/dev/disk/by-uuid/data", NULL },
		{ "/dev/disk/by-label/data", "/dev/nvme0n1p1" },
		{ "/dev/disk/by-partuuid/aa-01", "/dev/nvme0n1p1" },
		{ "/dev/disk/by-partlabel/boot", "/dev/nvme0n1p1" },
		{ "UUID=0F2A-11", "/dev/nvme0n1p1" },
		{ "UUID=\"0f2a-11\"", "/dev/nvme0n1p1" },
		{ "UUID=0f2a-12", NULL },
		{ "LABEL=data", "/dev/nvme0n1p1" },
		{ "LABEL=Data", NULL },
		{ "PARTUUID=AA-01", "/dev/nvme0n1p1" },
		{ "PARTLABEL=boot", "/dev/nvme0n1p1" },
		{ "PARTLABEL=data", NULL },
		{ "tmpfs", NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const char *node = nvme_use_resolve(&use, rows[i].spec);

		assert_true(str_equal(node, rows[i].node));
	}
}

static void note(size_t node, const char *point, void *userdata)
{
	strv_appendf(userdata, "%zu %s", node, point);
}

TEST(mounts_are_found_by_number_and_not_by_name)
{
	static const char mountinfo[] = "25 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
					"31 25 259:10 / /ten rw - ext4 /dev/nvme0n1p1 rw\n"
					"32 25 0:31 / /run rw - tmpfs tmpfs rw\n"
					"33 25 259:1 /sub /with\\040blank rw - xfs /dev/x rw\n"
					"cut off 259:1";
	char *numbers[] = { (char *)"259:1", (char *)"259:2", NULL };
	_cleanup_strv_ char **found = NULL;
	_cleanup_free_ char *text = NULL;

	nvme_mounts_find(mountinfo, numbers, note, &found);
	text = strv_join(found, ", ");
	assert_string_equal(text, "1 /, 0 /with blank");
}

TEST(what_is_no_escape_stays)
{
	char text[] = "a\\040b\\04\\9\\\\";

	nvme_unescape(text);
	assert_string_equal(text, "a b\\04\\9\\\\");
}
