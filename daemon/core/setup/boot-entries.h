/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a host says of the kernel that it booted and of the initramfs that goes with it: the command
 * line, entries of boot loaders, unified kernel images. Bounded, and read without trust.
 */
#pragma once

#include <stdint.h>

#include "gpupass/cleanup.h"

/* The most initrds that one entry or command line is read for. */
#define BOOT_INITRDS_MAX 16

/* NULL: not said */
typedef struct BootEntry {
	char *version;	/* of an entry only */
	char *kernel;	/* "/vmlinuz-6.1.0-18-amd64", as the boot loader sees its file system */
	char *uki;	/* of an entry only: a unified kernel image, or another program */
	char **initrds; /* "/initramfs-linux.img"; not those of microcode only */
} BootEntry;
DECLARE_CLEAR(BootEntry, boot_entry_clear)

/* An entry of UAPI.1, the Boot Loader Specification, type 1. */
BootEntry boot_entry_parse(const char *text);
/* GRUB's BOOT_IMAGE= as `kernel`, and initrd= as systemd-boot and others hand it to the kernel. */
BootEntry boot_cmdline_parse(const char *text);

/* The entry is of this kernel. `pkgbase`: Arch's name for it ("linux-zen"), NULL: none. */
bool boot_entry_is_of(const BootEntry *entry, const char *release, const char *pkgbase);
/* The name of a unified kernel image says that it is of this release: "a-6.1.0.efi". */
bool boot_name_is_of(const char *name, const char *release);

/*
 * The EFI variable LoaderEntrySelected, as efivarfs has it: "arch.conf", "arch-linux.efi". NULL: it
 * is none that this can be.
 */
char *boot_selected_parse(const unsigned char *bytes, size_t size);

/* A section of a unified kernel image, ".initrd", as its bytes in the file. */
typedef struct BootSection {
	uint64_t offset, size;
} BootSection;

/* `bytes`: the beginning of a file of `file_size` bytes. false: it has no such section. */
bool boot_section_find(const unsigned char *bytes, size_t size, uint64_t file_size,
		       const char *name, BootSection *ret);
