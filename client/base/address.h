/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCI addresses as operators write them. */
#pragma once

#include <inttypes.h>
#include <stdint.h>

typedef struct Address {
	uint64_t segment;
	unsigned bus, device, function;
} Address;

/* The kernel's form of an Address a: printf(ADDRESS_FORMAT, ADDRESS_ARGUMENTS(a)) */
#define ADDRESS_FORMAT "%04" PRIx64 ":%02x:%02x.%x"
#define ADDRESS_ARGUMENTS(a) (a)->segment, (a)->bus, (a)->device, (a)->function

/* What address_normalise() takes. -EINVAL for anything else. */
int address_parse(const char *text, Address *ret);
/*
 * The kernel's form (0000:41:00.0) of 41:00.0, 0000:41:00.0, 00000000:41:00.0 (NVML) and
 * pci_0000_41_00_0 (libvirt), of either case. New; NULL for anything else.
 */
char *address_normalise(const char *text);

/* The short form for commands to be typed: without the segment 0000. Borrowed from `address`. */
const char *address_short(const char *address);

/* For sorting: by segment, bus, device and function, then as text. */
int address_compare(const char *a, const char *b);
