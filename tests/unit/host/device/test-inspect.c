/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "host/device/inspect.h"
#include "rig/look-rows.h"

#define DISPLAY "0000:41:00.0"
#define AUDIO "0000:41:00.1"
#define OF_DISPLAY "sys/bus/pci/devices/" DISPLAY "/"
#define OF_AUDIO "sys/bus/pci/devices/" AUDIO "/"
#define UUID "GPU-1b5c4e0a-6b2f-4c5e-9d7a-0123456789ab"
#define CONFIG_BYTES 4096
#define PCIE_CAP 0x60
#define SERIAL_CAP 0x100

static SysfsTree *one_gpu(void)
{
	SysfsTree *tree = sysfs_tree_new(NULL);

	tree_add_gpu(tree, DISPLAY, 0x2331, "nvidia", 33, NULL);
	return tree;
}

static json_t *look_with(SysfsTree *tree, InspectConfig config)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	const Bdf functions[] = { tree_bdf(DISPLAY), tree_bdf(AUDIO) };

	assert_int_equal(config == INSPECT_CONFIG_NOT
				 ? inspect_functions(&tree->roots, functions, 2, &in)
				 : inspect_config(&tree->roots, functions, 2, config, &in),
			 0);
	return json_struct_write(inspection_members, in);
}

static json_t *look(SysfsTree *tree)
{
	return look_with(tree, INSPECT_CONFIG_NOT);
}

#define INFORMATION "proc/driver/nvidia/gpus/" DISPLAY "/information"
#define OF_FIRST(facts) "{'functions': [{" facts "}, {}]}"
#define NO_WORD OF_FIRST("'uuid': null, 'device_minor': null")
#define NOIOMMU "sys/module/vfio/parameters/enable_unsafe_noiommu_mode"
#define INTERRUPTS "sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"
#if defined(__x86_64__) || defined(__i386__)
#define KNOWN "true"
#else
#define KNOWN "null"
#endif
#define RESOURCE                                                                                   \
	"0x00000000f9000000 0x00000000f9ffffff 0x0000000000040200\n"                               \
	"0x00000000c0000000 0x00000000cfffffff 0x000000000014220c\n"                               \
	"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"                               \
	"0x00000000d0000000 0x00000000d1ffffff 0x000000000014220c\n"                               \
	"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"                               \
	"0x000000000000d000 0x000000000000d07f 0x0000000000040101\n"                               \
	"0x0000000000000000 0x000000000007ffff 0x0000000020046200\n"
#define IOMEM(text)                                                                                \
	{                                                                                          \
		OF_DISPLAY "resource", RESOURCE, "proc/iomem", text                                \
	}
#define BUS "c0000000-dfffffff : PCI Bus 0000:40\n"
#define BAR_1 "  c0000000-cfffffff : 0000:41:00.0\n"
#define HELD(holders) OF_FIRST("'bars_unset': null, 'bar_holders': " holders)
#define UNSET(resource, bits) { OF_DISPLAY "resource", resource }, OF_FIRST("'bars_unset': " bits)
#define REGIONS(text)                                                                              \
	{                                                                                          \
		OF_DISPLAY "iommu_group/reserved_regions", text                                    \
	}
#define VERSION "proc/driver/nvidia/version"
#define DRM "sys/module/nvidia_drm/refcnt", "0\n"
#define MODESET "sys/module/nvidia_drm/parameters/modeset"

