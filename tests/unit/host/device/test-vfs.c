/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A NIC's VFs, on files that answer as drivers/pci/iov.c does. */
#include "rig/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/device/vfs.h"
#include "rig/sysfs-tree.h"
#include "util/text.h"

#define NIC "0000:42:00.0"
#define VFS_MAX 4

typedef struct Bench {
	SysfsTree *tree;
	DriverOps ops;
	char **writes;
	unsigned have; /* links, which stay */
	int error;     /* of sriov_numvfs */
	bool deaf;     /* it takes the number, and does nothing */
} Bench;

static void make(Bench *b, unsigned number, const char *driver)
{
	_cleanup_free_ char *text = strf("%u\n", number);

	for (unsigned i = 0; i < VFS_MAX; i++) {
		_cleanup_free_ char *bdf = strf("0000:42:00.%u", i + 1);
		_cleanup_free_ char *link = strf("virtfn%u", i);
		_cleanup_free_ char *path = strf("sys/bus/pci/devices/" NIC "/%s", link);
		_cleanup_free_ char *target = strf("../%s", bdf);
		PciFunction vf = { .bdf = tree_bdf(bdf),
				   .class_code = 0x020000,
				   .driver = (char *)driver,
				   .iommu_group = -1,
				   .numa_node = -1 };

		if (i >= number || b->have > i)
			continue;
		b->have = i + 1;
		tree_add_function(b->tree, &vf);
		tree_link(b->tree, path, target);
	}
	tree_write_attribute(b->tree, NIC, "sriov_numvfs", text);
}

static int write_as_kernel(void *userdata, _unused_ int dir_fd, const char *path, const char *value)
{
	const char *name = strrchr(path, '/') + 1;
	Bench *b = userdata;

	strv_appendf(&b->writes, "%s %s", name, value);
	if (strcmp(name, "sriov_numvfs") != 0)
		return 0;
	if (b->error == 0 && !b->deaf)
		make(b, (unsigned)atoi(value), NULL);
	return b->error;
}

static Bench setup(unsigned number, const char *driver)
{
	Bench b = { .tree = sysfs_tree_new(NULL), .ops = { .write = write_as_kernel } };
	PciFunction nic = { .bdf = tree_bdf(NIC),
			    .class_code = 0x020000,
			    .driver = (char *)"mlx5_core",
			    .iommu_group = -1,
			    .numa_node = -1 };

	tree_add_function(b.tree, &nic);
	make(&b, number, driver);
	return b;
}

static int set(Bench *b, unsigned number, bool autoprobe, unsigned *ret)
{
	const Bdf nic = tree_bdf(NIC);

	b->ops.userdata = b;
	return vfs_set(&b->ops, b->tree->roots.sysfs_fd, &nic, number, autoprobe, ret);
}

/* promises M4 */
TEST(vfs_are_made_only_while_none_is_in_use)
{
	static const struct {
		const char *name, *driver, *writes;
		unsigned before, wanted, after;
		int error, expected;
		bool deaf, autoprobe;
	} rows[] = {
		{ "none yet", NULL, "sriov_drivers_autoprobe 0,sriov_numvfs 2", 0, 2, 2, 0, 0,
		  false, false },
		{ "already", "vfio-pci", "", 2, 2, 2, 0, 0, false, false },
		{ "more", NULL, "sriov_drivers_autoprobe 0,sriov_numvfs 0,sriov_numvfs 4", 2, 4, 4,
		  0, 0, false, false },
		{ "none any more", NULL, "sriov_drivers_autoprobe 0,sriov_numvfs 0", 2, 0, 0, 0, 0,
		  false, false },
		{ "as it was", NULL,
		  "sriov_drivers_autoprobe 0,sriov_numvfs 0,sriov_drivers_autoprobe 1", 2, 0, 0, 0,
		  0, false, true },
		{ "as it was, after a try", NULL, "sriov_drivers_autoprobe 1", 0, 0, 0, 0, 0, false,
		  true },
		{ "not as it was", "mlx5_core", "", 2, 0, 2, 0, -EBUSY, false, true },
		{ "a guest has one", "vfio-pci", "", 2, 4, 2, 0, -EBUSY, false, false },
		{ "the host has one", "mlx5_core", "", 2, 0, 2, 0, -EBUSY, false, false },
		{ "its driver makes none", NULL, "sriov_drivers_autoprobe 0,sriov_numvfs 2", 0, 2,
		  0, -ENOENT, -EOPNOTSUPP, false, false },
		{ "it has fewer", NULL, "sriov_drivers_autoprobe 0,sriov_numvfs 2", 0, 2, 0,
		  -ERANGE, -ERANGE, false, false },
		{ "it does nothing", NULL, "sriov_drivers_autoprobe 0,sriov_numvfs 2", 0, 2, 0, 0,
		  -EIO, true, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Bench b = setup(rows[i].before, rows[i].driver);
		_cleanup_free_ char *writes = NULL;
		unsigned number = 99;
		int r;

		b.error = rows[i].error;
		b.deaf = rows[i].deaf;
		r = set(&b, rows[i].wanted, rows[i].autoprobe, &number);
		writes = strv_join(b.writes, ",");
		if (r != rows[i].expected || number != rows[i].after ||
		    strcmp(str_or_empty(writes), rows[i].writes) != 0)
			fail_msg("%s: %s, %u, %s", rows[i].name, strerror(-r), number, writes);
		strv_free(b.writes);
		sysfs_tree_free(b.tree);
	}
}

TEST(what_has_no_vfs_is_told_from_what_is_not_there)
{
	Bench b = setup(0, NULL);
	unsigned number;

	tree_remove_attribute(b.tree, NIC, "sriov_numvfs");
	assert_int_equal(set(&b, 2, false, &number), -EOPNOTSUPP);
	tree_remove_function(b.tree, NIC);
	assert_int_equal(set(&b, 2, false, &number), -ENOENT);
	assert_null(b.writes);
	sysfs_tree_free(b.tree);
}
