/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host/nvme/controller.h"
#include "host/nvme/use.h"
#include "rig/look-rows.h"

#define ADDRESS "0000:43:00.0"
#define CONTROLLER "sys/bus/pci/devices/" ADDRESS "/nvme/nvme0/"
#define DISK "sys/block/nvme0n1/"
#define HOLD(kind, node, who) "{'kind': '" kind "', 'node': '/dev/" node "', 'who': " who "}"
#define HOLDS(holds) "{'holds': [" holds "], 'unread': []}"
#define LUKS_UUID "4b8e5c1a-7d0f-4f6e-9a53-0123456789ab"

/* A plain file stands for the node; NAME.busy, for one that somebody has for himself. */
static int open_plain(int root_fd, const char *node, dev_t number, bool exclusive, int *ret_fd)
{
	_cleanup_free_ char *busy = strf("%s.busy", node + 1);
	int fd;

	if (exclusive && faccessat(root_fd, busy, F_OK, 0) == 0)
		return -EBUSY;
	fd = openat(root_fd, node + 1, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static void add_disk_file(SysfsTree *tree, const char *path)
{
	static char zeros[65536];

	tree_write_bytes(tree, path, zeros, sizeof(zeros));
}

static SysfsTree *one_nvme(void)
{
	SysfsTree *tree = sysfs_tree_new(NULL);
	PciFunction function = { .bdf = tree_bdf(ADDRESS), .class_code = 0x010802 };

	tree_add_function(tree, &function);
	tree_write(tree, CONTROLLER "state", "live\n");
	tree_write(tree, CONTROLLER "nvme0n1/uevent", "");
	tree_write(tree, CONTROLLER "hwmon3/uevent", "");
	tree_write(tree, "sys/class/nvme-subsystem/nvme-subsys0/nvme0/uevent", "");
	tree_write(tree, DISK "dev", "259:0\n");
	tree_write(tree, DISK "nvme0n1p1/dev", "259:1\n");
	tree_write(tree, DISK "queue/dev", "");
	tree_write(tree, "proc/1/mountinfo", "25 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
	tree_write(tree, "proc/swaps", "Filename\tType\tSize\n/swapfile file 8\n");
	tree_write(tree, "proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1\n");
	add_disk_file(tree, "root/dev/nvme0n1");
	add_disk_file(tree, "root/dev/nvme0n1p1");
	return tree;
}

static json_t *look_for(SysfsTree *tree, bool labels)
{
	_cleanup_(nvme_use_clear) NvmeUse use = { 0 };
	const Bdf bdf = tree_bdf(ADDRESS);

	assert_int_equal(nvme_use_read(&tree->roots, open_plain, &bdf, labels, &use), 0);
	return json_struct_write(nvme_use_members, &use);
}

static json_t *look(SysfsTree *tree)
{
	return look_for(tree, true);
}

static const LookRow rows[] = {
	ROW("nobody has it", { NULL },
	    "{'controller': 'nvme0', 'state': 'live', 'nodes': ['/dev/nvme0n1', '/dev/nvme0n1p1'],"
	    " 'siblings': [], 'holds': [], 'labels': [], 'unread': []}"),
	ROW("another driver has it", { CONTROLLER, NULL },
	    "{'controller': null, 'nodes': [], 'holds': [], 'unread': []}"),
	ROW("a mount",
	    { "proc/1/mountinfo", "25 1 259:1 / /srv rw - ext4 /dev/root rw\n",
	      "root/dev/nvme0n1.busy", "" },
	    HOLDS(HOLD("mount", "nvme0n1p1", "'/srv'") ", " HOLD("claim", "nvme0n1", "null"))),
	ROW("a mount in another name space",
	    { "proc/1/ns/mnt -> mnt:[1]", "", "proc/812/ns/mnt -> mnt:[2]", "",
	      "proc/812/mountinfo", "99 1 259:0 / /data rw - xfs /dev/x rw\n", "proc/812/comm",
	      "mysqld\n", "proc/813/ns/mnt -> mnt:[2]", "", "proc/813/comm", "other\n",
	      "proc/813/mountinfo", "99 1 259:0 / /data rw - xfs /dev/x rw\n" },
	    HOLDS(HOLD("mount", "nvme0n1",
		       "'/data, in the mount name space of mysqld (pid 812)'"))),
	ROW("a mount that a service has of the host",
	    { "proc/1/ns/mnt -> mnt:[1]", "", "proc/1/mountinfo",
	      "25 1 259:1 / /srv rw - ext4 /dev/root rw\n", "proc/812/ns/mnt -> mnt:[2]", "",
	      "proc/812/mountinfo", "99 1 259:1 / /srv rw - ext4 /dev/root rw\n", "proc/812/comm",
	      "udevd\n" },
	    HOLDS(HOLD("mount", "nvme0n1p1", "'/srv'"))),
	ROW("swap", { "proc/swaps", "Filename\tType\n/dev/nvme0n1p1 partition 8\n" },
	    HOLDS(HOLD("swap", "nvme0n1p1", "null"))),
	ROW("LVM",
	    { DISK "nvme0n1p1/holders/dm-3/uevent", "", "sys/block/dm-3/dm/name", "vg-root\n",
	      "sys/block/dm-3/dm/uuid", "LVM-abc\n" },
	    HOLDS(HOLD("dm", "nvme0n1p1", "'vg-root (dm-3, LVM)'"))),
	ROW("multipath by the device mapper",
	    { DISK "holders/dm-0/uevent", "", "sys/block/dm-0/dm/name", "mpatha\n",
	      "sys/block/dm-0/dm/uuid", "mpath-36\n" },
	    HOLDS(HOLD("dm", "nvme0n1", "'mpatha (dm-0, mpath)'"))),
	ROW("md", { DISK "holders/md127/uevent", "" }, HOLDS(HOLD("md", "nvme0n1", "'md127'"))),
	ROW("bcache", { DISK "holders/bcache0/uevent", "" },
	    HOLDS(HOLD("holder", "nvme0n1", "'bcache0'"))),
	ROW("btrfs of several disks", { "sys/fs/btrfs/ab-cd/devices/nvme0n1p1/uevent", "" },
	    HOLDS(HOLD("btrfs", "nvme0n1p1", "'ab-cd'"))),
	ROW("a loop device", { "sys/block/loop4/loop/backing_file", "/dev/nvme0n1\n" },
	    HOLDS(HOLD("loop", "nvme0n1", "'loop4'"))),
	ROW("a loop device of a file", { "sys/block/loop4/loop/backing_file", "/x/nvme0n1\n" },
	    "{'holds': [], 'unread': []}"),
	ROW("nvmet",
	    { "sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1/device_path",
	      "/dev/nvme0n1\n" },
	    HOLDS(HOLD("export", "nvme0n1", "'nvmet (nqn.x)'"))),
	ROW("nvmet passes the controller through",
	    { "sys/kernel/config/nvmet/subsystems/nqn.y/passthru/device_path", "/dev/nvme0\n" },
	    HOLDS(HOLD("export", "nvme0", "'nvmet (nqn.y)'"))),
	ROW("LIO",
	    { "sys/kernel/config/target/core/fileio_0/d0/info",
	      "Status: ACTIVATED\n  TCM FILEIO ID: 0  File: /dev/nvme0n1p1  Size: 5\n" },
	    HOLDS(HOLD("export", "nvme0n1p1", "'LIO (fileio_0/d0)'"))),
	ROW("the kernel's root", { "proc/cmdline", "quiet root=/dev/nvme0n1p1 ro\n" },
	    HOLDS(HOLD("boot", "nvme0n1p1", "'root=/dev/nvme0n1p1'"))),
	ROW("fstab", { "root/etc/fstab", "# c\n/dev/nvme0n1p1 /boot/efi vfat defaults 0 0\n" },
	    HOLDS(HOLD("fstab", "nvme0n1p1", "'/boot/efi'"))),
	ROW("fstab, by a link's name",
	    { "root/etc/fstab", "/dev/disk/by-id/nvme-X-part1\t/mnt\\040x ext4\n",
	      "root/dev/disk/by-id/nvme-X-part1 -> ../../nvme0n1p1", "" },
	    HOLDS(HOLD("fstab", "disk/by-id/nvme-X-part1", "'/mnt x'"))),
	/* Of what is hidden from udev there is no link. */
	ROW("fstab, by the link of its place",
	    { "root/etc/fstab", "/dev/disk/by-path/pci-" ADDRESS "-nvme-1-part1 /mnt ext4\n" },
	    HOLDS(HOLD("fstab", "disk/by-path/pci-" ADDRESS "-nvme-1-part1", "'/mnt'"))),
	ROW("fstab, by the link of its serial number",
	    { CONTROLLER "serial", "S1 N9               \n", "root/etc/fstab",
	      "/dev/disk/by-id/nvme-Model_X_S1_N9_1 /mnt ext4\n" },
	    HOLDS(HOLD("fstab", "disk/by-id/nvme-Model_X_S1_N9_1", "'/mnt'"))),
	ROW("the kernel's root, by the link of its namespace",
	    { DISK "wwid", "eui.0025385b71b0a0d5\n", "proc/cmdline",
	      "root=/dev/disk/by-id/nvme-eui.0025385b71b0a0d5-part1\n" },
	    HOLDS(HOLD("boot", "disk/by-id/nvme-eui.0025385b71b0a0d5-part1",
		       "'root=/dev/disk/by-id/nvme-eui.0025385b71b0a0d5-part1'"))),
	ROW("fstab, by links of another one",
	    { CONTROLLER "serial", "                    \n", "root/etc/fstab",
	      "/dev/disk/by-id/nvme-Model_X_S2 /a ext4\n"
	      "/dev/disk/by-path/pci-0000:44:00.0-nvme-1 /b ext4\n" },
	    "{'holds': [], 'unread': []}"),
	ROW("something that no list names, as ZFS", { "root/dev/nvme0n1.busy", "" },
	    HOLDS(HOLD("claim", "nvme0n1", "null"))),
	ROW("another controller of its subsystem",
	    { "sys/class/nvme-subsystem/nvme-subsys0/nvme7/uevent", "",
	      "sys/class/nvme-subsystem/nvme-subsys1/nvme8/uevent", "" },
	    "{'siblings': ['nvme7']}"),
	ROW("one path of several: the head is what is used",
	    { CONTROLLER "nvme0n1", NULL, CONTROLLER "nvme0c0n1/uevent", "" },
	    "{'nodes': ['/dev/nvme0n1', '/dev/nvme0n1p1']}"),
	/* What cannot be seen is not taken for unused. */
	ROW("a namespace without a block device", { CONTROLLER "nvme0n2/uevent", "" },
	    "{'unread': ['the namespace nvme0n2 has no block device']}"),
	ROW("a disk without a number", { DISK "dev", "" },
	    "{'unread': ['the block device nvme0n1: its number is not in sysfs']}"),
	ROW("a disk that cannot be opened", { "root/dev/nvme0n1p1", NULL },
	    "{'unread': ['what is on /dev/nvme0n1p1: No such file or directory']}"),
	ROW("the host's mounts cannot be read", { "proc/1/mountinfo", NULL },
	    "{'unread': ['the mounts of the host']}"),
};

/* promise M5 */
TEST(who_uses_it_is_named)
{
	look_rows(rows, ELEMENTS(rows), one_nvme, look);
}

/* What cannot be opened for its labels is its tenant's doing; what has it is told all the same. */
static const LookRow returned[] = {
	ROW("what cannot be read", { "root/dev/nvme0n1p1", NULL }, HOLDS("")),
	ROW("a mount", { "proc/1/mountinfo", "25 1 259:1 / /srv rw - ext4 /dev/root rw\n" },
	    HOLDS(HOLD("mount", "nvme0n1p1", "'/srv'"))),
	ROW("fstab, by its path", { "root/etc/fstab", "/dev/nvme0n1p1 /boot/efi vfat\n" },
	    HOLDS(HOLD("fstab", "nvme0n1p1", "'/boot/efi'"))),
	ROW("something that no list names", { "root/dev/nvme0n1.busy", "" },
	    HOLDS(HOLD("claim", "nvme0n1", "null"))),
};

static json_t *look_at_returned(SysfsTree *tree)
{
	return look_for(tree, false);
}

TEST(of_one_that_a_tenant_gave_back_no_label_is_read)
{
	look_rows(returned, ELEMENTS(returned), one_nvme, look_at_returned);
}

TEST(a_function_that_is_gone_is_no_unused_one)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_nvme();
	_cleanup_(nvme_use_clear) NvmeUse use = { 0 };
	const Bdf bdf = tree_bdf("0000:44:00.0");

	assert_int_equal(nvme_use_read(&tree->roots, open_plain, &bdf, true, &use), -ENOENT);
}

TEST(only_the_device_of_that_number_is_opened)
{
	_cleanup_close_ int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = -1;

	assert_int_equal(nvme_open_disk(root_fd, "/dev/null", makedev(1, 3), false, &fd), -ENXIO);
	assert_int_equal(nvme_open_disk(root_fd, "/no/such", 0, false, &fd), -ENOENT);
	assert_int_equal(nvme_open_controller(root_fd, "/dev/null", makedev(1, 5), &fd), -ENXIO);
	assert_int_equal(nvme_open_controller(root_fd, "/no/such", 0, &fd), -ENOENT);
	assert_int_equal(fd, -1);
	assert_int_equal(nvme_open_controller(root_fd, "/dev/null", makedev(1, 3), &fd), 0);
	close(fd);
}

#ifdef HAVE_BLKID
/* LUKS' first header (cryptsetup, lib/luks1/luks.h), and a table of MS-DOS. */
TEST(what_is_on_it_is_read_by_libblkid)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_nvme();
	static char luks[65536] = "LUKS\xba\xbe\0\1", table[65536];
	static const char entry[] = { 0, 0, 0, 0, (char)0x83, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0, 0 };
	json_t *found;

	memcpy(luks + 168, LUKS_UUID, sizeof(LUKS_UUID));
	memcpy(table + 440, "\x78\x56\x34\x12", 4);
	memcpy(table + 446, entry, sizeof(entry));
	memcpy(table + 510, "\x55\xaa", 2);
	tree_write_bytes(tree, "root/dev/nvme0n1", table, sizeof(table));
	tree_write_bytes(tree, "root/dev/nvme0n1p1", luks, sizeof(luks));
	tree_write(tree, "root/etc/fstab",
		   "UUID=" LUKS_UUID " /secret crypt\nPARTUUID=12345678-01 /boot vfat\n");
	found = look(tree);
	expect_json("labels", found,
		    "{'labels': [{'node': '/dev/nvme0n1', 'type': 'dos'}, {'node': "
		    "'/dev/nvme0n1p1', 'type': 'crypto_LUKS', 'uuid': '" LUKS_UUID
		    "', 'part_uuid': '12345678-01'}], 'holds': [" HOLD(
			    "fstab", "nvme0n1p1", "'/secret'") ", " HOLD("fstab", "nvme0n1p1",
									 "'/boot'") "]}");
	expect_json("unlabelled", look_at_returned(tree),
		    "{'labels': [], 'holds': [], 'unread': []}");
}
#endif
