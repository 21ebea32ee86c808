/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As vfio_pci_fill_ids() in drivers/vfio/pci/vfio_pci.c reads each entry, pci_stub_init() alike,
 * and pci_match_one_device() in drivers/pci/pci.h compares it.
 */
#include "core/setup/driver-ids.h"

#include <ctype.h>

#define IDS_MAX 1023 /* bytes: both drivers have 1024, and refuse what is longer */
#define ANY UINT32_MAX

enum { VENDOR, DEVICE, SUBVENDOR, SUBDEVICE, CLASS, CLASS_MASK, FIELDS };

static unsigned hex_value(char c)
{
	return isdigit((unsigned char)c) ? (unsigned)(c - '0')
					 : (unsigned)(tolower((unsigned char)c) - 'a' + 10);
}

/* %x of the kernel's sscanf(): blanks and "0x" may be in front, and what does not fit is cut. */
static bool take_hex(const char **at, const char *end, uint32_t *ret)
{
	const char *p = *at;
	uint32_t value = 0;

	while (p < end && isspace((unsigned char)*p))
		p++;
	if (p == end || !isxdigit((unsigned char)*p))
		return false;
	if (end - p > 1 && p[0] == '0' && tolower((unsigned char)p[1]) == 'x')
		p += 2;
	for (; p < end && isxdigit((unsigned char)*p); p++)
		value = value << 4 | hex_value(*p);
	*at = p;
	*ret = value;
	return true;
}

/* What comes after the last field that can be read is ignored. */
static size_t read_fields(const char *at, const char *end, uint32_t fields[FIELDS])
{
	size_t n = 0;

	while (n < FIELDS && (n == 0 || (at < end && *at++ == ':')) &&
	       take_hex(&at, end, &fields[n]))
		n++;
	return n;
}

static bool entry_takes(const char *entry, size_t size, const PciFunction *f)
{
	uint32_t fields[FIELDS] = { [SUBVENDOR] = ANY, [SUBDEVICE] = ANY };
	const uint32_t of[] = { PCI_IDS(f) };

	if (read_fields(entry, entry + size, fields) <= DEVICE)
		return false;
	for (size_t i = VENDOR; i <= SUBDEVICE; i++)
		if (fields[i] != ANY && fields[i] != of[i])
			return false;
	return ((fields[CLASS] ^ f->class_code) & fields[CLASS_MASK]) == 0;
}

const char *driver_ids_find(const char *ids, const PciFunction *function, size_t *ret_size)
{
	if (strlen(ids) > IDS_MAX)
		return NULL;
	for (const char *entry = ids; *entry; entry += *entry == ',') {
		size_t size = strcspn(entry, ",");

		if (entry_takes(entry, size, function)) {
			*ret_size = size;
			return entry;
		}
		entry += size;
	}
	return NULL;
}
