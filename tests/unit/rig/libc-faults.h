/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of the C library that fail when they are told to. The program is linked with --wrap for
 * each of them (see meson.build), so that all of gpupass's own code calls these. Only while they are
 * armed.
 */
#pragma once

#include <stdbool.h>

typedef enum LibcFault {
	LIBC_OPEN,     /* EMFILE: open and its kin */
	LIBC_WRITE,    /* ENOSPC: write */
	LIBC_SYNC,     /* EIO: fsync, fdatasync */
	LIBC_RENAME,   /* EIO: renameat */
	LIBC_TRUNCATE, /* EIO: ftruncate */
	LIBC_FAULT_MAX_,
} LibcFault;

/* The nth call from now on fails, from 1; 0: none does, they are counted. */
void libc_arm(LibcFault kind, unsigned nth, bool and_all_later);
/* Calls of that kind since; nothing fails any more. */
unsigned libc_disarm(void);
const char *libc_fault_name(LibcFault kind);
