/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "host/device/inspect.h"
#include "rig/sysfs-tree.h"
#include "util/text.h"

#define DISPLAY "0000:41:00.0"
#define AUDIO "0000:41:00.1"
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

static Inspection *inspect(const SysfsTree *tree, InspectConfig config)
{
	Bdf functions[] = { tree_bdf(DISPLAY), tree_bdf(AUDIO) };
	Inspection *in = NULL;

	assert_int_equal(config == INSPECT_CONFIG_NOT
				 ? inspect_functions(&tree->roots, functions, 2, &in)
				 : inspect_config(&tree->roots, functions, 2, config, &in),
			 0);
	return in;
}

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

/* A PCI Express endpoint: link at 5 of 6 (32 of 64 GT/s), 8 of 16 lanes, and a serial number. */
static void fill_config(uint8_t config[CONFIG_BYTES])
{
	memset(config, 0, CONFIG_BYTES);
	put32(config, 0x00, 0x233110de);
	put16(config, 0x06, 0x0010); /* has capabilities */
	config[0x34] = PCIE_CAP;
	put32(config, PCIE_CAP, 0x00020010);
	put32(config, PCIE_CAP + 0x0c, 6 | 16 << 4);
	put16(config, PCIE_CAP + 0x12, 5 | 8 << 4);
	put32(config, SERIAL_CAP, 0x00010003);
	put32(config, SERIAL_CAP + 4, 0xfe123456);
	put32(config, SERIAL_CAP + 8, 0x00044bff);
}

static void write_config(SysfsTree *tree, const char *bdf, const uint8_t *config, size_t size)
{
	_cleanup_free_ char *path = strf("sys/bus/pci/devices/%s/config", bdf);

	tree_write_bytes(tree, path, config, size);
}

TEST(driver_override_and_vfs_are_read)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_write_attribute(tree, AUDIO, "driver_override", "vfio-pci\n");
	tree_write_attribute(tree, DISPLAY, "sriov_numvfs", "4\n");
	in = inspect(tree, INSPECT_CONFIG_NOT);
	assert_int_equal(in->n_functions, 2);
	assert_string_equal(in->functions[0].driver, "nvidia");
	assert_null(in->functions[0].driver_override);
	assert_int_equal(in->functions[0].num_vfs, 4);
	assert_string_equal(in->functions[1].driver, "snd_hda_intel");
	assert_string_equal(in->functions[1].driver_override, "vfio-pci");
	assert_int_equal(in->functions[1].num_vfs, 0);
	assert_null(in->functions[0].uuid);
	assert_int_equal(in->functions[0].device_minor, -1);
	assert_null(in->functions[0].serial_number);
}

TEST(vgpus_of_vendor_specific_vfs_are_counted)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_write_attribute(tree, DISPLAY, "sriov_numvfs", "4\n");
	tree_add_gpu(tree, "0000:41:01.0", 0x2235, "nvidia", 35, NULL);
	tree_add_gpu(tree, "0000:41:02.0", 0x2235, "nvidia", 36, NULL);
	tree_link(tree, "sys/bus/pci/devices/" DISPLAY "/virtfn0", "../0000:41:01.0");
	tree_link(tree, "sys/bus/pci/devices/" DISPLAY "/virtfn1", "../0000:41:02.0");
	tree_write_attribute(tree, "0000:41:01.0", "nvidia/current_vgpu_type", "0\n");
	tree_write_attribute(tree, "0000:41:02.0", "nvidia/current_vgpu_type", "558\n");
	in = inspect(tree, INSPECT_CONFIG_NOT);
	assert_int_equal(in->functions[0].vgpus, 1);
	assert_int_equal(in->functions[0].vgpu_type, 558);
	assert_string_equal(BDF_TEXT(&in->functions[0].vgpu_vf), "0000:41:02.0");
}

TEST(the_nvidia_drivers_word_is_read)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_add_nvidia_information(tree, DISPLAY, UUID, 12);
	in = inspect(tree, INSPECT_CONFIG_NOT);
	assert_string_equal(in->functions[0].uuid, UUID);
	assert_int_equal(in->functions[0].device_minor, 12);
	assert_int_equal(in->functions[1].device_minor, -1);
}

