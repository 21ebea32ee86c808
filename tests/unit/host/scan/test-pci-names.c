/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "host/scan/pci-names.h"
#include "rig/sysfs-tree.h"
#include "util/text.h"

#define LIST                                                                                       \
	"10de  NVIDIA Corporation\n"                                                               \
	"\t2204  GA102 [GeForce RTX 3090]\n"                                                       \
	"8086  Intel Corporation\n"

static void expect_name(size_t row, PciNames *names, uint16_t vendor, uint16_t device,
			const char *expected)
{
	_cleanup_free_ char *name = pci_names_device(names, vendor, device);

	if (!str_equal(name, expected))
		fail_msg("row %zu: %s, not %s", row, name, expected);
}

/* Others' names take most of the list, and no GPU of ours has one. */
#define WHOLE                                                                                      \
	"# a comment\n1002  AMD\n\t2204  not this one\n10de  NVIDIA Corporation\n"                 \
	"\t1e30  TU102GL [Quadro RTX 6000/8000]\n\t\t10de 129e  Quadro RTX 8000\n# within\n\n"     \
	"\t2204  GA102 [GeForce RTX 3090]\n8086  Intel Corporation\n\t1e30  nor this\n"            \
	"C 03  Display controller\n\t00  VGA compatible controller\n\t\t01  8514 controller"

TEST(nvidias_names_come_from_the_list_and_all_else_is_a_number)
{
	static const struct {
		const char *file, *list; /* NULL: there is none */
		uint16_t vendor, device;
		const char *name;
	} rows[] = {
		{ "pci.ids", LIST, 0x10de, 0x2204, "NVIDIA Corporation GA102 [GeForce RTX 3090]" },
		{ "pci.ids", LIST, 0x10de, 0xfffe, "NVIDIA Corporation fffe" },
		{ "pci.ids", LIST, 0xfefc, 0xfffe, "fefc:fffe" },
		{ "pci.ids", WHOLE, 0x10de, 0x1e30,
		  "NVIDIA Corporation TU102GL [Quadro RTX 6000/8000]" },
		{ "pci.ids", WHOLE, 0x10de, 0x2204, "NVIDIA Corporation GA102 [GeForce RTX 3090]" },
		{ "pci.ids", WHOLE, 0x10de, 0x129e, "NVIDIA Corporation 129e" },
		{ "pci.ids", WHOLE, 0x8086, 0x1e30, "8086:1e30" },
		/* Missing, broken, and a directory. */
		{ NULL, NULL, 0x10de, 0x2204, "10de:2204" },
		{ "pci.ids", LIST "10d\nnonsense\n\t\t\tx\n", 0x10de, 0x2204, "10de:2204" },
		{ "pci.ids/file", LIST, 0x10de, 0x2204, "10de:2204" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
		_cleanup_free_ char *path = strf("%s/pci.ids", tree->path);
		_cleanup_(pci_names_freep) PciNames *names = NULL;

		if (rows[i].file)
			tree_write(tree, rows[i].file, rows[i].list);
		names = pci_names_new(path);
		expect_name(i, names, rows[i].vendor, rows[i].device, rows[i].name);
	}
}
