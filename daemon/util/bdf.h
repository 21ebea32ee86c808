/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PCI addresses. The kernel writes ssss:bb:dd.f. Behind Intel VMD the segment has more than four
 * hex digits (10000:e1:00.0), so a segment is 32 bits wide here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest text form with its NUL: "ffffffff:ff:1f.7". */
#define BDF_TEXT_MAX 17

typedef struct Bdf {
	uint32_t segment;
	uint8_t bus;
	uint8_t device;	  /* 0 … 31 */
	uint8_t function; /* 0 … 7 */
} Bdf;

/*
 * Accepts 41:00.0, 0000:41:00.0, 00000000:41:00.0 (NVML's form) and pci_0000_41_00_0 (libvirt's
 * nodedev form), with hex digits of either case, and nothing else. -EINVAL leaves *ret alone.
 */
int bdf_parse(const char *text, Bdf *ret);

/* The kernel's own form. Returns `buffer`. */
const char *bdf_format(const Bdf *bdf, char buffer[BDF_TEXT_MAX]);
/* For use inside one expression: BDF_TEXT(&f->bdf). */
#define BDF_TEXT(bdf) bdf_format((bdf), (char[BDF_TEXT_MAX]){ 0 })

/* Of two addresses, or of two structs that begin with one: for qsort(), too. */
int bdf_compare(const void *one, const void *other);
/* Here, because a picture of many groups and domains compares tens of thousands. */
static inline bool bdf_equal(const Bdf *a, const Bdf *b)
{
	return a->segment == b->segment && a->bus == b->bus && a->device == b->device &&
	       a->function == b->function;
}
/* They are in one slot: everything but the function number is equal. */
bool bdf_same_slot(const Bdf *a, const Bdf *b);
/* The list contains this address. */
bool bdf_in(const Bdf *bdf, const Bdf *list, size_t n);

/* The first of n structs that has this address, which is their first member; NULL: none has. */
#define BDF_FIND(items, n, bdf)                                                                    \
	((__typeof__(&(items)[0]))bdf_find(items, n, sizeof((items)[0]), bdf))
const void *bdf_find(const void *items, size_t n, size_t size, const Bdf *bdf);
/* The addresses of such structs, as a list of its own. */
#define BDF_LIST(items, n) bdf_list(items, n, sizeof((items)[0]))
Bdf *bdf_list(const void *items, size_t n, size_t size);

/*
 * The four ids of a board, in any structs that have them, by pointers: whether they are the same;
 * an initializer of one struct's by another's; and the arguments of "%04x:%04x (%04x:%04x)".
 */
#define PCI_SAME_IDS(a, b)                                                                         \
	((a)->vendor == (b)->vendor && (a)->device == (b)->device &&                               \
	 (a)->subsystem_vendor == (b)->subsystem_vendor &&                                         \
	 (a)->subsystem_device == (b)->subsystem_device)
#define PCI_IDS_OF(of)                                                                             \
	.vendor = (of)->vendor, .device = (of)->device,                                            \
	.subsystem_vendor = (of)->subsystem_vendor, .subsystem_device = (of)->subsystem_device
#define PCI_IDS(of) (of)->vendor, (of)->device, (of)->subsystem_vendor, (of)->subsystem_device
