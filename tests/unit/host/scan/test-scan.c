/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/pci/snapshot-json.h"
#include "host/scan/function.h"
#include "host/scan/scan.h"
#include "rig/sysfs-tree.h"
#include "util/file.h"
#include "util/text.h"

static PciSnapshot *scan(const SysfsTree *tree)
{
	PciSnapshot *snapshot = NULL;

	assert_int_equal(scan_pci(tree->roots.sysfs_fd, &snapshot), 0);
	return snapshot;
}

static const PciFunction *find(const PciSnapshot *snapshot, const char *bdf)
{
	Bdf address = tree_bdf(bdf);
	const PciFunction *f = pci_snapshot_find(snapshot, &address);

	if (!f)
		fail_msg("%s is not in the snapshot", bdf);
	return f;
}

static bool has(const PciSnapshot *snapshot, const char *bdf)
{
	Bdf address = tree_bdf(bdf);

	return pci_snapshot_find(snapshot, &address) != NULL;
}

TEST(scan_reads_ids_class_driver_and_iommu_group)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	const PciFunction *f;

	tree_add_bridge(tree, "0000:40:01.1", 32);
	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, "0000:40:01.1");
	snapshot = scan(tree);
	assert_int_equal(snapshot->n_functions, 3);
	assert_true(snapshot->iommu);
	assert_true(snapshot->taken_usec > 0);
	f = find(snapshot, "0000:41:00.0");
	assert_int_equal(f->vendor, 0x10de);
	assert_int_equal(f->device, 0x2230);
	assert_int_equal(f->subsystem_vendor, 0x10de);
	assert_int_equal(f->subsystem_device, 0x1467);
	assert_int_equal(f->class_code, 0x030000);
	assert_string_equal(f->driver, "nvidia");
	assert_false(f->vfio_dev);
	assert_int_equal(f->iommu_group, 33);
	assert_int_equal(f->numa_node, 0);
	assert_false(f->bridge);
	f = find(snapshot, "0000:40:01.1");
	assert_true(f->bridge);
	assert_int_equal(f->numa_node, NUMA_NODE_NONE);
	assert_string_equal(f->driver, "pcieport");
}

TEST(a_device_of_vfio_is_seen_by_its_folder)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;

	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "acme_gpu", 33, NULL);
	tree_write_attribute(tree, "0000:41:00.0", "vfio-dev/vfio3/dev", "511:3\n");
	snapshot = scan(tree);
	assert_true(find(snapshot, "0000:41:00.0")->vfio_dev);
	assert_true(pci_function_on_vfio(find(snapshot, "0000:41:00.0")));
	assert_false(pci_function_on_vfio(find(snapshot, "0000:41:00.1")));
}

TEST(a_function_without_driver_and_iommu_group_has_none)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;

	tree_add_gpu(tree, "0000:41:00.0", 0x2230, NULL, IOMMU_GROUP_NONE, NULL);
	snapshot = scan(tree);
	assert_null(find(snapshot, "0000:41:00.0")->driver);
	assert_int_equal(find(snapshot, "0000:41:00.0")->iommu_group, IOMMU_GROUP_NONE);
	assert_int_equal(find(snapshot, "0000:41:00.0")->n_upstream, 0);
	assert_false(snapshot->iommu);
}

