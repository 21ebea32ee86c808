/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which initramfs goes with the running kernel. A boot loader reads it from any of several places,
 * so all of them are looked at, and what the boot itself left behind decides between them.
 */
#pragma once

#include <stdint.h>

typedef struct BootedKernel {
	const char *release; /* uname -r */
	const char *cmdline; /* its command line; NULL: not known */
} BootedKernel;

/* One file of an initramfs. `end` is behind its last byte: a unified kernel image has it inside. */
typedef struct BootFile {
	int fd;
	uint64_t begin, end;
} BootFile;

/* -errno; -EISDIR: it is no file; -ENODATA: a unified kernel image without an initramfs. */
int boot_file_open(int root_fd, const char *path, BootFile *ret);

/*
 * The files below root_fd that the boot loader joins to the initramfs. With a fault that the user
 * is to know, *ret is NULL and *ret_trouble says it; files are compared until the deadline.
 */
void boot_image_find(int root_fd, const BootedKernel *kernel, uint64_t deadline_usec, char ***ret,
		     char **ret_trouble);
