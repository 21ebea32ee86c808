/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/pci/snapshot-json.h"
#include "host/scan/function.h"
#include "host/scan/scan.h"
#include "rig/look-rows.h"
#include "util/file.h"

#define DEVICES "sys/bus/pci/devices/"
#define BRIDGE "0000:40:01.1"
#define GPU "0000:41:00.0"
#define AUDIO "0000:41:00.1"
#define OF_GPU DEVICES GPU "/"
#define OF_AUDIO DEVICES AUDIO "/"

static SysfsTree *host(void)
{
	SysfsTree *tree = sysfs_tree_new(NULL);

	tree_add_bridge(tree, BRIDGE, 32);
	tree_add_gpu(tree, GPU, 0x2230, "nvidia", 33, BRIDGE);
	return tree;
}

/* The snapshot, or the name of an error. */
static json_t *look(SysfsTree *tree)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	_cleanup_free_ char *text = NULL;
	int r = scan_pci(tree->roots.sysfs_fd, &snapshot);

	if (r < 0) {
		assert_null(snapshot);
		return json_string(strerrorname_np(-r));
	}
	assert_true(snapshot->taken_usec > 0);
	text = pci_snapshot_to_json(snapshot);
	return json_loads(text, 0, NULL);
}

#define IDS                                                                                        \
	"'bdf': '" GPU "', 'vendor': '10de', 'device': '2230', 'subsystem_vendor': '10de', "       \
	"'subsystem_device': '1467', 'class': '030000'"
/* Of the bridge, the GPU, and its audio function. */
#define GPU_IS(facts) "{'functions': [{}, {" facts "}, {}]}"
#define AND_ONE(bdf, facts) "{'functions': [{}, {}, {}, {'bdf': '" bdf "', " facts "}]}"
#define VMD "sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0/"
#define AMD "sys/devices/pci0000:42/0000:42:00.0/"
#define MDEV "4b20d080-1b54-4048-85b3-a6a62d165c01"
#define OF_MDEV "sys/bus/mdev/devices/"

