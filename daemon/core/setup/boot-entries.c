/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/setup/boot-entries.h"

#include "util/text.h"
#include "util/xalloc.h"

#define PE_SECTIONS_MAX 96 /* the loader of Windows takes no more */
#define EFI_ATTRIBUTES 4   /* bytes before the value */
#define SELECTED_MAX 255

#include "boot-entries.inc"

/* Microcode has an image of its own on Arch: "intel-ucode.img". It has no drivers. */
static void keep_initrd(BootEntry *entry, const char *path)
{
	const char *base = str_base_name(path);

	if (*path != '/' || strstr(base, "ucode") || str_starts_with(base, "microcode") ||
	    strv_length(entry->initrds) >= BOOT_INITRDS_MAX)
		return;
	strv_append(&entry->initrds, path);
}

static void keep_text(char **member, const char *text)
{
	if (!*member)
		*member = xstrdup(text);
}

/* GRUB has variables in these lines on Fedora: "initrd /initramfs-R.img $tuned_initrd". */
static void read_key(BootEntry *entry, char *const *words)
{
	const char *key = words[0];

	if (strcmp(key, "version") == 0)
		keep_text(&entry->version, words[1]);
	else if (strcmp(key, "linux") == 0)
		keep_text(&entry->kernel, words[1]);
	else if (strcmp(key, "uki") == 0 || strcmp(key, "efi") == 0)
		keep_text(&entry->uki, words[1]);
	for (char *const *word = words + 1; strcmp(key, "initrd") == 0 && *word; word++)
		keep_initrd(entry, *word);
}

BootEntry boot_entry_parse(const char *text)
{
	_cleanup_free_ char *copy = xstrdup(text);
	BootEntry entry = { 0 };
	char *next = copy, *line;

	while ((line = strsep(&next, "\n"))) {
		_cleanup_strv_ char **words = NULL;

		strv_split(line, " \t\r", &words);
		if (strv_length(words) > 1)
			read_key(&entry, words);
	}
	return entry;
}

/* "(hd0,gpt2)/vmlinuz-6.1", "\EFI\Linux\initrd": the path alone. */
static void spell_path(char *path)
{
	const char *slash;

	for (char *c = path; *c; c++)
		if (*c == '\\')
			*c = '/';
	slash = *path == '(' ? strchr(path, '/') : NULL;
	if (slash)
		memmove(path, slash, strlen(slash) + 1);
}

BootEntry boot_cmdline_parse(const char *text)
{
	_cleanup_strv_ char **words = NULL;
	BootEntry entry = { 0 };

	strv_split(text, " \t\n", &words);
	for (char **word = words; word && *word; word++) {
		char *value = strchr(*word, '=');

		/* What is behind it is for init. */
		if (strcmp(*word, "--") == 0)
			break;
		if (!value)
			continue;
		*value++ = '\0';
		spell_path(value);
		if (strcmp(*word, "BOOT_IMAGE") == 0)
			keep_text(&entry.kernel, value);
		else if (strcmp(*word, "initrd") == 0)
			keep_initrd(&entry, value);
	}
	return entry;
}

/* ---- of which kernel ---- */

/* `name`, of `size` bytes, is the release or ends in a dash and it. */
static bool ends_in(const char *name, size_t size, const char *release)
{
	size_t n = strlen(release);

	return n > 0 && size >= n && strncmp(name + size - n, release, n) == 0 &&
	       (size == n || name[size - n - 1] == '-');
}

/* dracut puts the machine's id behind it, kernel-install how often to try it: "+3-1". */
bool boot_name_is_of(const char *name, const char *release)
{
	size_t size = strlen(name), n = strlen(release);

	if (size > 4 && strcmp(name + size - 4, ".efi") == 0)
		size -= 4;
	if (ends_in(name, size, release) || ends_in(name, strcspn(name, "+"), release))
		return true;
	return str_starts_with(name, "linux-") && n > 0 && strncmp(name + 6, release, n) == 0 &&
	       name[6 + n] == '-' && strspn(name + 7 + n, "0123456789abcdef") >= 32;
}

bool boot_entry_is_of(const BootEntry *entry, const char *release, const char *pkgbase)
{
	_cleanup_free_ char *arch = pkgbase ? strf("vmlinuz-%s", pkgbase) : NULL;

	if (entry->version && strcmp(entry->version, release) == 0)
		return true;
	if (!entry->kernel)
		return false;
	/* "/TOKEN/RELEASE/linux" is kernel-install's. */
	for (const char *at = entry->kernel; *at;) {
		size_t n = strcspn(at, "/");

		if (ends_in(at, n, release))
			return true;
		at += n + (at[n] == '/');
	}
	return arch && strcmp(str_base_name(entry->kernel), arch) == 0;
}

/* UTF-16 with a NUL. systemd-boot's names of entries are ASCII. */
char *boot_selected_parse(const unsigned char *bytes, size_t size)
{
	char name[SELECTED_MAX + 1];
	size_t n = 0;

	for (size_t i = EFI_ATTRIBUTES; i + 1 < size; i += 2) {
		if (bytes[i] == 0 && bytes[i + 1] == 0)
			break;
		if (bytes[i + 1] != 0 || bytes[i] <= ' ' || bytes[i] > '~' || bytes[i] == '/' ||
		    n == SELECTED_MAX)
			return NULL;
		name[n++] = (char)bytes[i];
	}
	return n == 0 || name[0] == '.' ? NULL : xstrndup(name, n);
}

/* ---- unified kernel images ---- */

static uint32_t read_u32(const unsigned char *b)
{
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/*
 * UAPI.5: a PE file. Its table of sections is behind the COFF header of 24 bytes and an optional
 * one. A section's size is rounded up in the file; VirtualSize is the true one.
 */
bool boot_section_find(const unsigned char *bytes, size_t size, uint64_t file_size,
		       const char *name, BootSection *ret)
{
	char padded[8] = { 0 };
	size_t pe, table, n;

	memcpy(padded, name, strnlen(name, sizeof(padded)));
	if (size < 64 || memcmp(bytes, "MZ", 2) != 0)
		return false;
	pe = read_u32(bytes + 0x3c);
	if (pe > size || size - pe < 24 || memcmp(bytes + pe, "PE\0\0", 4) != 0)
		return false;
	n = bytes[pe + 6] | (size_t)bytes[pe + 7] << 8;
	table = pe + 24 + (bytes[pe + 20] | (size_t)bytes[pe + 21] << 8);
	for (size_t i = 0; i < n && i < PE_SECTIONS_MAX && table + 40 * (i + 1) <= size; i++) {
		const unsigned char *section = bytes + table + 40 * i;
		uint32_t virtual_size = read_u32(section + 8), raw_size = read_u32(section + 16);
		BootSection found = { .offset = read_u32(section + 20),
				      .size = virtual_size < raw_size ? virtual_size : raw_size };

		if (memcmp(section, padded, sizeof(padded)) != 0)
			continue;
		if (found.size == 0 || found.offset > file_size ||
		    file_size - found.offset < found.size)
			return false;
		*ret = found;
		return true;
	}
	return false;
}
