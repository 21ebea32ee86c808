/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the initramfs of the running kernel, as far as core/facts/initramfs.h wants to know it. For
 * worker processes: it is unpacked by libarchive, which takes up to seconds. Nothing is written.
 */
#pragma once

#include "core/facts/initramfs.h"

typedef struct InitramfsLimits {
	uint64_t time_usec;
	uint64_t unpacked_bytes;
} InitramfsLimits;

/* An image of 100 MiB takes a second; what takes longer than all of this is no image. */
#define INITRAMFS_LIMITS_DEFAULT                                                                   \
	{                                                                                          \
		.time_usec = 8000000, .unpacked_bytes = UINT64_C(4) << 30                          \
	}

/*
 * /boot/initrd.img-RELEASE, /boot/initramfs-RELEASE.img or /boot/initrd-RELEASE, below root_fd; the
 * first there is. `known`: the key of one that was read before, of which only `unchanged` is
 * answered; NULL: none. Whatever is wrong with it is *ret's `trouble`; -ENOMEM only.
 */
int initramfs_image_read(int root_fd, const char *release, const char *known,
			 const InitramfsLimits *limits, Initramfs **ret);
