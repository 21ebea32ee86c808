/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images of initramfs, made in parts as distributions make them. */
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "host/image/initramfs-image.h"
#include "temp-dir.h"

#define RELEASE "6.1.0-18-amd64"
#define IMAGE "boot/initrd.img-" RELEASE
#define MODULES "usr/lib/modules/" RELEASE "/"
#define IMAGE_MAX (1024UL * 1024)

typedef struct File {
	const char *name, *text;
} File;

/* Bytes that grow; one segment behind another. */
typedef struct Bytes {
	char *data;
	size_t size;
} Bytes;

static inline _unused_ void bytes_done(Bytes *b)
{
	free(b->data);
	*b = (Bytes){ 0 };
}

static inline _unused_ void add_bytes(Bytes *to, const void *data, size_t size)
{
	to->data = realloc(to->data, to->size + size + 1);
	assert_non_null(to->data);
	if (size > 0)
		memcpy(to->data + to->size, data, size);
	to->size += size;
}

static inline _unused_ void add_zeros(Bytes *to, size_t n)
{
	for (; n > 0; n--)
		add_bytes(to, "", 1);
}

typedef int (*AddFilter)(struct archive *a);

static const struct {
	const char *name;
	AddFilter add;
} filters[] = {
	{ "none", archive_write_add_filter_none }, { "gzip", archive_write_add_filter_gzip },
	{ "zstd", archive_write_add_filter_zstd }, { "xz", archive_write_add_filter_xz },
	{ "lzma", archive_write_add_filter_lzma }, { "bzip2", archive_write_add_filter_bzip2 },
};

/* false: this libarchive cannot make that. */
static inline _unused_ bool add_segment(Bytes *to, AddFilter filter, const File *files)
{
	struct archive *a = archive_write_new();
	char *data = malloc(IMAGE_MAX);
	size_t used = 0;
	bool can;

	assert_non_null(a);
	assert_non_null(data);
	can = filter(a) == ARCHIVE_OK;
	assert_int_equal(archive_write_set_format_cpio_newc(a), ARCHIVE_OK);
	archive_write_set_bytes_in_last_block(a, 1);
	assert_int_equal(archive_write_open_memory(a, data, IMAGE_MAX, &used), ARCHIVE_OK);
	for (; files->name; files++) {
		struct archive_entry *entry = archive_entry_new();
		size_t size = strlen(files->text);

		archive_entry_set_pathname(entry, files->name);
		archive_entry_set_filetype(entry, AE_IFREG);
		archive_entry_set_perm(entry, 0644);
		archive_entry_set_size(entry, (la_int64_t)size);
		assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
		assert_int_equal(archive_write_data(a, files->text, size), size);
		archive_entry_free(entry);
	}
	assert_int_equal(archive_write_close(a), ARCHIVE_OK);
	archive_write_free(a);
	if (can)
		add_bytes(to, data, used);
	free(data);
	return can;
}

static const File microcode[] _unused_ = {
	{ "kernel/x86/microcode/GenuineIntel.bin", "0123456789abcdef0" },
	{ NULL, NULL },
};
static const File with_drivers[] _unused_ = {
	{ "conf/initramfs.conf", "MODULES=most\n" },
	{ "etc/modprobe.d/nvidia.conf",
	  "# by hand\nblacklist nouveau\noptions nvidia-drm modeset=1\n" },
	{ MODULES "updates/dkms/nvidia-current.ko", "x" },
	{ MODULES "updates/dkms/nvidia-current-drm.ko", "x" },
	{ MODULES "kernel/drivers/gpu/drm/nouveau/nouveau.ko", "x" },
	{ MODULES "kernel/sound/pci/hda/snd-hda-intel.ko.zst", "x" },
	{ NULL, NULL },
};
static const File with_gpupass[] _unused_ = {
	{ "usr/libexec/gpupass/gpupass-bind", "x" },
	{ "usr/lib/udev/rules.d/60-gpupass.rules", "x" },
	{ MODULES "kernel/drivers/vfio/pci/vfio-pci.ko.xz", "x" },
	{ NULL, NULL },
};

static inline _unused_ void put_image(const TempDir *dir, const Bytes *bytes)
{
	temp_dir_write_bytes(dir, IMAGE, bytes->data, bytes->size);
}

static inline _unused_ Initramfs *read_with(const TempDir *dir, const char *known,
					    const InitramfsLimits *limits)
{
	return initramfs_image_read(dir->fd, &(BootedKernel){ RELEASE, NULL }, known, limits);
}

static inline _unused_ Initramfs *read_image(const TempDir *dir)
{
	static const InitramfsLimits limits = INITRAMFS_LIMITS_DEFAULT;

	return read_with(dir, NULL, &limits);
}

/* `lz4 -l`, as initramfs-tools calls it: the form that the kernel knows. One block of literals. */
static inline _unused_ void add_kernel_lz4(Bytes *to, const Bytes *plain)
{
	_cleanup_(bytes_done) Bytes block = { 0 };
	uint32_t size; /* little-endian, as all that gpupass runs on */
	size_t left = plain->size - 15;

	add_bytes(&block, "\xf0", 1);
	for (; left >= 255; left -= 255)
		add_bytes(&block, "\xff", 1);
	add_bytes(&block, (char[]){ (char)left }, 1);
	add_bytes(&block, plain->data, plain->size);
	size = (uint32_t)block.size;
	add_bytes(to, "\x02\x21\x4c\x18", 4);
	add_bytes(to, &size, sizeof(size));
	add_bytes(to, block.data, block.size);
}
