/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An initramfs, which anybody may have made: what is read of an archive is the same however it
 * comes in pieces, and an image ends in a description, with its trouble if there is any.
 */
#include "core/setup/boot-entries.h"
#include "core/setup/cpio-stream.h"
#include "fuzz.h"
#include "host/image/initramfs-image.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

#define RELEASE "6.1.0"

/* ---- the archive ---- */

typedef struct Seen {
	Initramfs *image;
	uint64_t hash;
	size_t n;
} Seen;

static void add_to_hash(Seen *seen, const char *text)
{
	for (; *text; text++)
		seen->hash = (seen->hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	seen->n++;
}

static int note_entry(const char *name, void *userdata)
{
	Seen *seen = userdata;

	EXPECT(strlen(name) < CPIO_NAME_MAX);
	add_to_hash(seen, name);
	return initramfs_note_name(seen->image, name);
}

static int note_content(const char *name, const char *text, void *userdata)
{
	Seen *seen = userdata;

	EXPECT(strlen(text) <= CPIO_CONTENT_MAX);
	add_to_hash(seen, text);
	initramfs_note_content(seen->image, name, text);
	return 0;
}

static int push(CpioStream *stream, const char *bytes, size_t size, size_t *ret_used)
{
	int r = cpio_stream_push(stream, bytes, size, ret_used);

	EXPECT(r == 0 || r == -EBADMSG || r == -E2BIG);
	EXPECT(*ret_used <= size);
	return r;
}

/* Pushes pieces of `step` bytes; *ret_used counts all that was taken. */
static int read_archive(const char *bytes, size_t size, size_t step, Seen *seen, size_t *ret_used,
			bool *ret_whole)
{
	const CpioHandler handler = { note_entry, note_content, seen };
	CpioStream stream;
	int r = 0;

	seen->image = calloc(1, sizeof(*seen->image));
	EXPECT(seen->image);
	cpio_stream_init(&stream, &handler);
	*ret_used = 0;
	for (size_t at = 0; r == 0 && at < size;) {
		size_t n = size - at < step ? size - at : step, used = 0;
		/* A copy of its own, so that reading past its end is seen. */
		_cleanup_free_ char *piece = malloc(n);

		EXPECT(piece);
		memcpy(piece, bytes + at, n);
		r = push(&stream, piece, n, &used);
		*ret_used += used;
		at += n;
		if (used < n)
			break;
	}
	*ret_whole = r == 0 && cpio_stream_is_whole(&stream);
	cpio_stream_clear(&stream);
	return r;
}

static void pieces_make_no_difference(const char *bytes, size_t size)
{
	static const size_t steps[] = { 1, 7, 110, 4096 };
	Seen whole = { 0 }, parts = { 0 };
	size_t used, used_parts;
	bool ends, ends_parts;
	int r = read_archive(bytes, size, size, &whole, &used, &ends);

	EXPECT(read_archive(bytes, size, steps[size % ELEMENTS(steps)], &parts, &used_parts,
			    &ends_parts) == r);
	EXPECT(whole.hash == parts.hash && whole.n == parts.n && ends == ends_parts);
	EXPECT(r < 0 || used == used_parts);
	initramfs_free(whole.image);
	initramfs_free(parts.image);
}

/* ---- the image, through libarchive ---- */

static void an_image_is_described(const char *bytes, size_t size)
{
	static const InitramfsLimits limits = { .time_usec = 60000000, .unpacked_bytes = 1 << 20 };
	const BootedKernel kernel = { .release = RELEASE };
	_cleanup_(initramfs_freep) Initramfs *image = NULL, *again = NULL, *known = NULL;
	_cleanup_free_ char *why = NULL;
	_cleanup_close_ int boot = -1;
	_cleanup_json_ json_t *json = NULL;
	int fd;

	fuzz_directory(&fd);
	EXPECT(dir_open_at(fd, "boot", true, &boot) == 0);
	fuzz_write(boot, "initrd.img-" RELEASE, bytes, size);
	image = initramfs_image_read(fd, &kernel, NULL, &limits);
	EXPECT(image && (image->key || image->trouble) && !image->unchanged);
	for (char **i = image->modules; i && *i; i++)
		EXPECT(!strpbrk(*i, "/\n"));
	/* What it found can be sent to the daemon. */
	json = json_struct_write(initramfs_members, image);
	EXPECT(json && initramfs_from_json(json, &again, &why) == 0);
	known = initramfs_image_read(fd, &kernel, image->key, &limits);
	EXPECT(known->unchanged || !image->key);
}

/* What a host says of its boot. */
static void boots_are_understood(const char *bytes, size_t size, const char *text)
{
	_cleanup_(boot_entry_clear) BootEntry entry = { 0 }, cmdline = { 0 };
	_cleanup_free_ char *selected = NULL;
	BootSection section;

	entry = boot_entry_parse(text);
	cmdline = boot_cmdline_parse(text);
	EXPECT(strv_length(entry.initrds) <= BOOT_INITRDS_MAX);
	EXPECT(strv_length(cmdline.initrds) <= BOOT_INITRDS_MAX);
	boot_entry_is_of(&entry, RELEASE, "linux");
	boot_name_is_of(text, RELEASE);
	selected = boot_selected_parse((const unsigned char *)bytes, size);
	EXPECT(!selected || (*selected && !strchr(selected, '/')));
	if (boot_section_find((const unsigned char *)bytes, size, size, ".initrd", &section))
		EXPECT(section.size > 0 && section.size <= size &&
		       section.offset <= size - section.size);
}

static void each_name_and_content_is_noted(const char *text)
{
	_cleanup_(initramfs_freep) Initramfs *image = calloc(1, sizeof(*image));
	const char *rest = strchr(text, '\n');
	_cleanup_free_ char *name = rest ? strndup(text, (size_t)(rest - text)) : strdup(text);

	EXPECT(image && name);
	if (initramfs_note_name(image, name) > 0)
		initramfs_note_content(image, name, str_or_empty(rest));
	initramfs_taker(image, 0x030000, NULL);
}

/* fault 59 */
void fuzz_one(const char *bytes, size_t size, const char *text)
{
	if (size == 0)
		return;
	pieces_make_no_difference(bytes, size);
	an_image_is_described(bytes, size);
	boots_are_understood(bytes, size, text);
	each_name_and_content_is_noted(text);
}
