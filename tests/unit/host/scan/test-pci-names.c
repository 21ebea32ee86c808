/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
	PciNames *names = NULL;

	assert_int_equal(pci_names_new_from(path, &names), 0);
	return names;
}

static void assert_name(PciNames *names, uint16_t vendor, uint16_t device, const char *expected)
{
	_cleanup_free_ char *name = pci_names_device(names, vendor, device);

	assert_non_null(name);
	assert_string_equal(name, expected);
}

static void names_come_from_the_list(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_names_freep) PciNames *names = NULL;

	tree_write(tree, "pci.ids", LIST);
	names = names_of(tree);
	assert_name(names, 0x10de, 0x2204, "NVIDIA Corporation GA102 [GeForce RTX 3090]");
}

static void what_is_not_in_the_list_is_a_number(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_names_freep) PciNames *names = NULL;

	/* Ids that no list knows: libpci may also ask the hardware database of udev. */
	tree_write(tree, "pci.ids", LIST);
	names = names_of(tree);
	assert_name(names, 0x10de, 0xfffe, "NVIDIA Corporation fffe");
	assert_name(names, 0xfefc, 0xfffe, "fefc:fffe");
}

static void a_missing_list_gives_numbers(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_names_freep) PciNames *names = names_of(tree);

	assert_name(names, 0x10de, 0x2204, "10de:2204");
}

/* libpci's own way out of this would be exit(1). */
static void a_broken_list_gives_numbers_and_does_not_end_the_process(void **state _unused_)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_names_freep) PciNames *names = NULL;

	tree_write(tree, "pci.ids", LIST "10d\nnonsense\n\t\t\tx\n");
	names = names_of(tree);
	assert_name(names, 0x10de, 0x2204, "10de:2204");
}

static void the_systems_own_list_can_be_absent_or_there(void **state _unused_)
{
	_cleanup_(pci_names_freep) PciNames *names = NULL;

	assert_int_equal(pci_names_new(&names), 0);
	assert_name(names, 0xfefc, 0xfffd, "fefc:fffd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_come_from_the_list),
		cmocka_unit_test(what_is_not_in_the_list_is_a_number),
		cmocka_unit_test(a_missing_list_gives_numbers),
		cmocka_unit_test(a_broken_list_gives_numbers_and_does_not_end_the_process),
		cmocka_unit_test(the_systems_own_list_can_be_absent_or_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
