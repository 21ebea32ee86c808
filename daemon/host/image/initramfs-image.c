/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/image/initramfs-image.h"

#include <archive.h>
#include <sys/stat.h>

#include "core/setup/boot-entries.h"
#include "core/setup/cpio-stream.h"
#include "host/modprobe/kmod.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xalloc.h"

#define BLOCK_BYTES (256U * 1024)
/* Ubuntu's has three: microcode, modules and the rest. */
#define SEGMENTS_MAX 64
#define RELEASE_MAX 128

typedef struct ImageReader {
	Initramfs *image;
	CpioStream stream;
	int fd;
	uint64_t size, offset; /* of the file, in bytes: where it ends, and what is read next */
	uint64_t fetched;      /* as offset, for libarchive */
	char *block;	       /* for libarchive */
	uint64_t unpacked, unpacked_max;
	uint64_t deadline_usec;
} ImageReader;

static void archive_freep(struct archive **a)
{
	archive_read_free(*a);
}

/* Keeps the first trouble. Takes the text; -EBADMSG, which ends the reading. */
static int trouble(Initramfs *image, char *text)
{
	if (image->trouble)
		free(text);
	else
		image->trouble = text;
	return -EBADMSG;
}

/* ---- the two ways of segments ---- */

static int note_name(const char *name, void *userdata)
{
	return initramfs_note_name(userdata, name);
}

static int note_content(const char *name, const char *text, void *userdata)
{
	initramfs_note_content(userdata, name, text);
	return 0;
}

static int push(ImageReader *r, const char *data, size_t size, size_t *ret_used)
{
	int error;

	r->unpacked += size;
	if (r->unpacked > r->unpacked_max)
		return trouble(r->image, strf("%s is too large when unpacked", r->image->path));
	if (now_monotonic() > r->deadline_usec)
		return trouble(r->image, strf("%s: reading it takes too long", r->image->path));
	error = cpio_stream_push(&r->stream, data, size, ret_used);
	if (error >= 0)
		return error;
	return trouble(r->image,
		       strf("%s: %s", r->image->path,
			    error == -E2BIG ? "it has too many entries" : "it is damaged"));
}

/* A block of the file, which ends where the image does. */
static ssize_t read_at(const ImageReader *r, char *block, uint64_t offset)
{
	uint64_t left = r->size - offset;

	return pread(r->fd, block, left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES, (off_t)offset);
}

/* Uncompressed archives, and zeros: microcode, and with some distributions modules. */
static int read_plain(ImageReader *r)
{
	_cleanup_free_ char *block = xmalloc(BLOCK_BYTES);

	while (r->offset < r->size) {
		ssize_t n = read_at(r, block, r->offset);
		size_t used = 0;
		int error;

		if (n <= 0)
			return trouble(r->image,
				       strf("%s: %s", r->image->path,
					    n < 0 ? strerror(errno) : "it became shorter"));
		error = push(r, block, (size_t)n, &used);
		r->offset += used;
		if (error < 0 || used < (size_t)n)
			return error;
	}
	return 0;
}

/*
 * Signatures as in the kernel (lib/decompress.c), and libarchive's filter for each. libarchive
 * would run another program for lzop, so lzop is not supported.
 */
static const struct Compression {
	unsigned char magic[2];
	const char *name;
	int (*support)(struct archive *a);
} compressions[] = {
	{ { 0x1f, 0x8b }, "gzip", archive_read_support_filter_gzip },
	{ { 0x28, 0xb5 }, "zstd", archive_read_support_filter_zstd },
	{ { 0xfd, 0x37 }, "xz", archive_read_support_filter_xz },
	{ { 0x02, 0x21 }, "lz4", archive_read_support_filter_lz4 },
	{ { 0x5d, 0x00 }, "lzma", archive_read_support_filter_lzma },
	{ { 0x42, 0x5a }, "bzip2", archive_read_support_filter_bzip2 },
	{ { 0x89, 0x4c }, "lzop", NULL },
};

