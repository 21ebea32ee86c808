/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/setup/kernel-words.h"
#include "rig/rows.h"

/* The words, joined by '|'. */
static const TextRow splits[] = {
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

static char *split(const char *text)
{
	_cleanup_strv_ char **words = kernel_words_split(text);

	return strv_join(words, "|");
}

TEST(text_is_split_as_the_kernel_does)
{
	EXPECT_TEXTS(splits, split);
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

/* "MODULE WORDS" */
static bool blocks(const char *text)
{
	_cleanup_free_ char *module = xstrndup(text, strcspn(text, " "));
	_cleanup_strv_ char **words = kernel_words_split(text + strlen(module));

	return kernel_words_block(words, module);
}

TEST(words_keep_modules_away)
{
	expect_each("nouveau module_blacklist=nova_core,nouveau|"
		    "nouveau module-blacklist=nouveau|"
		    "snd_hda_intel module_blacklist=snd_hda_intel|"
		    "nouveau modprobe.blacklist=nouveau modprobe.blacklist=nvidia|"
		    "nouveau nouveau.modeset=0|nouveau nouveau.modeset=0x0|nouveau nomodeset|"
		    "nouveau initcall_blacklist=sysfb_init,nouveau_drm_init initcall_blacklist=a|"
		    "nvidia initcall_blacklist=nvidia_init_module",
		    blocks, true);
	expect_each("nouveau module_blacklist=nouveau2|nouveau module_blacklist=nouv|"
		    "nouveau module_blacklist=nouveau module_blacklist=nvidia|"
		    "snd_hda_intel module_blacklist=snd-hda-intel|"
		    "snd_hda_intel modprobe.blacklist=snd-hda-intel|"
		    "nouveau modprobe.blacklist=nouveau2|nouveau rd.driver.blacklist=nouveau|"
		    "nouveau nouveau.modeset=1|nouveau nouveau.modeset=|"
		    "nouveau nouveau.modeset=0 nouveau.modeset=1|nvidia nouveau.modeset=0|"
		    "nouveau nomodeset nouveau.modeset=1|nvidia nomodeset|"
		    "nouveau initcall_blacklist=sysfb_init|"
		    "nouveau -- module_blacklist=nouveau|nouveau blacklist=nouveau",
		    blocks, false);
}