TEST(what_the_nvidia_driver_does_not_know_is_not_known)
{
	static const char *const texts[] = {
		"",
		"GPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?\n"
		"Device Minor: \t ?\n",
		"GPU UUID:\nDevice Minor:\n",
		"GPU UUID: \t GPU-1b5c\nDevice Minor: \t -1\n",
		"GPU UUIDs: " UUID "\nDevice Minority: 3\n",
		"Device Minor: \t 4294967296\n",
	};

	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
		_cleanup_(inspection_freep) Inspection *in = NULL;

		tree_write(tree, "proc/driver/nvidia/gpus/" DISPLAY "/information", texts[i]);
		in = inspect(tree, INSPECT_CONFIG_NOT);
		if (in->functions[0].uuid || in->functions[0].device_minor != -1)
			fail_msg("row %zu is taken", i);
	}
}

TEST(serial_number_and_link_are_read_from_config_space)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;
	uint8_t config[CONFIG_BYTES];

	fill_config(config);
	write_config(tree, DISPLAY, config, sizeof(config));
	write_config(tree, AUDIO, config, sizeof(config));
	in = inspect(tree, INSPECT_CONFIG_ALL);
	assert_string_equal(in->functions[0].serial_number, "00-04-4b-ff-fe-12-34-56");
	assert_string_equal(in->functions[0].link_speed, "32 GT/s");
	assert_string_equal(in->functions[0].link_speed_max, "64 GT/s");
	assert_int_equal(in->functions[0].link_width, 8);
	assert_int_equal(in->functions[0].link_width_max, 16);
	assert_false(in->functions[0].config_all_ones);
	/* only of display functions */
	assert_null(in->functions[1].serial_number);
	assert_int_equal(in->functions[1].link_width_max, 0);
}

TEST(config_space_is_not_read_unless_asked)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;
	uint8_t config[CONFIG_BYTES];

	memset(config, 0xff, sizeof(config));
	write_config(tree, DISPLAY, config, sizeof(config));
	in = inspect(tree, INSPECT_CONFIG_NOT);
	assert_false(in->functions[0].config_all_ones);
}

TEST(a_device_that_answers_all_ones_is_noticed)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;
	uint8_t config[CONFIG_BYTES];

	memset(config, 0xff, sizeof(config));
	write_config(tree, DISPLAY, config, sizeof(config));
	in = inspect(tree, INSPECT_CONFIG_ALL);
	assert_true(in->functions[0].config_all_ones);
	assert_null(in->functions[0].serial_number);
	assert_null(in->functions[0].link_speed);
}