static const LookRow rows[] = {
	ROW("driver, override, and VFs",
	    { OF_AUDIO "driver_override", "vfio-pci\n", OF_DISPLAY "sriov_numvfs", "4\n" },
	    "{'functions': [{'driver': 'nvidia', 'driver_override': null, 'num_vfs': 4, "
	    "'uuid': null, 'device_minor': null, 'serial_number': null}, "
	    "{'driver': 'snd_hda_intel', 'driver_override': 'vfio-pci', 'num_vfs': 0}]}"),
	ROW("a NIC", { OF_AUDIO "class", "0x020700\n" },
	    "{'functions': [{'network': null}, {'network': true}]}"),
	ROW("vGPUs of vendor-specific VFs",
	    { OF_DISPLAY "sriov_numvfs", "4\n", OF_DISPLAY "virtfn0 -> ../0000:41:01.0", "",
	      OF_DISPLAY "virtfn1 -> ../0000:41:02.0", "",
	      "sys/devices/pci0000:41/0000:41:01.0/nvidia/current_vgpu_type", "0\n",
	      "sys/devices/pci0000:41/0000:41:02.0/nvidia/current_vgpu_type", "558\n" },
	    OF_FIRST("'vgpus': 1, 'vgpu_type': 558, 'vgpu_vf': '0000:41:02.0'")),
	/* What nvidia's driver says, and does not know. */
	ROW("nvidia's word", { INFORMATION, "GPU UUID: \t " UUID "\nDevice Minor: \t 12\n" },
	    "{'functions': [{'uuid': '" UUID "', 'device_minor': 12}, {'device_minor': null}]}"),
	ROW("no word", { INFORMATION, "" }, NO_WORD),
	ROW("question marks",
	    { INFORMATION,
	      "GPU UUID: \t "
	      "GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?\n"
	      "Device Minor: \t ?\n" },
	    NO_WORD),
	ROW("no values", { INFORMATION, "GPU UUID:\nDevice Minor:\n" }, NO_WORD),
	ROW("wrong values", { INFORMATION, "GPU UUID: \t GPU-1b5c\nDevice Minor: \t -1\n" },
	    NO_WORD),
	ROW("other names", { INFORMATION, "GPU UUIDs: " UUID "\nDevice Minority: 3\n" }, NO_WORD),
	ROW("a minor too large", { INFORMATION, "Device Minor: \t 4294967296\n" }, NO_WORD),
	/* vfio-pci is registered, loadable, or neither. */
	ROW("a module",
	    { "modules/modules.dep", "kernel/drivers/vfio/pci/vfio-pci.ko: kernel/vfio.ko\n" },
	    "{'vfio_pci': false, 'vfio_loadable': true}"),
	ROW("a compressed module",
	    { "modules/modules.dep", "a/b.ko:\nkernel/drivers/vfio/pci/vfio-pci.ko.xz:\n" },
	    "{'vfio_pci': false, 'vfio_loadable': true}"),
	ROW("a module with a line below", { "modules/modules.dep", "extra/vfio_pci.ko.zst: x\n" },
	    "{'vfio_loadable': true}"),
	ROW("the core of it",
	    { "modules/modules.dep", "kernel/drivers/vfio/pci/vfio-pci-core.ko: x\n" },
	    "{'vfio_loadable': false}"),
	ROW("what depends on it",
	    { "modules/modules.dep", "x/y.ko: kernel/drivers/vfio/pci/vfio-pci.ko\n" },
	    "{'vfio_loadable': false}"),
	ROW("built in", { "modules/modules.builtin", "kernel/drivers/vfio/pci/vfio-pci.ko\n" },
	    "{'vfio_loadable': true}"),
	ROW("no module", { "modules/modules.dep", "" }, "{'vfio_loadable': false}"),
	ROW("registered: it needs no module",
	    { "modules/modules.dep", "vfio-pci.ko:\n", "sys/bus/pci/drivers/vfio-pci/bind", "" },
	    "{'vfio_pci': true, 'vfio_loadable': false}"),
	/* Parameters that are not safe. */
	ROW("no parameters", { NULL }, "{'noiommu': false, 'unsafe_interrupts': false}"),
	ROW("both off", { NOIOMMU, "N\n", INTERRUPTS, "N\n" },
	    "{'noiommu': false, 'unsafe_interrupts': false}"),
	ROW("one", { NOIOMMU, "Y\n", INTERRUPTS, "N\n" },
	    "{'noiommu': true, 'unsafe_interrupts': false}"),
	ROW("the other", { NOIOMMU, "N\n", INTERRUPTS, "Y\n" },
	    "{'noiommu': false, 'unsafe_interrupts': true}"),
	ROW("both", { NOIOMMU, "1\n", INTERRUPTS, "1\n" },
	    "{'noiommu': true, 'unsafe_interrupts': true}"),
	ROW("interrupts are not told", { NULL },
	    "{'interrupts_known': null, 'interrupts_remapped': null}"),
	ROW("interrupts are not remapped",
	    { "proc/interrupts", "  9:  0  IO-APIC   9-fasteoi  acpi\n" },
	    "{'interrupts_known': " KNOWN ", 'interrupts_remapped': null}"),
	ROW("interrupts are remapped",
	    { "proc/interrupts", "  9:  0  IR-IO-APIC   9-fasteoi  acpi\n" },
	    "{'interrupts_remapped': true}"),
	/* field: host/03 */
	ROW("who holds a BAR", IOMEM(BUS BAR_1 "    c0000000-c02fffff : BOOTFB\n"),
	    HELD("[{'bar': 1, 'name': 'BOOTFB'}]")),
	ROW("who holds two",
	    IOMEM(BUS BAR_1 "    c0000000-c02fffff : BOOTFB\n"
			    "      c0000000-c02fffff : simpledrm\n"
			    "  d0000000-d1ffffff : 0000:41:00.0\n    d0000000-d00fffff : efifb\n"),
	    HELD("[{'bar': 1, 'name': 'BOOTFB, simpledrm'}, {'bar': 3, 'name': 'efifb'}]")),
	ROW("without CAP_SYS_ADMIN: the second of three, by address",
	    IOMEM("00000000-00000000 : PCI Bus 0000:40\n"
		  "  00000000-00000000 : 0000:41:00.0\n    00000000-00000000 : vfio-pci\n"
		  "  00000000-00000000 : 0000:41:00.0\n    00000000-00000000 : BOOTFB\n"
		  "  00000000-00000000 : 0000:41:00.0\n    00000000-00000000 : nvidia\n"),
	    HELD("[{'bar': 3, 'name': 'BOOTFB'}]")),
	ROW("the one of them that is there is not known",
	    IOMEM("  00000000-00000000 : 0000:41:00.0\n    00000000-00000000 : BOOTFB\n"),
	    HELD("[{'bar': null, 'name': 'BOOTFB'}]")),
	ROW("siderolabs/talos#14356",
	    IOMEM("c0000000-cfffffff : 0000:41:00.0\n  c0000000-c1fa3fff : BOOTFB\n"
		  "    c0000000-c1fa3fff : simpledrm\n"),
	    HELD("[{'bar': 1, 'name': 'BOOTFB, simpledrm'}]")),
	ROW("another board's",
	    IOMEM(BUS "  c0000000-cfffffff : 0000:42:00.0\n    c0000000-c02fffff : BOOTFB\n"),
	    HELD("null")),
	ROW("one of no board", IOMEM("c0000000-c02fffff : BOOTFB\n"), HELD("null")),
	ROW("one beside it", IOMEM(BUS BAR_1 "  e0000000-e02fffff : BOOTFB\n"), HELD("null")),
	ROW("one that draws by itself", IOMEM(BUS BAR_1 "    c0000000-c02fffff : vfio-pci\n"),
	    HELD("null")),
	ROW("another name", IOMEM(BUS BAR_1 "    c0000000-c02fffff : BOOTFBX\n"), HELD("null")),
	ROW("at this depth the kernel indents no further",
	    IOMEM("          c0000000-cfffffff : 0000:41:00.0\n"
		  "          c0000000-c02fffff : BOOTFB\n"),
	    HELD("null")),
	ROW("garbage in iomem", IOMEM("garbage\n\n : \n"), HELD("null")),
	/* field: host/09 */
	ROW("a BAR without an address",
	    UNSET("0x00000000f9000000 0x00000000f9ffffff 0x0000000000040200\n"
		  "0x0000000000000000 0x0000000fffffffff 0x000000002014220c\n",
		  "2")),
	ROW("BARs of virtual functions that are off (GeForce RTX 50)",
	    UNSET(RESOURCE "0x0000000000000000 0x000000000003ffff 0x000000002014220c\n", "null")),
	ROW("an address of ports is not missed",
	    UNSET("0x0000000000000000 0x000000000000007f 0x0000000020040101\n", "null")),
	ROW("neither is one of the ROM", UNSET(RESOURCE, "null")),
	ROW("no BAR", UNSET("0x0000000000000000 0x0000000000000000 0x0000000000000000\n", "null")),
	ROW("garbage for BARs", UNSET("garbage\n", "null")),
	/* Only regions of type direct count. */
	ROW("a region for MSI", REGIONS("0x00000000fee00000 0x00000000feefffff msi\n"),
	    OF_FIRST("'direct_region': null")),
	ROW("a relaxable one",
	    REGIONS("0x00000000bdf6e000 0x00000000bdf81fff direct-relaxable\n"
		    "0x000000fd00000000 0x000000ffffffffff reserved\n"),
	    OF_FIRST("'direct_region': null")),
	ROW("a direct one",
	    REGIONS("0x00000000fee00000 0x00000000feefffff msi\n"
		    "0x00000000bdf6e000 0x00000000bdf81fff direct\n"),
	    OF_FIRST("'direct_region': '0x00000000bdf6e000-0x00000000bdf81fff'")),
	ROW("a word only", REGIONS("direct\n"), OF_FIRST("'direct_region': null")),
	/* fault N1 */
	/* Fail closed: whatever does not say no counts as yes. */
	ROW("no driver is loaded", { NULL }, "{'nvidia_version': null, 'nvidia_modeset': false}"),
	ROW("modeset",
	    { VERSION,
	      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\nGCC version\n", DRM,
	      MODESET, "Y\n" },
	    "{'nvidia_version': '550.54.15', 'nvidia_modeset': true}"),
	ROW("no modeset",
	    { VERSION, "NVRM version: NVIDIA UNIX Open Kernel Module  580.105.08  Release\n", DRM,
	      MODESET, "N\n" },
	    "{'nvidia_version': '580.105.08', 'nvidia_modeset': false}"),
	ROW("bytes for a version", { VERSION, "\377\n", DRM, MODESET, "1\n" },
	    "{'nvidia_version': null, 'nvidia_modeset': true}"),
	ROW("an empty version", { VERSION, "", DRM, MODESET, "0\n" },
	    "{'nvidia_version': null, 'nvidia_modeset': false}"),
	ROW("modeset is not told", { DRM }, "{'nvidia_version': null, 'nvidia_modeset': true}"),
};