TEST(details_are_read_of_nvidia_gpus_and_their_slot_only)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	PciFunction other = {
		.bdf = tree_bdf("0000:42:00.0"),
		.vendor = 0x1002,
		.class_code = 0x030000,
		.power_state = (char[]){ "D0" },
		.reset_methods = (char[]){ "bus" },
		.bar_size = { 4096 },
		.physical_slot = (char[]){ "4" },
	};
	const PciFunction *f;

	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, "0000:40:01.1");
	tree_add_function(tree, &other);
	tree_write(tree, "sys/bus/pci/slots/3/address", "0000:41:00\n");
	tree_write(tree, "sys/bus/pci/slots/placeholder/address", "0000:41\n");
	snapshot = scan(tree);
	f = find(snapshot, "0000:41:00.0");
	assert_string_equal(f->reset_methods, "flr bus");
	assert_string_equal(f->power_state, "D0");
	assert_string_equal(f->physical_slot, "3");
	assert_int_equal(f->bar_size[0], 16 << 20);
	assert_int_equal(f->bar_size[1], 256 << 20);
	assert_int_equal(f->bar_size[2], 0);
	assert_int_equal(f->bar_size[6], 512 << 10);
	assert_int_equal(f->n_upstream, 1);
	assert_true(bdf_equal(&f->upstream[0], &(Bdf){ 0, 0x40, 1, 1 }));
	f = find(snapshot, "0000:41:00.1");
	assert_string_equal(f->physical_slot, "3");
	assert_int_equal(f->bar_size[0], 16 << 10);
	f = find(snapshot, "0000:42:00.0");
	assert_null(f->power_state);
	assert_null(f->reset_methods);
	assert_null(f->physical_slot);
	assert_int_equal(f->bar_size[0], 0);
}

/* Opening a FIFO that nobody writes waits for ever, as these attributes can on a real host. */
TEST(scan_never_opens_what_the_kernel_serves_under_the_device_lock)
{
	static const char *const names[] = { "config", "uevent", "driver_override", "sriov_numvfs",
					     "driver/unbind" };
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;

	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, NULL);
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_free_ char *path =
			strf("%s/bus/pci/devices/0000:41:00.0/%s", tree->sysfs, names[i]);

		unlink(path);
		assert_int_equal(mkfifo(path, 0600), 0);
	}
	alarm(10);
	snapshot = scan(tree);
	alarm(0);
	assert_int_equal(snapshot->n_functions, 2);
}

TEST(scan_leaves_out_functions_that_vanish)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;

	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, NULL);
	tree_add_gpu(tree, "0000:61:00.0", 0x2230, "nvidia", 41, NULL);
	/* gone after readdir; and gone after its directory was opened */
	tree_link(tree, "sys/bus/pci/devices/0000:51:00.0",
		  "../../../devices/pci0000:51/0000:51:00.0");
	static const char *const ids[] = { "modalias",	       "vendor",	   "device",
					   "subsystem_vendor", "subsystem_device", "class" };
	for (size_t i = 0; i < ELEMENTS(ids); i++)
		tree_remove_attribute(tree, "0000:61:00.1", ids[i]);
	snapshot = scan(tree);
	assert_int_equal(snapshot->n_functions, 3);
	assert_false(has(snapshot, "0000:51:00.0"));
	assert_false(has(snapshot, "0000:61:00.1"));
}

TEST(ids_come_from_separate_files_where_there_is_no_modalias)
{
	static const char *const contents[] = { NULL, "", "pci:new-form", "of:NgpuT(null)" };

	for (size_t i = 0; i < ELEMENTS(contents); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
		_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
		const PciFunction *f;

		tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, NULL);
		tree_remove_attribute(tree, "0000:41:00.0", "modalias");
		if (contents[i])
			tree_write_attribute(tree, "0000:41:00.0", "modalias", contents[i]);
		snapshot = scan(tree);
		f = find(snapshot, "0000:41:00.0");
		if (f->vendor != 0x10de || f->device != 0x2230 || f->subsystem_device != 0x1467 ||
		    f->class_code != 0x030000)
			fail_msg("row %zu: %04x:%04x", i, f->vendor, f->device);
	}
}

