/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libarchive for fake-worker, loaded when it is first called. A worker needs it for the host's
 * initramfs only, but it brings a dozen libraries along, ICU among them, and loading those takes
 * longer than all else that a fake-worker does. Tests start tens of thousands of them.
 */
#include <archive.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Its name since version 3. */
#define LIBRARY "libarchive.so.13"

/* No test can go on without it. */
static void *find(const char *name)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	void *symbol = library ? dlsym(library, name) : NULL;

	if (!symbol) {
		fprintf(stderr, "fake-worker: %s\n", dlerror());
		abort();
	}
	dlclose(library);
	return symbol;
}

/* The address of a function in a void *, which POSIX allows and C has no cast for. */
#define FORWARD(type, name, parameters, arguments)                                                 \
	type name parameters                                                                       \
	{                                                                                          \
		type(*function) parameters;                                                        \
		void *symbol = find(#name);                                                        \
                                                                                                   \
		memcpy(&function, &symbol, sizeof(function));                                      \
		return function arguments;                                                         \
	}

/* What host/device/initramfs-image.c calls: whatever lacks here, links libarchive again. */
FORWARD(struct archive *, archive_read_new, (void), ())
FORWARD(int, archive_read_free, (struct archive * a), (a))
FORWARD(int, archive_read_support_filter_gzip, (struct archive * a), (a))
FORWARD(int, archive_read_support_filter_zstd, (struct archive * a), (a))
FORWARD(int, archive_read_support_filter_xz, (struct archive * a), (a))
FORWARD(int, archive_read_support_filter_lz4, (struct archive * a), (a))
FORWARD(int, archive_read_support_filter_lzma, (struct archive * a), (a))
FORWARD(int, archive_read_support_filter_bzip2, (struct archive * a), (a))
FORWARD(int, archive_read_support_format_raw, (struct archive * a), (a))
FORWARD(int, archive_read_open_fd, (struct archive * a, int fd, size_t size), (a, fd, size))
FORWARD(int, archive_read_next_header, (struct archive * a, struct archive_entry **entry),
	(a, entry))
FORWARD(int, archive_read_data_block,
	(struct archive * a, const void **data, size_t *size, la_int64_t *offset),
	(a, data, size, offset))
FORWARD(la_int64_t, archive_filter_bytes, (struct archive * a, int filter), (a, filter))
FORWARD(const char *, archive_error_string, (struct archive * a), (a))