TEST(what_is_there_is_seen)
{
	look_rows(rows, ELEMENTS(rows), one_gpu, look);
}

/* ---- config space ---- */

static void put16(uint8_t *config, size_t at, unsigned value)
{
	config[at] = (uint8_t)value;
	config[at + 1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *config, size_t at, uint32_t value)
{
	put16(config, at, value & 0xffff);
	put16(config, at + 2, value >> 16);
}

typedef enum Config {
	WHOLE, /* a PCI Express endpoint, of a serial number */
	WITHOUT_SERIAL,
	LOOPS, /* capability lists that lead back to themselves */
	ALL_ONES,
	ABSENT,
} Config;

/* Its link is at 5 of 6 (32 of 64 GT/s), with 8 of 16 lanes. */
static void lay_config(SysfsTree *tree, Config kind, size_t size)
{
	uint8_t config[CONFIG_BYTES] = { 0xde, 0x10, 0x31, 0x23 };

	put16(config, 0x06, 0x0010); /* has capabilities */
	config[0x34] = PCIE_CAP;
	put32(config, PCIE_CAP, 0x00020010 | (kind == LOOPS ? PCIE_CAP << 8 : 0));
	put32(config, PCIE_CAP + 0x0c, 6 | 16 << 4);
	put16(config, PCIE_CAP + 0x12, 5 | 8 << 4);
	put32(config, SERIAL_CAP, 0x00010003 | (kind == LOOPS ? SERIAL_CAP << 20 : 0));
	put32(config, SERIAL_CAP + 4, kind == WHOLE ? 0xfe123456 : 0);
	put32(config, SERIAL_CAP + 8, kind == WHOLE ? 0x00044bff : 0);
	if (kind == ALL_ONES)
		memset(config, 0xff, sizeof(config));
	if (kind == ABSENT)
		return;
	tree_write_bytes(tree, OF_DISPLAY "config", config, size);
	tree_write_bytes(tree, OF_AUDIO "config", config, size);
}

#define READ                                                                                       \
	"'serial_number': '00-04-4b-ff-fe-12-34-56', 'link_speed': '32 GT/s', "                    \
	"'link_speed_max': '64 GT/s', 'link_width': 8, 'link_width_max': 16"
#define NOT_READ "'serial_number': null, 'link_speed': null, 'link_width': 0"
#define AWAKE OF_FIRST(READ ", 'left_asleep': null")
#define ASLEEP "{'functions': [{" NOT_READ ", 'left_asleep': true}, {'left_asleep': null}]}"
#define NO_SERIAL OF_FIRST("'serial_number': null, 'config_all_ones': null")
#define OF_AWAKE .look = INSPECT_CONFIG_AWAKE, .size = CONFIG_BYTES

static const struct {
	const char *what;
	Config config;
	size_t size;
	InspectConfig look;
	const char *power_state; /* NULL: there is no such attribute */
	const char *wanted;
} config_rows[] = {
	ROW("serial number and link, not of audio functions", WHOLE, CONFIG_BYTES,
	    INSPECT_CONFIG_ALL, "D3cold\n",
	    "{'functions': [{" READ ", 'config_all_ones': null}, "
	    "{'serial_number': null, 'link_width_max': 0}]}"),
	ROW("it is not read unless asked", ALL_ONES, CONFIG_BYTES, INSPECT_CONFIG_NOT, "D0\n",
	    OF_FIRST("'config_all_ones': null")),
	ROW("a device that answers all ones", ALL_ONES, CONFIG_BYTES, INSPECT_CONFIG_ALL, "D0\n",
	    OF_FIRST("'config_all_ones': true, " NOT_READ)),
	/* Reading it wakes what is in D3cold. What the kernel does not tell of may be. */
	ROW("awake", OF_AWAKE, .power_state = "D0\n", .wanted = AWAKE),
	ROW("D1", OF_AWAKE, .power_state = "D1\n", .wanted = ASLEEP),
	ROW("D3hot", OF_AWAKE, .power_state = "D3hot\n", .wanted = ASLEEP),
	ROW("D3cold", OF_AWAKE, .power_state = "D3cold\n", .wanted = ASLEEP),
	ROW("unknown", OF_AWAKE, .power_state = "unknown\n", .wanted = ASLEEP),
	ROW("error", OF_AWAKE, .power_state = "error\n", .wanted = ASLEEP),
	ROW("an empty state", OF_AWAKE, .power_state = "", .wanted = ASLEEP),
	ROW("no state", OF_AWAKE, .wanted = ASLEEP),
	/* Without CAP_SYS_ADMIN there are 64 bytes; without the file, none. */
	ROW("nothing", WITHOUT_SERIAL, 0, INSPECT_CONFIG_ALL, NULL, NO_SERIAL),
	ROW("half an id", WITHOUT_SERIAL, 2, INSPECT_CONFIG_ALL, NULL, NO_SERIAL),
	ROW("64 bytes", WITHOUT_SERIAL, 64, INSPECT_CONFIG_ALL, NULL, NO_SERIAL),
	ROW("256 bytes", WITHOUT_SERIAL, 256, INSPECT_CONFIG_ALL, NULL, NO_SERIAL),
	ROW("a serial of zeros", WITHOUT_SERIAL, CONFIG_BYTES, INSPECT_CONFIG_ALL, NULL, NO_SERIAL),
	ROW("loops", LOOPS, CONFIG_BYTES, INSPECT_CONFIG_ALL, NULL, NO_SERIAL),
	ROW("no file", ABSENT, 0, INSPECT_CONFIG_ALL, NULL, NO_SERIAL),
};

TEST(config_space_is_read_where_it_may_be_and_tells_what_it_has)
{
	for (size_t i = 0; i < ELEMENTS(config_rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();

		lay_config(tree, config_rows[i].config, config_rows[i].size);
		tree_lay(tree, OF_DISPLAY "power_state", config_rows[i].power_state);
		expect_json(config_rows[i].what, look_with(tree, config_rows[i].look),
			    config_rows[i].wanted);
	}
}

/* By it a group's NIC is told from the host's own of the same ids. */
TEST(serial_numbers_of_what_a_group_has_beside_its_gpus)
{
	static const char *const classes[] = { "0x020000\n", "0x010802\n" };

	for (size_t i = 0; i < ELEMENTS(classes); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();

		lay_config(tree, WHOLE, CONFIG_BYTES);
		tree_lay(tree, OF_DISPLAY "class", classes[i]);
		expect_json(classes[i], look_with(tree, INSPECT_CONFIG_ALL), OF_FIRST(READ));
	}
}

TEST(the_serial_number_of_a_vf_is_its_nic_s)
{
	static const char *const of[] = { "../0000:41:00.1", "../0000:99:00.0" };
	static const char *const wanted[] = {
		OF_FIRST("'serial_number': '00-04-4b-ff-fe-12-34-56', 'link_width': 0"),
		OF_FIRST(NOT_READ),
	};

	for (size_t i = 0; i < ELEMENTS(of); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();

		lay_config(tree, WHOLE, CONFIG_BYTES);
		tree_write_bytes(tree, OF_DISPLAY "config", (uint8_t[64]){ 0xde, 0x10 }, 64);
		tree_lay(tree, OF_DISPLAY "class", "0x020000\n");
		tree_link(tree, OF_DISPLAY "physfn", of[i]);
		expect_json(of[i], look_with(tree, INSPECT_CONFIG_ALL), wanted[i]);
	}
}

TEST(a_function_that_is_not_there_is_an_error)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	Bdf function = tree_bdf("0000:99:00.0");
	Inspection *in = NULL;

	assert_int_equal(inspect_functions(&tree->roots, &function, 1, &in), -ENOENT);
	assert_null(in);
}

/* Who holds them, and what the host offers, are not part of a glance. */
TEST(a_glance_is_of_the_functions_and_a_look_at_none_is_of_the_host)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *glance = NULL, *host = NULL;
	Bdf bdf = tree_bdf(DISPLAY);

	tree_add_nvidia_information(tree, DISPLAY, UUID, 7);
	tree_add_driver(tree, "vfio-pci");
	tree_write(tree, "proc/devices", DEVICES_WITH_NVIDIA_AS_MEM);
	tree_add_process(tree, 42, "dcgm", "0::/system.slice/nvidia-dcgm.service\n");
	tree_process_opens(tree, 42, 3, "/dev/full");
	expect_json("whole", look(tree), "{'holders': [{'unit': 'nvidia-dcgm.service'}]}");
	assert_int_equal(inspect_glance(&tree->roots, &bdf, 1, &glance), 0);
	expect_json("glance", json_struct_write(inspection_members, glance),
		    "{'functions': [{'uuid': '" UUID "'}], 'holders': [], 'vfio_pci': false}");
	assert_int_equal(inspect_functions(&tree->roots, NULL, 0, &host), 0);
	expect_json("host", json_struct_write(inspection_members, host),
		    "{'functions': [], 'holders': [], 'vfio_pci': true}");
}
