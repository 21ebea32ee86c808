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

static PciNames *names_of(const SysfsTree *tree)
{
	_cleanup_free_ char *path = strf("%s/pci.ids", tree->path);

	return pci_names_new(path);
}

static void assert_name(PciNames *names, uint16_t vendor, uint16_t device, const char *expected)
{
	_cleanup_free_ char *name = pci_names_device(names, vendor, device);

	assert_non_null(name);
	assert_string_equal(name, expected);
}

TEST(names_come_from_the_list)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_names_freep) PciNames *names = NULL;

	tree_write(tree, "pci.ids", LIST);
	names = names_of(tree);
	assert_name(names, 0x10de, 0x2204, "NVIDIA Corporation GA102 [GeForce RTX 3090]");
}

TEST(what_is_not_in_the_list_is_a_number)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_names_freep) PciNames *names = NULL;

	tree_write(tree, "pci.ids", LIST);
	names = names_of(tree);
	assert_name(names, 0x10de, 0xfffe, "NVIDIA Corporation fffe");
	assert_name(names, 0xfefc, 0xfffe, "fefc:fffe");
}

TEST(a_missing_list_gives_numbers)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_names_freep) PciNames *names = names_of(tree);

	assert_name(names, 0x10de, 0x2204, "10de:2204");
}

TEST(a_broken_list_gives_numbers)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_names_freep) PciNames *names = NULL;

	tree_write(tree, "pci.ids", LIST "10d\nnonsense\n\t\t\tx\n");
	names = names_of(tree);
	assert_name(names, 0x10de, 0x2204, "10de:2204");
}

/* Others' names take most of the list, and no GPU of ours has one. */
TEST(only_nvidias_names_are_kept)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_names_freep) PciNames *names = NULL;

	tree_write(tree, "pci.ids",
		   "# a comment\n"
		   "1002  AMD\n\t2204  not this one\n"
		   "10de  NVIDIA Corporation\n"
		   "\t1e30  TU102GL [Quadro RTX 6000/8000]\n"
		   "\t\t10de 129e  Quadro RTX 8000\n"
		   "# within\n"
		   "\n"
		   "\t2204  GA102 [GeForce RTX 3090]\n"
		   "8086  Intel Corporation\n\t1e30  nor this\n"
		   "C 03  Display controller\n"
		   "\t00  VGA compatible controller\n"
		   "\t\t01  8514 controller");
	names = names_of(tree);
	assert_name(names, 0x10de, 0x1e30, "NVIDIA Corporation TU102GL [Quadro RTX 6000/8000]");
	assert_name(names, 0x10de, 0x2204, "NVIDIA Corporation GA102 [GeForce RTX 3090]");
	assert_name(names, 0x10de, 0x129e, "NVIDIA Corporation 129e");
	assert_name(names, 0x8086, 0x1e30, "8086:1e30");
}

TEST(a_directory_in_its_place_gives_numbers)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_names_freep) PciNames *names = NULL;

	tree_write(tree, "pci.ids/file", LIST);
	names = names_of(tree);
	assert_name(names, 0x10de, 0x2204, "10de:2204");
}
