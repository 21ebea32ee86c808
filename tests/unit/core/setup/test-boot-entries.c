/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a host says of its boot: damaged and odd forms. Whole hosts are in device/boot-image. */
#include "rig/test.h"

#include "core/setup/boot-entries.h"
#include "rig/rows.h"

/* "NAME RELEASE" */
static bool name_is_of(const char *text)
{
	_cleanup_free_ char *name = xstrndup(text, strcspn(text, " "));

	return boot_name_is_of(name, text + strlen(name) + 1);
}

TEST(names_end_in_the_release)
{
	expect_each("a-6.1.2.efi 6.1.2|6.1.2.efi 6.1.2|a-6.1.2+3.efi 6.1.2|"
		    "arch-linux.efi linux|arch-linux-zen.efi zen",
		    name_is_of, true);
	expect_each("a-16.1.2.efi 6.1.2|a-6.1.2-18.efi 6.1.2|a-6.1.2.efi 6.1|"
		    "arch-linux-zen.efi linux|linux-6.1-deadbeef.efi 6.1| 6.1|a.efi |.efi 6.1",
		    name_is_of, false);
}

static bool entry_is_of(const char *text)
{
	const char *pkgbase = str_starts_with(text, "arch\n") ? "linux" : NULL;
	_cleanup_(boot_entry_clear) BootEntry entry = boot_entry_parse(text);

	return boot_entry_is_of(&entry, "6.1", pkgbase);
}

TEST(an_entry_is_of_its_kernel)
{
	expect_each("version 6.1\n|version 6.1.2\nlinux /vmlinuz-6.1\n|"
		    "linux /token/6.1/linux\n|arch\nlinux /vmlinuz-linux\n",
		    entry_is_of, true);
	expect_each("linux /token/6.1.2/linux\n|#version 6.1\nversion\n|"
		    "arch\nlinux /vmlinuz-linux-zen\n|linux /vmlinuz-linux\n",
		    entry_is_of, false);
	assert_false(entry_is_of(""));
}

TEST(no_list_grows_without_a_limit)
{
	_cleanup_free_ char *entries = repeated("initrd /ab\n", 100);
	_cleanup_free_ char *words = repeated("initrd=/ab\n", 100);
	_cleanup_(boot_entry_clear) BootEntry entry = boot_entry_parse(entries);
	_cleanup_(boot_entry_clear) BootEntry cmdline = boot_cmdline_parse(words);

	assert_int_equal(strv_length(entry.initrds), BOOT_INITRDS_MAX);
	assert_int_equal(strv_length(cmdline.initrds), BOOT_INITRDS_MAX);
}

/* A PE file with one section, ".initrd", of 16 bytes at 256. */
static void make_pe(unsigned char *b)
{
	static const unsigned char row[] = { '.', 'i', 'n', 'i', 't', 'r', 'd', 0, 16, 0, 0, 0,
					     0,	  0,   0,   0,	 32,  0,   0,	0, 0,  1, 0, 0 };

	memset(b, 0, 512);
	memcpy(b, "MZ", 2);
	b[0x3c] = 64;
	memcpy(b + 64, "PE\0\0", 4);
	b[64 + 6] = 1;
	memcpy(b + 64 + 24, row, sizeof(row));
}

TEST(a_section_lies_inside_the_file)
{
	unsigned char pe[512];
	BootSection section = { 0 };

	make_pe(pe);
	assert_true(boot_section_find(pe, sizeof(pe), sizeof(pe), ".initrd", &section));
	assert_int_equal(section.offset, 256);
	assert_int_equal(section.size, 16);
	assert_false(boot_section_find(pe, sizeof(pe), sizeof(pe), ".init", &section));
	assert_false(boot_section_find(pe, sizeof(pe), 271, ".initrd", &section));
	for (size_t n = 0; n < sizeof(pe); n++) {
		/* Its own size, so that a sanitizer sees who reads behind the end. */
		unsigned char *part = xmalloc(n + 1);

		memcpy(part, pe, n);
		assert_int_equal(boot_section_find(part, n, sizeof(pe), ".initrd", &section),
				 n >= 64 + 24 + 40);
		free(part);
	}
	for (size_t i = 0; i < 128; i++)
		for (unsigned value = 0; value < 256; value += 51) {
			make_pe(pe);
			pe[i] = (unsigned char)value;
			if (boot_section_find(pe, sizeof(pe), sizeof(pe), ".initrd", &section))
				assert_true(section.size > 0 &&
					    section.offset + section.size <= sizeof(pe));
		}
}

TEST(a_selected_entry_is_a_file_name)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *name;
	} rows[] = {
		{ "\6\0\0\0a\0.\0b\0\0", 11, "a.b" },
		{ "\6\0\0\0a\0", 6, "a" },
		{ "\6\0\0\0", 4, NULL },
		{ "", 0, NULL },
		{ "\6\0\0\0a\1", 6, NULL },
		{ "\6\0\0\0.\0.\0", 8, NULL },
		{ "\6\0\0\0a\0/\0b\0", 10, NULL },
		{ "\6\0\0\0a\0b", 7, "a" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *name =
			boot_selected_parse((const unsigned char *)rows[i].bytes, rows[i].size);

		if (!str_equal(name, rows[i].name))
			fail_msg("row %zu: %s", i, str_or_empty(name));
	}
}