/* Reading config space wakes what is in D3cold. What the kernel does not tell of may be. */
TEST(config_space_of_what_is_awake_only_leaves_sleepers_alone)
{
	static const struct {
		const char *power_state; /* NULL: there is no such attribute */
		bool awake;
	} rows[] = {
		{ "D0\n", true },      { "D1\n", false },      { "D3hot\n", false },
		{ "D3cold\n", false }, { "unknown\n", false }, { "error\n", false },
		{ "", false },	       { NULL, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
		_cleanup_(inspection_freep) Inspection *in = NULL;
		uint8_t config[CONFIG_BYTES];

		fill_config(config);
		write_config(tree, DISPLAY, config, sizeof(config));
		if (rows[i].power_state)
			tree_write_attribute(tree, DISPLAY, "power_state", rows[i].power_state);
		else
			tree_remove_attribute(tree, DISPLAY, "power_state");
		in = inspect(tree, INSPECT_CONFIG_AWAKE);
		if ((in->functions[0].serial_number != NULL) != rows[i].awake ||
		    in->functions[0].left_asleep == rows[i].awake ||
		    (in->functions[0].link_width > 0) != rows[i].awake)
			fail_msg("row %zu", i);
		/* Nobody asks for the config space of other functions. */
		assert_false(in->functions[1].left_asleep);
	}
}

/* Without CAP_SYS_ADMIN there are 64 bytes; without the file, none; and loops are anybody's. */
TEST(config_space_that_tells_nothing_is_no_error)
{
	static const size_t sizes[] = { 0, 2, 64, 256, CONFIG_BYTES };

	for (size_t i = 0; i < ELEMENTS(sizes) + 2; i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
		_cleanup_(inspection_freep) Inspection *in = NULL;
		uint8_t config[CONFIG_BYTES];

		fill_config(config);
		put32(config, SERIAL_CAP + 4, 0);
		put32(config, SERIAL_CAP + 8, 0);
		if (i == ELEMENTS(sizes)) { /* capability lists that lead back to themselves */
			config[PCIE_CAP + 1] = PCIE_CAP;
			put32(config, SERIAL_CAP, SERIAL_CAP << 20 | 0x00010003);
		}
		if (i <= ELEMENTS(sizes))
			write_config(tree, DISPLAY, config,
				     i < ELEMENTS(sizes) ? sizes[i] : CONFIG_BYTES);
		in = inspect(tree, INSPECT_CONFIG_ALL);
		if (in->functions[0].serial_number || in->functions[0].config_all_ones)
			fail_msg("row %zu", i);
	}
}

TEST(vfio_is_registered_loadable_or_neither)
{
	static const struct {
		const char *list, *content;
		bool loadable;
	} rows[] = {
		{ "modules.dep", "kernel/drivers/vfio/pci/vfio-pci.ko: kernel/vfio.ko\n", true },
		{ "modules.dep", "a/b.ko:\nkernel/drivers/vfio/pci/vfio-pci.ko.xz:\n", true },
		{ "modules.dep", "extra/vfio_pci.ko.zst: x\n", true },
		{ "modules.dep", "kernel/drivers/vfio/pci/vfio-pci-core.ko: x\n", false },
		{ "modules.dep", "x/y.ko: kernel/drivers/vfio/pci/vfio-pci.ko\n", false },
		{ "modules.builtin", "kernel/drivers/vfio/pci/vfio-pci.ko\n", true },
		{ "modules.dep", "", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
		_cleanup_(inspection_freep) Inspection *in = NULL;
		_cleanup_free_ char *path = strf("modules/%s", rows[i].list);

		tree_write(tree, path, rows[i].content);
		in = inspect(tree, INSPECT_CONFIG_NOT);
		if (in->vfio_pci || in->vfio_loadable != rows[i].loadable)
			fail_msg("row %zu", i);
	}
}

TEST(a_registered_vfio_needs_no_module)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_add_driver(tree, "vfio-pci");
	tree->roots.modules_fd = close_fd(tree->roots.modules_fd);
	in = inspect(tree, INSPECT_CONFIG_NOT);
	assert_true(in->vfio_pci);
	assert_false(in->vfio_loadable);
}

TEST(unsafe_parameters_are_read)
{
	static const struct {
		const char *noiommu, *interrupts;
		bool expect_noiommu, expect_interrupts;
	} rows[] = {
		{ NULL, NULL, false, false },  { "N\n", "N\n", false, false },
		{ "Y\n", "N\n", true, false }, { "N\n", "Y\n", false, true },
		{ "1\n", "1\n", true, true },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
		_cleanup_(inspection_freep) Inspection *in = NULL;

		if (rows[i].noiommu)
			tree_write(tree, "sys/module/vfio/parameters/enable_unsafe_noiommu_mode",
				   rows[i].noiommu);
		if (rows[i].interrupts)
			tree_write(tree,
				   "sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts",
				   rows[i].interrupts);
		in = inspect(tree, INSPECT_CONFIG_NOT);
		if (in->noiommu != rows[i].expect_noiommu ||
		    in->unsafe_interrupts != rows[i].expect_interrupts)
			fail_msg("row %zu", i);
	}
}

TEST(interrupt_remapping_is_read)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = inspect(tree, INSPECT_CONFIG_NOT);

	assert_false(in->interrupts_known || in->interrupts_remapped);
	inspection_free(in);
	tree_write(tree, "proc/interrupts", "  9:  0  IO-APIC   9-fasteoi  acpi\n");
	in = inspect(tree, INSPECT_CONFIG_NOT);
#if defined(__x86_64__) || defined(__i386__)
	assert_true(in->interrupts_known);
#endif
	assert_false(in->interrupts_remapped);
	inspection_free(in);
	tree_write(tree, "proc/interrupts", "  9:  0  IR-IO-APIC   9-fasteoi  acpi\n");
	in = inspect(tree, INSPECT_CONFIG_NOT);
	assert_true(in->interrupts_remapped);
}

#define RESOURCE                                                                                   \
	"0x00000000f9000000 0x00000000f9ffffff 0x0000000000040200\n"                               \
	"0x00000000c0000000 0x00000000cfffffff 0x000000000014220c\n"                               \
	"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"                               \
	"0x00000000d0000000 0x00000000d1ffffff 0x000000000014220c\n"                               \
	"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"                               \
	"0x000000000000d000 0x000000000000d07f 0x0000000000040101\n"                               \
	"0x0000000000000000 0x000000000007ffff 0x0000000020046200\n"
#define BUS "c0000000-dfffffff : PCI Bus 0000:40\n"