static const struct Compression *find_compression(ImageReader *r)
{
	unsigned char magic[2];

	if (pread(r->fd, magic, sizeof(magic), (off_t)r->offset) != sizeof(magic))
		return NULL;
	return FIND(compressions, ELEMENTS(compressions),
		    memcmp(magic, it->magic, sizeof(magic)) == 0);
}

static la_ssize_t fetch(struct archive *a, void *userdata, const void **ret)
{
	ImageReader *r = userdata;
	ssize_t n = read_at(r, r->block, r->fetched);

	if (n < 0)
		archive_set_error(a, errno, "%s", strerror(errno));
	else
		r->fetched += (uint64_t)n;
	*ret = r->block;
	return n;
}

/* ARCHIVE_WARN says that libarchive was built without it, and would start a program instead. */
static int open_compressed(ImageReader *r, const struct Compression *c, struct archive *a)
{
	if (!c->support || c->support(a) != ARCHIVE_OK)
		return trouble(r->image, strf("%s is compressed by %s, which cannot be read here",
					      r->image->path, c->name));
	r->fetched = r->offset;
	if (archive_read_support_format_raw(a) != ARCHIVE_OK ||
	    archive_read_open(a, r, NULL, fetch, NULL) != ARCHIVE_OK)
		return trouble(r->image, strf("%s: %s", r->image->path,
					      str_or_empty(archive_error_string(a))));
	return 0;
}

/* The unpacked bytes are archives, and nothing else. */
static int push_unpacked(ImageReader *r, struct archive *a)
{
	for (;;) {
		const void *data;
		size_t size, used = 0;
		la_int64_t offset;
		int error, status = archive_read_data_block(a, &data, &size, &offset);

		if (status == ARCHIVE_EOF)
			return 0;
		if (status != ARCHIVE_OK)
			return trouble(r->image, strf("%s: %s", r->image->path,
						      str_or_empty(archive_error_string(a))));
		error = push(r, data, size, &used);
		if (error < 0)
			return error;
		if (used < size)
			return trouble(r->image, strf("%s: it is damaged: something that is no "
						      "archive is compressed in it",
						      r->image->path));
	}
}

static int read_compressed(ImageReader *r)
{
	_cleanup_(archive_freep) struct archive *a = archive_read_new();
	const struct Compression *c = find_compression(r);
	struct archive_entry *entry;
	la_int64_t consumed;
	int error;

	if (!a)
		no_memory();
	if (!c)
		return trouble(r->image, strf("%s is damaged, or no image: no archive at byte %llu",
					      r->image->path, (unsigned long long)r->offset));
	error = open_compressed(r, c, a);
	if (error < 0)
		return error;
	/* "Raw" is an archive with one entry: all of it. */
	if (archive_read_next_header(a, &entry) != ARCHIVE_OK)
		return trouble(r->image, strf("%s: %s", r->image->path,
					      archive_error_string(a) ? archive_error_string(a)
								      : "it is cut off"));
	error = push_unpacked(r, a);
	if (error < 0)
		return error;
	consumed = archive_filter_bytes(a, -1); /* of the file */
	if (consumed <= 0)
		return trouble(r->image, strf("%s is damaged", r->image->path));
	r->offset += (uint64_t)consumed;
	return 0;
}

static int read_segments(ImageReader *r)
{
	int error = 0;

	for (unsigned i = 0; error >= 0 && r->offset < r->size; i++) {
		if (i == SEGMENTS_MAX)
			return trouble(r->image, strf("%s has too many parts", r->image->path));
		error = read_plain(r);
		if (error >= 0 && r->offset < r->size)
			error = read_compressed(r);
	}
	if (error < 0)
		return error;
	if (!cpio_stream_is_whole(&r->stream))
		return trouble(r->image, strf("%s is cut off", r->image->path));
	if (r->stream.n_names == 0)
		return trouble(r->image, strf("%s is empty", r->image->path));
	return 0;
}

