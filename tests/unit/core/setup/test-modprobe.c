/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/setup/kernel-words.h"
#include "core/setup/modprobe.h"
#include "rig/rows.h"

static const struct {
	const char *settings; /* parted by '|' */
	const char *module;
	bool blocks;
	const char *runs;
} rows[] = {
	{ "blacklist nouveau", "nouveau", true, NULL },
	{ "blacklist nouveau_x|options nouveau config=1", "nouveau", false, NULL },
	{ "install nouveau /bin/false", "nouveau", true, NULL },
	{ "install nouveau /usr/bin/true", "nouveau", true, NULL },
	{ "install nouveau :", "nouveau", true, NULL },
	{ "install nouveau /bin/false # not here", "nouveau", true, NULL },
	{ "install nouveau /bin/true && modprobe -i nouveau", "nouveau", false,
	  "/bin/true && modprobe -i nouveau" },
	{ "install nouveau /bin/false; modprobe -i nouveau", "nouveau", false,
	  "/bin/false; modprobe -i nouveau" },
	{ "install nouveau /opt/false/run", "nouveau", false, "/opt/false/run" },
	{ "install vfio_pci /sbin/vfio-pci-override-vga.sh", "vfio_pci", false,
	  "/sbin/vfio-pci-override-vga.sh" },
	/* Only the first one counts, and its name is a pattern. */
	{ "install nvidia* /bin/false|install nvidia modprobe -i nvidia", "nvidia", true, NULL },
	{ "install nvidia* /bin/false", "nouveau", false, NULL },
	{ "blacklist nv*", "nvidia", false, NULL },
	{ "options nouveau modeset=0", "nouveau", true, NULL },
	{ "options nouveau modeset=0|options nouveau modeset=1", "nouveau", false, NULL },
	{ "options nvidia modeset=0", "nvidia", false, NULL },
	{ "softdep nouveau pre: vfio-pci", "nouveau", false, NULL },
	{ "", "nouveau", false, NULL },
};

TEST(settings_keep_modules_away)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_strv_ char **settings = NULL;

		strv_split(rows[i].settings, "|", &settings);
		if (modprobe_blocks(settings, rows[i].module) != rows[i].blocks ||
		    !str_equal(modprobe_runs(settings, rows[i].module), rows[i].runs))
			fail_msg("%s: %s", rows[i].settings, rows[i].module);
	}
}

static const struct {
	const char *settings, *cmdline, *ids, *setting;
} values[] = {
	{ "options vfio_pci ids=10de:2204 disable_vga=1", "", "10de:2204",
	  "options vfio_pci ids=10de:2204 disable_vga=1" },
	{ "options vfio_pci ids=1:2|options vfio_pci disable_vga=1", "", "1:2",
	  "options vfio_pci ids=1:2" },
	{ "options vfio_pci ids=1:2|options vfio_pci ids=3:4", "", "3:4",
	  "options vfio_pci ids=3:4" },
	{ "options vfio_pci ids=1:2 ids=", "", "", "options vfio_pci ids=1:2 ids=" },
	{ "options vfio_pci ids=1:2", "vfio-pci.ids=3:4", "3:4", NULL },
	{ "options vfio_pci ids=\"1:2, 3:4\"", "", "1:2, 3:4",
	  "options vfio_pci ids=\"1:2, 3:4\"" },
	{ "options vfio_pci notids=1:2|options vfio ids=1:2|options pci_stub ids=1:2", "", NULL,
	  NULL },
	{ "", "", NULL, NULL },
};

TEST(the_last_value_counts)
{
	for (size_t i = 0; i < ELEMENTS(values); i++) {
		_cleanup_strv_ char **settings = NULL, **cmdline = NULL;
		_cleanup_free_ char *ids = NULL;
		const char *setting;

		strv_split(values[i].settings, "|", &settings);
		cmdline = kernel_words_split(values[i].cmdline);
		ids = modprobe_value(settings, cmdline, "vfio_pci", "ids", &setting);
		if (!str_equal(ids, values[i].ids) || !str_equal(setting, values[i].setting))
			fail_msg("%s: %s", values[i].settings, str_or_empty(ids));
	}
}

TEST(what_has_nothing_to_do_with_gpus_is_not_kept)
{
	expect_each("softdep drm pre: vfio-pci|install n* /bin/false|"
		    "install drm modprobe vfio-pci; modprobe -i drm|blacklist snd_hda_intel",
		    modprobe_matters, true);
	assert_false(modprobe_matters("options i915 enable_guc=3"));
}
