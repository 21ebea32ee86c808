/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads from the initramfs of the running kernel what core/facts/initramfs.h needs. For a
 * process of its own: libarchive unpacks it, which takes up to seconds. Writes nothing.
 */
#pragma once

#include "core/facts/initramfs.h"
#include "host/image/boot-image.h"

typedef struct InitramfsLimits {
	uint64_t time_usec;
	uint64_t unpacked_bytes;
} InitramfsLimits;

/* An image of 100 MiB takes a second. Reading stops after this long. */
#define INITRAMFS_LIMITS_DEFAULT                                                                   \
	{                                                                                          \
		.time_usec = 8000000, .unpacked_bytes = UINT64_C(4) << 30                          \
	}

/*
 * Reads the image below root_fd that boot_image_find() finds. `known`: the key of an image that was
 * read before; if it is that image, sets only `unchanged`. NULL: none. Any fault of the image is in
 * its `trouble`.
 */
Initramfs *initramfs_image_read(int root_fd, const BootedKernel *kernel, const char *known,
				const InitramfsLimits *limits);