/* field: host/03 */
TEST(who_holds_a_bar_is_read)
{
	static const struct {
		const char *iomem, *holders;
	} rows[] = {
		{ BUS "  c0000000-cfffffff : 0000:41:00.0\n    c0000000-c02fffff : BOOTFB\n",
		  "1 BOOTFB" },
		{ BUS "  c0000000-cfffffff : 0000:41:00.0\n    c0000000-c02fffff : BOOTFB\n"
		      "      c0000000-c02fffff : simpledrm\n"
		      "  d0000000-d1ffffff : 0000:41:00.0\n    d0000000-d00fffff : efifb\n",
		  "1 BOOTFB, simpledrm, 3 efifb" },
		/* Without CAP_SYS_ADMIN: the second of three, by address. */
		{ "00000000-00000000 : PCI Bus 0000:40\n"
		  "  00000000-00000000 : 0000:41:00.0\n"
		  "    00000000-00000000 : vfio-pci\n"
		  "  00000000-00000000 : 0000:41:00.0\n"
		  "    00000000-00000000 : BOOTFB\n"
		  "  00000000-00000000 : 0000:41:00.0\n"
		  "    00000000-00000000 : nvidia\n",
		  "3 BOOTFB" },
		{ "  00000000-00000000 : 0000:41:00.0\n    00000000-00000000 : BOOTFB\n",
		  "-1 BOOTFB" },
		/* siderolabs/talos#14356 */
		{ "c0000000-cfffffff : 0000:41:00.0\n  c0000000-c1fa3fff : BOOTFB\n"
		  "    c0000000-c1fa3fff : simpledrm\n",
		  "1 BOOTFB, simpledrm" },
		/* Another board's, of none, beside it, and one that draws by itself. */
		{ BUS "  c0000000-cfffffff : 0000:42:00.0\n    c0000000-c02fffff : BOOTFB\n", "" },
		{ "c0000000-c02fffff : BOOTFB\n", "" },
		{ BUS "  c0000000-cfffffff : 0000:41:00.0\n  e0000000-e02fffff : BOOTFB\n", "" },
		{ BUS "  c0000000-cfffffff : 0000:41:00.0\n    c0000000-c02fffff : vfio-pci\n",
		  "" },
		{ BUS "  c0000000-cfffffff : 0000:41:00.0\n    c0000000-c02fffff : BOOTFBX\n", "" },
		/* At this depth the kernel indents no further. */
		{ "          c0000000-cfffffff : 0000:41:00.0\n"
		  "          c0000000-c02fffff : BOOTFB\n",
		  "" },
		{ "garbage\n\n : \n", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
		_cleanup_(inspection_freep) Inspection *in = NULL;
		_cleanup_strv_ char **lines = NULL;
		_cleanup_free_ char *found = NULL;

		tree_write_attribute(tree, "0000:41:00.0", "resource", RESOURCE);
		tree_write(tree, "proc/iomem", rows[i].iomem);
		in = inspect(tree, INSPECT_CONFIG_NOT);
		for (size_t k = 0; k < in->functions[0].n_bar_holders; k++)
			strv_appendf(&lines, "%d %s", in->functions[0].bar_holders[k].bar,
				     in->functions[0].bar_holders[k].name);
		found = strv_join(lines, ", ");
		if (!str_equal(found, rows[i].holders) || in->functions[0].bars_unset != 0)
			fail_msg("row %zu: %s", i, found);
	}
}

/* field: host/09 */
TEST(a_bar_without_an_address_is_read)
{
	static const struct {
		const char *resource;
		unsigned unset;
	} rows[] = {
		{ "0x00000000f9000000 0x00000000f9ffffff 0x0000000000040200\n"
		  "0x0000000000000000 0x0000000fffffffff 0x000000002014220c\n",
		  2 },
		/* BARs of virtual functions that are off (GeForce RTX 50). */
		{ RESOURCE "0x0000000000000000 0x000000000003ffff 0x000000002014220c\n", 0 },
		/* An address of ports is not missed, and neither is one of the ROM. */
		{ "0x0000000000000000 0x000000000000007f 0x0000000020040101\n", 0 },
		{ RESOURCE, 0 },
		{ "0x0000000000000000 0x0000000000000000 0x0000000000000000\n", 0 },
		{ "garbage\n", 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
		_cleanup_(inspection_freep) Inspection *in = NULL;

		tree_write_attribute(tree, "0000:41:00.0", "resource", rows[i].resource);
		in = inspect(tree, INSPECT_CONFIG_NOT);
		if (in->functions[0].bars_unset != rows[i].unset)
			fail_msg("row %zu: %u", i, in->functions[0].bars_unset);
	}
}

TEST(only_regions_of_type_direct_count)
{
	static const struct {
		const char *regions, *direct;
	} rows[] = {
		{ "0x00000000fee00000 0x00000000feefffff msi\n", NULL },
		{ "0x00000000bdf6e000 0x00000000bdf81fff direct-relaxable\n"
		  "0x000000fd00000000 0x000000ffffffffff reserved\n",
		  NULL },
		{ "0x00000000fee00000 0x00000000feefffff msi\n"
		  "0x00000000bdf6e000 0x00000000bdf81fff direct\n",
		  "0x00000000bdf6e000-0x00000000bdf81fff" },
		{ "direct\n", NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
		_cleanup_(inspection_freep) Inspection *in = NULL;

		tree_write_attribute(tree, "0000:41:00.0", "iommu_group/reserved_regions",
				     rows[i].regions);
		in = inspect(tree, INSPECT_CONFIG_NOT);
		if (!str_equal(in->functions[0].direct_region, rows[i].direct))
			fail_msg("row %zu: %s", i, in->functions[0].direct_region);
	}
}

/* fault N1 */
/* Fail closed: whatever does not say no counts as yes. */
TEST(the_driver_s_version_and_modeset_are_read)
{
	static const struct {
		const char *version, *modeset;
		bool loaded;
		const char *expect_version;
		bool expect_modeset;
	} rows[] = {
		{ NULL, NULL, false, NULL, false },
		{ "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\nGCC version\n",
		  "Y\n", true, "550.54.15", true },
		{ "NVRM version: NVIDIA UNIX Open Kernel Module  580.105.08  Release\n", "N\n",
		  true, "580.105.08", false },
		{ "\377\n", "1\n", true, NULL, true },
		{ "", "0\n", true, NULL, false },
		{ NULL, NULL, true, NULL, true },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
		_cleanup_(inspection_freep) Inspection *in = NULL;

		if (rows[i].version)
			tree_write(tree, "proc/driver/nvidia/version", rows[i].version);
		if (rows[i].loaded)
			tree_write(tree, "sys/module/nvidia_drm/refcnt", "0\n");
		if (rows[i].modeset)
			tree_write(tree, "sys/module/nvidia_drm/parameters/modeset",
				   rows[i].modeset);
		in = inspect(tree, INSPECT_CONFIG_NOT);
		if (!str_equal(in->nvidia_version, rows[i].expect_version) ||
		    in->nvidia_modeset != rows[i].expect_modeset)
			fail_msg("row %zu: %s, %d", i, str_or_empty(in->nvidia_version),
				 in->nvidia_modeset);
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

TEST(without_a_function_there_are_the_hosts_facts)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_add_driver(tree, "vfio-pci");
	assert_int_equal(inspect_functions(&tree->roots, NULL, 0, &in), 0);
	assert_int_equal(in->n_functions, 0);
	assert_true(in->vfio_pci);
}

TEST(holders_are_part_of_an_inspection)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;

	tree_add_nvidia_information(tree, DISPLAY, UUID, 7);
	tree_write(tree, "proc/devices", DEVICES_WITH_NVIDIA_AS_MEM);
	tree_add_process(tree, 42, "dcgm", "0::/system.slice/nvidia-dcgm.service\n");
	tree_process_opens(tree, 42, 3, "/dev/full");
	in = inspect(tree, INSPECT_CONFIG_NOT);
	assert_int_equal(in->n_holders, 1);
	assert_string_equal(in->holders[0].unit, "nvidia-dcgm.service");
}

TEST(a_glance_is_of_the_functions_only)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = one_gpu();
	_cleanup_(inspection_freep) Inspection *in = NULL;
	Bdf bdf = tree_bdf(DISPLAY);

	tree_add_nvidia_information(tree, DISPLAY, UUID, 7);
	tree_add_driver(tree, "vfio-pci");
	tree_write(tree, "proc/devices", DEVICES_WITH_NVIDIA_AS_MEM);
	tree_add_process(tree, 42, "dcgm", "0::/system.slice/nvidia-dcgm.service\n");
	tree_process_opens(tree, 42, 3, "/dev/full");
	assert_int_equal(inspect_glance(&tree->roots, &bdf, 1, &in), 0);
	assert_int_equal(in->n_functions, 1);
	assert_string_equal(in->functions[0].uuid, UUID);
	assert_int_equal(in->n_holders, 0);
	assert_false(in->vfio_pci);
}
