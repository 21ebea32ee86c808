/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of modules: which words each program takes for modules. field: host/10 */
#include "rig/test.h"

#include "core/facts/initramfs.h"
#include "core/facts/module-lists.h"
#include "core/setup/setup-files.h"
#include "rig/rows.h"

static void expect(const char *what, char *const *lines, const char *expected)
{
	_cleanup_free_ char *joined = strv_join(lines, "|");

	if (!str_equal(joined, expected))
		fail_msg("%s: \"%s\", not \"%s\"", what, joined, expected);
}

TEST(a_line_is_a_module_and_its_options)
{
	static const struct {
		const char *text, *drivers, *options;
	} rows[] = {
		/* LukeShortCloud/rootpages, and what people copy from modprobe.d into it */
		{ "softdep nvidia pre: vfio vfio_pci\nvfio\nvfio_iommu_type1\n"
		  "options vfio_pci ids=10de:2204,10de:1aef\n"
		  "vfio_pci ids=10de:2204,10de:1aef\n",
		  "", "m:5: vfio_pci ids=10de:2204,10de:1aef" },
		/* Half of ten public guides have one line: all behind vfio are options of vfio. */
		{ "vfio vfio_iommu_type1 vfio_virqfd vfio_pci ids=10de:1c03,10de:10f1\n", "", "" },
		{ "#nvidia\n; nvidia\n  # nouveau\nnvidia_drm\next4\n", "m:4: nvidia_drm", "" },
		{ "  nouveau modeset=0 \n\nmynvidia\nnvidiafb", "m:1: nouveau", "" },
		{ "pci-stub\tids=10de:1aef\npci_stub\nvfio-pci", "",
		  "m:1: pci-stub\tids=10de:1aef" },
		{ "snd_hda_intel\nblacklist nouveau\ninstall nvidia /bin/true\nalias a nvidia",
		  "m:1: snd_hda_intel", "" },
		{ "nvidia-current-uvm\nnvidia-wmi-ec-backlight\nnvidia.ko",
		  "m:1: nvidia-current-uvm|m:3: nvidia.ko", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		ModuleLists lists = { 0 };

		module_lists_read_lines("m", rows[i].text, true, &lists);
		expect(rows[i].text, lists.drivers, rows[i].drivers);
		expect(rows[i].text, lists.options, rows[i].options);
		module_lists_clear(&lists);
		/* Loaded after gpupass-bind */
		module_lists_read_lines("m", rows[i].text, false, &lists);
		assert_null(lists.drivers);
		module_lists_clear(&lists);
	}
}

static bool matters(const char *variable, const char *word)
{
	return strcmp(variable, "MODULES") != 0 || initramfs_loads_taker(word, 0);
}

static const struct ShellRow {
	const char *text, *modules, *add, *unknown;
} shell_rows[] = {
	/* field: host/10, a */
	{ "MODULES=(vfio_pci vfio vfio_iommu_type1)\nFILES=(/etc/modprobe.d/nvidia.conf)\n"
	  "HOOKS=(base udev modconf block filesystems)\nBINARIES=(nvidia-smi)\n",
	  "", "", "" },
	{ "# vim:set ft=sh\nMODULES=(nvidia nvidia_modeset nvidia_uvm nvidia_drm)\n",
	  "f:2: MODULES: nvidia|f:2: MODULES: nvidia_modeset|f:2: MODULES: nvidia_uvm|"
	  "f:2: MODULES: nvidia_drm",
	  "", "" },
	{ "MODULES=(\n  # early\n  'nouveau' # KMS\n  \"xhci_hcd\"\n)\n", "f:3: MODULES: nouveau",
	  "", "" },
	{ "MODULES=\"ext4 nouveau\"\n", "f:1: MODULES: nouveau", "", "" },
	{ "MODULES=(nouveau?)\n#MODULES=(nvidia)\n", "f:1: MODULES: nouveau?", "", "" },
	{ "MODULES=(nvidia)\nMODULES=(ext4)\n", "", "", "" },
	{ "MODULES=(nvidia)\nMODULES+=(nouveau)\n", "f:1: MODULES: nvidia|f:2: MODULES: nouveau",
	  "", "" },
	/* MilesBHuff/Dotfiles */
	{ "MODULES=(vfat btrfs\n         lz4 lz4_compress\n         nvidia nvidia_drm)\n",
	  "f:3: MODULES: nvidia|f:3: MODULES: nvidia_drm", "", "" },
	{ "MODULES=(nvidia) HOOKS=(base)\n", "f:1: MODULES: nvidia", "", "" },
	{ "MODULES=(nvidia\\\n nouveau)\n", "f:1: MODULES: nvidia|f:2: MODULES: nouveau", "", "" },
	{ "add=\" nvidia \"\nadd+=\" nouveau \"; x=1\n", "", "f:1: add: nvidia|f:2: add: nouveau",
	  "" },
	{ "add+=nvidia\n", "", "f:1: add: nvidia", "" },
	{ "add+=' a b\\\n'\nadd+=\" c \\\nd \"\nx=y#z\n", "",
	  "f:1: add: a|f:1: add: b\\|f:3: add: c|f:3: add: d", "" },
	{ "add+=\" a \"# no comment\n", "", "", "f:1: add+=\" a \"# no comment" },
	{ "add+=\" a \" # comment\nadd=b MODULES=nouveau\n", "f:2: MODULES: nouveau", "f:2: add: b",
	  "" },
	/* of other variables nothing is asked */
	{ "kernel_cmdline=\"root=$ROOT\" compress=zstd\nhost='yes'\n", "", "", "" },
	{ "HOOKS=(base ${extra[@]})\n", "", "", "" },
	/* what only bash knows */
	{ "MODULES=(nvidia{,_drm} nouveau)\n", "f:1: MODULES: nouveau", "",
	  "f:1: MODULES=(nvidia{,_drm} nouveau)" },
	{ "add+=\" $(ls /lib/modules) \"\nMODULES=(nouveau)\n", "f:2: MODULES: nouveau", "",
	  "f:1: add+=\" $(ls /lib/modules) \"" },
	{ "add=\" $drivers \"\n", "", "", "f:1: add=\" $drivers \"" },
	{ "if [ -e /x ]; then\n  add+=\" a \"\nfi\n. /etc/more.conf\n", "", "f:2: add: a",
	  "f:1: if [ -e /x ]; then|f:3: fi|f:4: . /etc/more.conf" },
	{ "add+=\" a\"\nadd+=\"b \"\n", "", "f:1: add: a", "f:2: add+=\"b \"" },
	{ "add+=\" a\"\nadd+=\"\"\nadd+=\" b\"\n", "", "f:1: add: a|f:3: add: b", "" },
	{ "MODULES=(nouveau)\nMODULES+=\" nvidia\"\n", "f:1: MODULES: nouveau", "",
	  "f:2: MODULES+=\" nvidia\"" },
	{ "MODULES=(nouveau\n", "", "", "f:1: MODULES=(nouveau" },
	{ "add=\"a\n", "", "", "f:1: add=\"a" },
	{ "declare -a MODULES=(nvidia)\n=\n9=a\nMODULES[0]=nvidia", "", "",
	  "f:1: declare -a MODULES=(nvidia)|f:2: =|f:3: 9=a|f:4: MODULES[0]=nvidia" },
	{ "add=`x`\nadd=$(x y)\nadd=a\\ nvidia", "", "f:3: add: a|f:3: add: nvidia",
	  "f:1: add=`x`|f:2: add=$(x y)" },
	{ "", "", "", "" },
	{ "\\", "", "", "f:1: \\" },
};

static void read_shell(const struct ShellRow *row, const char *text)
{
	ShellVariable variables[] = { { .name = "MODULES" }, { .name = "add" } };
	_cleanup_(shell_settings_clear)
		ShellSettings settings = { matters, variables, ELEMENTS(variables), NULL };

	shell_settings_read("f", text, &settings);
	if (row) {
		expect(row->text, variables[0].words, row->modules);
		expect(row->text, variables[1].words, row->add);
		expect(row->text, settings.unknown, row->unknown);
	}
	assert_true(strv_length(settings.unknown) <= SETUP_LINES_MAX);
}

TEST(only_plain_assignments_are_understood)
{
	for (size_t i = 0; i < ELEMENTS(shell_rows); i++)
		read_shell(&shell_rows[i], shell_rows[i].text);
}

TEST(no_list_grows_without_a_limit)
{
	_cleanup_free_ char *text = repeated("nouveau \n", 1000);
	_cleanup_(module_lists_clear) ModuleLists lists = { 0 };

	module_lists_read_lines("m", text, true, &lists);
	assert_int_equal(strv_length(lists.drivers), SETUP_LINES_MAX);
	read_shell(NULL, text);
}
