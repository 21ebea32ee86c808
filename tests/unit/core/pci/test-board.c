/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <stdbool.h>
#include <string.h>

#include "core/pci/board.h"
#include "core/pci/pci-snapshot.h"

/*
 * "No NVLink" has a source of its own: the chip has none; or the chip has it, the board no connector,
 * and then it takes a look to declare the board alone.
 */
static bool is_complete(const Board *b)
{
	bool bridge = b->kind == NVLINK_BRIDGE;
	bool may = board_may_be_bridged(PCI_VENDOR_NVIDIA, b->device);

	return b->name && *b->name && (b->generation >= 1 && b->generation <= 4) == bridge &&
	       (b->group_size == 2 || b->group_size == 4) == bridge &&
	       (b->links > 0) == (b->link_mbps > 0) &&
	       (bridge || (b->links == 0 && b->note && *b->note)) &&
	       (board_exclusion(b) == NULL) == bridge && (may || !bridge) &&
	       (b->kind != NVLINK_NONE || may == (strstr(b->note, "--no-bridge-seen") != NULL));
}

TEST(the_catalogue_is_sorted_complete_and_found_by_id)
{
	size_t n;
	const Board *boards = board_table(&n);

	assert_true(n > 90);
	for (size_t i = 0; i < n; i++) {
		const Board *b = &boards[i];

		if ((i > 0 && boards[i - 1].device >= b->device) || !is_complete(b) ||
		    board_find(PCI_VENDOR_NVIDIA, b->device, 0) != b ||
		    board_find(0x1002, b->device, 0))
			fail_msg("%04x %s is not right", b->device, b->name);
	}
	assert_null(board_find(PCI_VENDOR_NVIDIA, 0xffff, 0));
	assert_null(board_find(PCI_VENDOR_NVIDIA, 0, 0));
	assert_non_null(board_exclusion(NULL));
}

TEST(boards_have_the_published_links)
{
	static const struct {
		uint16_t device;
		const char *name;
		unsigned generation, links, gbps, group_size;
	} rows[] = {
		{ 0x15f0, "Quadro GP100", 1, 4, 160, 2 },
		{ 0x1dba, "Quadro GV100", 2, 4, 200, 2 },
		{ 0x1e02, "Titan RTX", 2, 2, 100, 2 },
		{ 0x1e30, "Quadro RTX 6000/8000", 2, 2, 100, 2 },
		{ 0x1e87, "RTX 2080", 2, 1, 50, 2 },
		{ 0x1e84, "RTX 2070 Super", 2, 1, 50, 2 },
		{ 0x1ec2, "RTX 2070 Super", 2, 1, 50, 2 },
		{ 0x1ec7, "RTX 2070 Super", 2, 1, 50, 2 },
		{ 0x2204, "RTX 3090", 3, 4, 112, 2 },
		{ 0x2230, "RTX A6000", 3, 4, 112, 2 },
		{ 0x20b5, "A100 PCIe 80GB", 3, 12, 600, 2 },
		{ 0x20b7, "A30", 3, 4, 200, 2 },
		{ 0x20f5, "A800 PCIe 80GB", 3, 8, 400, 2 },
		{ 0x2331, "H100 PCIe", 4, 12, 600, 2 },
		{ 0x2321, "H100 NVL", 4, 12, 600, 2 },
		{ 0x233b, "H200 NVL", 4, 18, 900, 4 },
		{ 0x20b8, "A100X", 3, 0, 0, 2 },
		{ 0x20fd, "AX800", 3, 0, 0, 2 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const Board *b = board_find(PCI_VENDOR_NVIDIA, rows[i].device, 0);

		if (!b || strcmp(b->name, rows[i].name) != 0 ||
		    b->generation != rows[i].generation || b->links != rows[i].links ||
		    b->links * b->link_mbps / 1000 != rows[i].gbps ||
		    b->group_size != rows[i].group_size)
			fail_msg("row %zu: %s is wrong", i, rows[i].name);
	}
}

TEST(boards_often_taken_for_bridgeable_are_excluded)
{
	static const struct {
		NvlinkKind kind;
		const char *why;
		uint16_t devices[8];
	} rows[] = {
		ROW(NVLINK_NONE, "Ada boards have no NVLink",
		    { 0x2684, 0x26b5, 0x26ba, 0x27b6, 0x26b3 }),
		ROW(NVLINK_NONE, "Blackwell", { 0x2b85, 0x2bb4, 0x2bb3, 0x2b87 }),
		ROW(NVLINK_NONE, "PCIe board of this Volta GPU", { 0x1db4, 0x1db3 }),
		ROW(NVLINK_NONE, "Turing", { 0x1eb8 }),
		ROW(NVLINK_NONE, "mobile", { 0x1e90 }),
		ROW(NVLINK_NONE, "Ampere", { 0x2236 }),
		ROW(NVLINK_NONE, "mining", { 0x1d83, 0x1e09, 0x20c2, 0x220d }),
		ROW(NVLINK_SXM, "Fabric Manager", { 0x2330, 0x20b2, 0x2309 }),
		ROW(NVLINK_SXM, "superchip", { 0x2342 }),
		ROW(NVLINK_UNKNOWN, "declare the group", { 0x1e37, 0x1e38, 0x2313 }),
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		for (const uint16_t *device = rows[i].devices; *device; device++) {
			const Board *b = board_find(PCI_VENDOR_NVIDIA, *device, 0);

			if (!b || b->kind != rows[i].kind ||
			    !strstr(board_exclusion(b), rows[i].why))
				fail_msg("%04x is wrong", *device);
		}
}

/* A board that is sold tomorrow is not offered for declaration as if it could be bridged. */
TEST(generations_without_nvlink_have_none_on_boards_that_nobody_knows)
{
	static const uint16_t ids[] = { 0x1b80, 0x1f02, 0x1fff, 0x2182, 0x2482, 0x25ff, 0x2600,
					0x26ff, 0x2782, 0x28ff, 0x2b00, 0x2c02, 0x2fff };
	static const uint16_t others[] = { 0x15c2, 0x172e, 0x1d84, 0x1e89, 0x1eb1, 0x2082,
					   0x2207, 0x23f0, 0x2900, 0x2aff, 0x3000 };

	for (size_t i = 0; i < ELEMENTS(ids); i++) {
		const Board *b = board_find(PCI_VENDOR_NVIDIA, ids[i], 0);

		if (!b || b->kind != NVLINK_NONE || b->device != 0 || !board_exclusion(b))
			fail_msg("%04x is offered", ids[i]);
	}
	for (size_t i = 0; i < ELEMENTS(others); i++)
		assert_null(board_find(PCI_VENDOR_NVIDIA, others[i], 0));
	for (size_t i = 0; i < ELEMENTS(others); i++)
		assert_true(board_may_be_bridged(PCI_VENDOR_NVIDIA, others[i]));
}

TEST(a_board_that_its_subsystem_tells_from_others_is_known_by_it)
{
	const Board *h100 = board_find(PCI_VENDOR_NVIDIA, 0x233d, 0x1626);
	const Board *as = board_find(PCI_VENDOR_NVIDIA, 0x2331, 0);

	assert_non_null(h100);
	assert_string_equal(h100->name, as->name);
	assert_int_equal(h100->kind, NVLINK_BRIDGE);
	assert_int_equal(h100->links, as->links);
	assert_int_equal(board_find(PCI_VENDOR_NVIDIA, 0x233d, 0x1627)->kind, NVLINK_UNKNOWN);
}