static const LookRow rows[] = {
	ROW("ids, class, driver and IOMMU group", { NULL },
	    "{'iommu': true, 'mdevs': null, 'functions': ["
	    "{'bdf': '" BRIDGE "', 'bridge': true, 'numa_node': null, 'driver': 'pcieport'}, "
	    "{" IDS ", 'driver': 'nvidia', 'vfio_dev': null, 'iommu_group': 33, 'numa_node': 0, "
	    "'bridge': null}, {}]}"),
	ROW("a device of vfio is seen by its folder",
	    { OF_GPU "driver", NULL, OF_GPU "driver -> ../../../../bus/pci/drivers/acme_gpu", "",
	      OF_GPU "vfio-dev/vfio3/dev", "511:3\n" },
	    "{'functions': [{}, {'driver': 'acme_gpu', 'vfio_dev': true}, {'vfio_dev': null}]}"),
	ROW("a function without driver and IOMMU group",
	    { OF_GPU "driver", NULL, OF_GPU "iommu_group", NULL, "sys/kernel/iommu_groups", NULL },
	    "{'iommu': false, 'functions': [{}, {'driver': null, 'iommu_group': null}, {}]}"),
	ROW("details are read of NVIDIA's GPUs and their slot",
	    { "sys/bus/pci/slots/3/address", "0000:41:00\n",
	      "sys/bus/pci/slots/placeholder/address", "0000:41\n" },
	    "{'functions': [{}, {'reset_methods': 'flr bus', 'power_state': 'D0', "
	    "'physical_slot': '3', 'bar_size': [16777216, 268435456, 0, 33554432, 0, 128, 524288], "
	    "'upstream': ['" BRIDGE "']}, "
	    "{'physical_slot': '3', 'bar_size': [16384, 0, 0, 0, 0, 0, 0]}]}"),
	ROW("and of no others",
	    { AMD "modalias", "pci:v00001002d00000000sv00000000sd00000000bc03sc00i00\n",
	      AMD "power_state", "D0\n", AMD "reset_method", "bus\n", AMD "resource",
	      "0x00000000f0000000 0x00000000f0000fff 0x0000000000040200\n",
	      DEVICES "0000:42:00.0 -> ../../../devices/pci0000:42/0000:42:00.0", "",
	      "sys/bus/pci/slots/4/address", "0000:42:00\n" },
	    AND_ONE("0000:42:00.0", "'power_state': null, 'reset_methods': null, "
				    "'physical_slot': null, 'bar_size': null")),
	/* After readdir; and after its directory was opened. */
	ROW("functions that vanish are left out",
	    { DEVICES "0000:51:00.0 -> ../../../devices/pci0000:51/0000:51:00.0", "",
	      OF_AUDIO "modalias", NULL, OF_AUDIO "vendor", NULL, OF_AUDIO "device", NULL,
	      OF_AUDIO "subsystem_vendor", NULL, OF_AUDIO "subsystem_device", NULL,
	      OF_AUDIO "class", NULL },
	    "{'functions': [{'bdf': '" BRIDGE "'}, {'bdf': '" GPU "'}]}"),
	ROW("ids of their own files without a modalias", { OF_GPU "modalias", NULL }, GPU_IS(IDS)),
	ROW("with an empty one", { OF_GPU "modalias", "" }, GPU_IS(IDS)),
	ROW("with one of a new form", { OF_GPU "modalias", "pci:new-form" }, GPU_IS(IDS)),
	ROW("with one of another bus", { OF_GPU "modalias", "of:NgpuT(null)" }, GPU_IS(IDS)),
	ROW("names that are no full address are no functions",
	    { DEVICES "41:00.0 -> " GPU, "", DEVICES "0000:41:00.8 -> " GPU, "",
	      DEVICES "0000:4g:00.0 -> " GPU, "", DEVICES "README -> " GPU, "",
	      DEVICES "pci_0000_41_00_0 -> " GPU, "", DEVICES "00000000:41:00.0 -> " GPU, "" },
	    "{'functions': [{}, {}, {}]}"),
	/* Behind Intel VMD the segment has five digits. */
	ROW("upstream begins behind the last host bridge",
	    { VMD "modalias", "pci:v000010DEd00002230sv000010DEsd00001467bc03sc02i00\n",
	      DEVICES "10000:e1:00.0 -> ../../../devices/pci0000:00/0000:00:0e.0/pci10000:e0/"
		      "10000:e0:06.0/10000:e1:00.0",
	      "" },
	    AND_ONE("10000:e1:00.0", "'upstream': ['10000:e0:06.0']")),
	ROW("attributes that old kernels lack are not known",
	    { OF_GPU "numa_node", NULL, OF_GPU "reset_method", NULL, OF_GPU "power_state", NULL,
	      OF_GPU "resource", NULL, OF_GPU "boot_vga", NULL },
	    GPU_IS("'numa_node': null, 'reset_methods': null, 'power_state': null, "
		   "'physical_slot': null, 'bar_size': null, 'boot_vga': null")),
	ROW("half a resource", { OF_GPU "resource", "0x0 0x1\n" }, "'EBADMSG'"),
	ROW("no resource", { OF_GPU "resource", "nonsense and more nonsense\n" }, "'EBADMSG'"),
	ROW("a resource backwards", { OF_GPU "resource", "0x20 0x10 0x0\n" }, "'EBADMSG'"),
	ROW("virtual functions and their parents are marked",
	    { OF_GPU "virtfn0 -> ../" AUDIO, "", OF_AUDIO "physfn -> ../" GPU, "",
	      OF_GPU "boot_vga", "1\n", OF_GPU "sriov_totalvfs", "32\n", OF_GPU "sriov_offset",
	      "4\n", OF_GPU "sriov_stride", "1\n", OF_GPU "sriov_drivers_autoprobe", "1\n" },
	    "{'functions': [{}, {'has_vfs': true, 'virtual_function': null, 'boot_vga': true, "
	    "'vfs_max': 32, 'vf_offset': 4, 'vf_stride': 1, 'vf_autoprobe': 1}, "
	    "{'virtual_function': true, 'boot_vga': null, 'physical': '" GPU "'}]}"),
	ROW("mediated devices are known by their parent",
	    { OF_MDEV MDEV " -> ../../../devices/pci0000:40/0000:40:01.0/0000:41:00.4/" MDEV, "",
	      OF_MDEV "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001 -> "
		      "../../../devices/css0/0.0.0313/83b8f4f2-509f-382f-3c1e-e6bfe0fa1001",
	      "", OF_MDEV "no-uuid -> ../../../devices/0000:41:00.0/no-uuid", "" },
	    "{'mdevs': [{'uuid': '" MDEV "', 'parent': '0000:41:00.4'}]}"),
};

TEST(what_is_there_is_seen)
{
	look_rows(rows, ELEMENTS(rows), host, look);
}

/* Opening a FIFO that nobody writes waits for ever, as these attributes can on a real host. */
TEST(scan_never_opens_what_the_kernel_serves_under_the_device_lock)
{
	static const char *const names[] = { "config", "uevent", "driver_override", "sriov_numvfs",
					     "driver/unbind" };
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = host();

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_free_ char *path = strf("%s/" OF_GPU "%s", tree->path, names[i]);

		unlink(path);
		assert_int_equal(mkfifo(path, 0600), 0);
	}
	alarm(10);
	expect_json("locked", look(tree), "{'functions': [{}, {}, {}]}");
	alarm(0);
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

TEST(a_sysfs_without_pci_is_an_error_and_an_empty_bus_an_empty_snapshot)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	PciSnapshot *snapshot = NULL;

	expect_json("empty", look(tree), "{'functions': [], 'iommu': false}");
	assert_int_equal(scan_pci(tree->roots.proc_fd, &snapshot), -ENOENT);
	assert_null(snapshot);
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
		assert_int_equal(scan_pci(tree->roots.sysfs_fd, &scanned), 0);
		scanned->taken_usec = 0;
		found = pci_snapshot_to_json(scanned);
		if (!str_equal(expected, found))
			fail_msg("%s: expected %s\nfound %s", *name, expected, found);
	}
}
