/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/facts/kernel-words.h"
#include "util/text.h"

/* The words, joined by '|'. */
static const struct {
	const char *text, *words;
} splits[] = {
	{ "quiet vfio-pci.ids=10de:2204\n", "quiet|vfio-pci.ids=10de:2204" },
	{ "", "" },
	{ " \t\v\f\r\n", "" },
	{ "a\tb\vc\fd\xa0"
	  "e",
	  "a|b|c|d|e" },
	{ "a=\"b c\" d", "a=b c|d" },
	{ "\"a=b c\" d", "a=b c|d" },
	{ "\"a b\" c", "a b|c" },
	{ "\"a=\"b\"\" c", "a=b\"|c" },
	{ "a=b\"c d\"e f", "a=b\"c d\"e|f" },
	{ "a=\"b c", "a=b c" },
	{ "a=\"", "a=" },
	{ "a=\"\"", "a=" },
	{ "\"", "" },
	{ "a==\"b\"", "a==\"b\"" },
	{ "=b", "=b" },
	{ "a -- b", "a" },
	{ "a --- b --=c", "a|---|b|--=c" },
};

TEST(text_is_split_as_the_kernel_does)
{
	for (size_t i = 0; i < ELEMENTS(splits); i++) {
		_cleanup_free_ char *joined = NULL;
		_cleanup_strv_ char **words = kernel_words_split(splits[i].text);

		joined = strv_join(words, "|");
		if (!str_equal(joined, splits[i].words))
			fail_msg("%s: %s instead of %s", splits[i].text, joined, splits[i].words);
	}
}

TEST(the_last_word_of_a_name_counts)
{
	_cleanup_strv_ char **words =
		kernel_words_split("vfio-pci.ids=1:2 vfio_pci.ids=3:4 vfio-pci.ids "
				   "vfio-pci.idsx=5:6 xvfio-pci.ids=7:8");

	assert_string_equal(kernel_words_last(words, "vfio_pci.ids"), "3:4");
	assert_string_equal(kernel_words_last(words, "vfio-pci.ids"), "3:4");
	assert_null(kernel_words_last(words, "pci_stub.ids"));
	assert_null(kernel_words_last(NULL, "vfio_pci.ids"));
}

static const struct {
	const char *text, *module;
	bool blocks;
} blocks[] = {
	{ "module_blacklist=nova_core,nouveau", "nouveau", true },
	{ "module-blacklist=nouveau", "nouveau", true },
	{ "module_blacklist=nouveau2", "nouveau", false },
	{ "module_blacklist=nouv", "nouveau", false },
	{ "module_blacklist=nouveau module_blacklist=nvidia", "nouveau", false },
	{ "module_blacklist=snd-hda-intel", "snd_hda_intel", false },
	{ "module_blacklist=snd_hda_intel", "snd_hda_intel", true },
	{ "modprobe.blacklist=nouveau modprobe.blacklist=nvidia", "nouveau", true },
	{ "modprobe.blacklist=snd-hda-intel", "snd_hda_intel", false },
	{ "rd.driver.blacklist=nouveau", "nouveau", false },
	{ "nouveau.modeset=0", "nouveau", true },
	{ "nouveau.modeset=0x0", "nouveau", true },
	{ "nouveau.modeset=1", "nouveau", false },
	{ "nouveau.modeset=", "nouveau", false },
	{ "nouveau.modeset=0 nouveau.modeset=1", "nouveau", false },
	{ "nouveau.modeset=0", "nvidia", false },
	{ "nomodeset", "nouveau", true },
	{ "nomodeset nouveau.modeset=1", "nouveau", false },
	{ "nomodeset", "nvidia", false },
	{ "initcall_blacklist=sysfb_init,nouveau_drm_init initcall_blacklist=a", "nouveau", true },
	{ "initcall_blacklist=sysfb_init", "nouveau", false },
	{ "initcall_blacklist=nvidia_init_module", "nvidia", true },
	{ "-- module_blacklist=nouveau", "nouveau", false },
	{ "blacklist=nouveau", "nouveau", false },
};

TEST(words_keep_modules_away)
{
	for (size_t i = 0; i < ELEMENTS(blocks); i++) {
		_cleanup_strv_ char **words = kernel_words_split(blocks[i].text);

		if (kernel_words_block(words, blocks[i].module) != blocks[i].blocks)
			fail_msg("%s: %s", blocks[i].text, blocks[i].module);
	}
}