TEST(modalias_parse_takes_the_kernels_form_and_nothing_else)
{
	static const char *const wrong[] = {
		"",
		"pci:",
		"pci:v000010DEd00002204sv000010DEsd00001467bc03sc00i0",
		"pci:v000010DEd00002204sv000010DEsd00001467bc03sc00i000",
		"pci:v000010DEd00002204sv000010DEsd00001467bc03sc00i00 ",
		"pci:v000110DEd00002204sv000010DEsd00001467bc03sc00i00",
		"pci:v000010DEd00002204sv000010DEsd00001467bc03sc00iXY",
		"usb:v000010DEd00002204sv000010DEsd00001467bc03sc00i00",
		"pci:d00002204v000010DEsv000010DEsd00001467bc03sc00i00",
	};
	PciFunction f = { 0 };

	assert_int_equal(
		modalias_parse("pci:v000010DEd00002204sv00001043sd000087b3bc03sc02i01", &f), 0);
	assert_int_equal(f.vendor, 0x10de);
	assert_int_equal(f.device, 0x2204);
	assert_int_equal(f.subsystem_vendor, 0x1043);
	assert_int_equal(f.subsystem_device, 0x87b3);
	assert_int_equal(f.class_code, 0x030201);
	for (size_t i = 0; i < ELEMENTS(wrong); i++)
		if (modalias_parse(wrong[i], &f) != -EINVAL || f.device != 0x2204)
			fail_msg("row %zu was taken: %s", i, wrong[i]);
}

TEST(names_that_are_no_full_address_are_not_functions)
{
	static const char *const names[] = { "41:00.0", "0000:41:00.8",	    "0000:4g:00.0",
					     "README",	"pci_0000_41_00_0", "00000000:41:00.0" };
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;

	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, NULL);
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_free_ char *path = strf("sys/bus/pci/devices/%s", names[i]);

		tree_link(tree, path, "0000:41:00.0");
	}
	snapshot = scan(tree);
	assert_int_equal(snapshot->n_functions, 2);
}

/* Behind Intel VMD the segment has five digits, and a second host bridge is on the way. */
TEST(upstream_begins_behind_the_last_host_bridge)
{
	static const char device[] = "devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/"
				     "10000:e1:00.0";
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	_cleanup_free_ char *path = strf("sys/%s/modalias", device);
	_cleanup_free_ char *target = strf("../../../%s", device);
	const PciFunction *f;

	tree_write(tree, path, "pci:v000010DEd00002230sv000010DEsd00001467bc03sc02i00\n");
	tree_link(tree, "sys/bus/pci/devices/10000:e1:00.0", target);
	snapshot = scan(tree);
	f = find(snapshot, "10000:e1:00.0");
	assert_int_equal(f->n_upstream, 1);
	assert_true(bdf_equal(&f->upstream[0], &(Bdf){ 0x10000, 0xe0, 6, 0 }));
}

TEST(attributes_that_old_kernels_lack_are_not_known)
{
	static const char *const names[] = { "numa_node", "reset_method", "power_state", "resource",
					     "boot_vga" };
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	const PciFunction *f;

	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, NULL);
	for (size_t i = 0; i < ELEMENTS(names); i++)
		tree_remove_attribute(tree, "0000:41:00.0", names[i]);
	snapshot = scan(tree);
	f = find(snapshot, "0000:41:00.0");
	assert_int_equal(f->numa_node, NUMA_NODE_NONE);
	assert_null(f->reset_methods);
	assert_null(f->power_state);
	assert_null(f->physical_slot);
	assert_int_equal(f->bar_size[0], 0);
	assert_false(f->boot_vga);
}

TEST(content_that_makes_no_sense_fails_the_scan)
{
	static const struct {
		const char *name, *content;
	} rows[] = {
		{ "resource", "0x0 0x1\n" },
		{ "resource", "nonsense and more nonsense\n" },
		{ "resource", "0x20 0x10 0x0\n" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
		PciSnapshot *snapshot = NULL;
		int r;

		tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, NULL);
		tree_write_attribute(tree, "0000:41:00.0", rows[i].name, rows[i].content);
		r = scan_pci(tree->roots.sysfs_fd, &snapshot);
		if (r != -EBADMSG || snapshot)
			fail_msg("row %zu: %s gave %d", i, rows[i].name, r);
	}
}

