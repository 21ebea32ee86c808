/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/address.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

/* Reads `min` to `max` hex digits and moves *s past them. */
static int read_hex(const char **s, size_t min, size_t max, uint64_t *ret)
{
	uint64_t value = 0;
	size_t n = 0;

	for (; n < max && isxdigit((unsigned char)(*s)[n]); n++) {
		char c = (char)tolower((unsigned char)(*s)[n]);

		value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	if (n < min)
		return -EINVAL;
	*s += n;
	*ret = value;
	return 0;
}

static int read_char(const char **s, char c)
{
	if (**s != c)
		return -EINVAL;
	(*s)++;
	return 0;
}

/* "bb:dd.f" with the separators given, to the end of the text. */
static int read_slot(const char *s, char colon, char dot, Address *ret)
{
	uint64_t bus, device, function;

	if (read_hex(&s, 2, 2, &bus) < 0 || read_char(&s, colon) < 0 ||
	    read_hex(&s, 2, 2, &device) < 0 || read_char(&s, dot) < 0 ||
	    read_hex(&s, 1, 1, &function) < 0 || *s != '\0' || device > 31 || function > 7)
		return -EINVAL;
	ret->bus = (unsigned)bus;
	ret->device = (unsigned)device;
	ret->function = (unsigned)function;
	return 0;
}

int address_parse(const char *text, Address *ret)
{
	const char *s = text;
	Address a = { 0 };
	bool nodedev = str_starts_with(s, "pci_");
	char colon = nodedev ? '_' : ':', dot = nodedev ? '_' : '.';

	if (!nodedev && read_slot(s, colon, dot, &a) == 0) {
		*ret = a;
		return 0;
	}
	if (nodedev)
		s += strlen("pci_");
	if (read_hex(&s, 4, 8, &a.segment) < 0 || read_char(&s, colon) < 0 ||
	    read_slot(s, colon, dot, &a) < 0)
		return -EINVAL;
	*ret = a;
	return 0;
}

char *address_normalise(const char *text)
{
	Address a;

	return address_parse(text, &a) < 0 ? NULL : strf(ADDRESS_FORMAT, ADDRESS_ARGUMENTS(&a));
}

const char *address_short(const char *address)
{
	return str_starts_with(address, "0000:") ? address + strlen("0000:") : address;
}

static uint64_t slot_number(const Address *a)
{
	return (uint64_t)a->bus << 8 | a->device << 3 | a->function;
}

int address_compare(const char *a, const char *b)
{
	Address x, y;

	if (address_parse(a, &x) < 0 || address_parse(b, &y) < 0)
		return strcmp(a, b);
	if (x.segment != y.segment)
		return x.segment < y.segment ? -1 : 1;
	if (slot_number(&x) != slot_number(&y))
		return slot_number(&x) < slot_number(&y) ? -1 : 1;
	return 0;
}
