/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a host says of its boot: damaged and odd forms. Whole hosts are in device/boot-image. */
#include "rig/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/facts/boot-entries.h"
#include "util/text.h"
#include "util/xalloc.h"

TEST(names_end_in_the_release)
{
	static const struct {
		const char *name, *release;
		bool is;
	} rows[] = {
		{ "a-6.1.2.efi", "6.1.2", true },
		{ "6.1.2.efi", "6.1.2", true },
		{ "a-6.1.2+3.efi", "6.1.2", true },
		{ "a-16.1.2.efi", "6.1.2", false },
		{ "a-6.1.2-18.efi", "6.1.2", false },
		{ "a-6.1.2.efi", "6.1", false },
		{ "arch-linux.efi", "linux", true },
		{ "arch-linux-zen.efi", "linux", false },
		{ "arch-linux-zen.efi", "zen", true },
		{ "linux-6.1-deadbeef.efi", "6.1", false },
		{ "", "6.1", false },
		{ "a.efi", "", false },
		{ ".efi", "6.1", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (boot_name_is_of(rows[i].name, rows[i].release) != rows[i].is)
			fail_msg("%s of %s", rows[i].name, rows[i].release);
}

TEST(an_entry_is_of_its_kernel)
{
	static const struct {
		const char *text, *pkgbase;
		bool is;
	} rows[] = {
		{ "version 6.1\n", NULL, true },
		{ "version 6.1.2\nlinux /vmlinuz-6.1\n", NULL, true },
		{ "linux /token/6.1/linux\n", NULL, true },
		{ "linux /token/6.1.2/linux\n", NULL, false },
		{ "#version 6.1\nversion\n", NULL, false },
		{ "linux /vmlinuz-linux\n", "linux", true },
		{ "linux /vmlinuz-linux-zen\n", "linux", false },
		{ "linux /vmlinuz-linux\n", NULL, false },
		{ "", "", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(boot_entry_clear) BootEntry entry = boot_entry_parse(rows[i].text);

		if (boot_entry_is_of(&entry, "6.1", rows[i].pkgbase) != rows[i].is)
			fail_msg("%s", rows[i].text);
	}
}

TEST(no_list_grows_without_a_limit)
{
	_cleanup_(boot_entry_clear) BootEntry entry = { 0 }, cmdline = { 0 };
	_cleanup_free_ char *text = xcalloc(1, 11 * 100 + 1);

	for (size_t i = 0; i < 100; i++)
		memcpy(text + 11 * i, "initrd /ab\n", 11);
	entry = boot_entry_parse(text);
	assert_int_equal(strv_length(entry.initrds), BOOT_INITRDS_MAX);
	for (char *c = text; *c; c++)
		if (*c == ' ')
			*c = '=';
	cmdline = boot_cmdline_parse(text);
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