TEST(virtual_functions_and_their_parents_are_marked)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;

	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, NULL);
	tree_add_gpu(tree, "0000:41:00.4", 0x2230, "nvidia", 34, NULL);
	tree_link(tree, "sys/bus/pci/devices/0000:41:00.0/virtfn0", "../0000:41:00.4");
	tree_link(tree, "sys/bus/pci/devices/0000:41:00.4/physfn", "../0000:41:00.0");
	tree_write_attribute(tree, "0000:41:00.0", "boot_vga", "1\n");
	tree_write_attribute(tree, "0000:41:00.0", "sriov_totalvfs", "32\n");
	tree_write_attribute(tree, "0000:41:00.0", "sriov_offset", "4\n");
	tree_write_attribute(tree, "0000:41:00.0", "sriov_stride", "1\n");
	snapshot = scan(tree);
	assert_true(find(snapshot, "0000:41:00.0")->has_vfs);
	assert_false(find(snapshot, "0000:41:00.0")->virtual_function);
	assert_true(find(snapshot, "0000:41:00.4")->virtual_function);
	assert_true(find(snapshot, "0000:41:00.0")->boot_vga);
	assert_false(find(snapshot, "0000:41:00.4")->boot_vga);
	assert_string_equal(BDF_TEXT(&find(snapshot, "0000:41:00.4")->physical), "0000:41:00.0");
	assert_int_equal(find(snapshot, "0000:41:00.0")->vfs_max, 32);
	assert_int_equal(find(snapshot, "0000:41:00.0")->vf_offset, 4);
	assert_int_equal(find(snapshot, "0000:41:00.0")->vf_stride, 1);
}

#define MDEV "4b20d080-1b54-4048-85b3-a6a62d165c01"

TEST(mediated_devices_are_known_by_their_parent)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;

	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, NULL);
	tree_link(tree, "sys/bus/mdev/devices/" MDEV,
		  "../../../devices/pci0000:40/0000:40:01.0/0000:41:00.4/" MDEV);
	tree_link(tree, "sys/bus/mdev/devices/83b8f4f2-509f-382f-3c1e-e6bfe0fa1001",
		  "../../../devices/css0/0.0.0313/83b8f4f2-509f-382f-3c1e-e6bfe0fa1001");
	tree_link(tree, "sys/bus/mdev/devices/no-uuid", "../../../devices/0000:41:00.0/no-uuid");
	snapshot = scan(tree);
	assert_int_equal(snapshot->n_mdevs, 1);
	assert_string_equal(snapshot->mdevs[0].uuid, MDEV);
	assert_string_equal(BDF_TEXT(&snapshot->mdevs[0].parent), "0000:41:00.4");
}

TEST(a_host_without_mdev_has_none)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;

	tree_add_gpu(tree, "0000:41:00.0", 0x2230, "nvidia", 33, NULL);
	snapshot = scan(tree);
	assert_int_equal(snapshot->n_mdevs, 0);
}

TEST(a_sysfs_without_pci_is_an_error)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	PciSnapshot *snapshot = NULL;

	assert_int_equal(scan_pci(tree->roots.proc_fd, &snapshot), -ENOENT);
	assert_null(snapshot);
}

TEST(an_empty_bus_is_an_empty_snapshot)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = scan(tree);

	assert_int_equal(snapshot->n_functions, 0);
	assert_false(snapshot->iommu);
}

/* The golden hosts, as trees: what is scanned is what was put there, down to the last member. */
TEST(scan_gives_every_golden_host_back)
{
	_cleanup_close_ int fd = open(FIXTURES "/hosts", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_strv_ char **names = NULL;

	assert_int_equal(dir_list(fd, ".json", &names), 0);
	assert_true(strv_length(names) >= 5);
	for (char **name = names; *name; name++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
		_cleanup_(pci_snapshot_freep) PciSnapshot *golden = tree_read_golden(fd, *name);
		_cleanup_(pci_snapshot_freep) PciSnapshot *scanned = NULL;
		_cleanup_free_ char *expected = pci_snapshot_to_json(golden), *found = NULL;

		for (size_t i = 0; i < golden->n_functions; i++)
			tree_add_function(tree, golden->functions[i]);
		scanned = scan(tree);
		scanned->taken_usec = 0;
		found = pci_snapshot_to_json(scanned);
		if (!str_equal(expected, found))
			fail_msg("%s: expected %s\nfound %s", *name, expected, found);
	}
}