/* ---- its files ---- */

static int add_to_key(Initramfs *image, int fd)
{
	_cleanup_free_ char *before = TAKE_PTR(image->key);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	image->key = strf("%s%s%s %llu %llu %lld.%09ld %lld.%09ld", str_or_empty(before),
			  before ? " " : "", image->path, (unsigned long long)st.st_size,
			  (unsigned long long)st.st_ino, (long long)st.st_mtim.tv_sec,
			  st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	return 0;
}

static void set_path(Initramfs *image, const char *path)
{
	free(image->path);
	image->path = xstrdup(path);
}

static int open_file(int root_fd, const char *path, Initramfs *image, BootFile *ret)
{
	BootFile file;
	int r;

	set_path(image, path);
	r = boot_file_open(root_fd, path, &file);
	if (r >= 0)
		r = add_to_key(image, file.fd);
	if (r < 0)
		return trouble(image, strf("%s: %s", path,
					   r == -EISDIR	   ? "it is no file"
					   : r == -ENODATA ? "it has no initramfs"
							   : strerror(-r)));
	*ret = file;
	return 0;
}

static int read_file(const BootFile *file, const InitramfsLimits *limits, uint64_t deadline_usec,
		     Initramfs *image)
{
	const CpioHandler handler = {
		.entry = note_name,
		.content = note_content,
		.userdata = image,
	};
	_cleanup_free_ char *block = xmalloc(BLOCK_BYTES);
	ImageReader reader = {
		.image = image,
		.fd = file->fd,
		.size = file->end,
		.offset = file->begin,
		.block = block,
		.unpacked_max = limits->unpacked_bytes,
		.deadline_usec = deadline_usec,
	};
	int r;

	cpio_stream_init(&reader.stream, &handler);
	r = read_segments(&reader);
	cpio_stream_clear(&reader.stream);
	return r;
}

static void read_modprobe(Initramfs *image)
{
	_cleanup_free_ char *text = initramfs_modprobe_text(image);
	int r = 0;

	if (*text)
		r = kmod_read_text(text, &image->modprobe);
	if (r < 0)
		trouble(image, strf("%s: its modprobe.d cannot be read: %s", image->path,
				    r == -ELIBACC ? "libkmod cannot be loaded" : strerror(-r)));
}

/* The kernel unpacks one behind the other. */
static int read_files(int root_fd, char *const *paths, const char *known,
		      const InitramfsLimits *limits, uint64_t deadline_usec, Initramfs *image)
{
	BootFile files[BOOT_INITRDS_MAX];
	size_t n = 0;
	int r = 0;

	for (; r >= 0 && paths[n]; n += r >= 0)
		r = open_file(root_fd, paths[n], image, &files[n]);
	image->unchanged = r >= 0 && str_equal(known, image->key);
	for (size_t i = 0; r >= 0 && !image->unchanged && i < n; i++) {
		set_path(image, paths[i]);
		r = read_file(&files[i], limits, deadline_usec, image);
	}
	while (n > 0)
		close_fd(files[--n].fd);
	return r;
}

Initramfs *initramfs_image_read(int root_fd, const BootedKernel *kernel, const char *known,
				const InitramfsLimits *limits)
{
	Initramfs *image = xcalloc(1, sizeof(*image));
	uint64_t deadline_usec = now_monotonic() + limits->time_usec;
	_cleanup_strv_ char **paths = NULL;
	const char *release = kernel->release;
	int r = 0;

	image->release = xstrdup(release);
	if (strchr(release, '/') || str_is_empty(release) || strlen(release) > RELEASE_MAX)
		r = trouble(image, xstrdup("the kernel's release is no name"));
	else
		boot_image_find(root_fd, kernel, deadline_usec, &paths, &image->trouble);
	if (paths)
		r = read_files(root_fd, paths, known, limits, deadline_usec, image);
	if (r >= 0)
		read_modprobe(image);
	return image;
}
