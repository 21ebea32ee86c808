/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/bdf.h"

#include "gpupass/cleanup.h"

#include <ctype.h>

#include "util/xalloc.h"

#define SEGMENT_DIGITS_MIN 4
#define SEGMENT_DIGITS_MAX 8
#define DEVICE_MAX 31
#define FUNCTION_MAX 7

static size_t hex_digits(const char *s)
{
	size_t n = 0;

	while (isxdigit((unsigned char)s[n]))
		n++;
	return n;
}

static uint32_t hex_value(const char *s, size_t n)
{
	uint32_t value = 0;

	for (size_t i = 0; i < n; i++) {
		int c = tolower((unsigned char)s[i]);

		value = value << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return value;
}

/* Parses bb:dd.f with these separators. The text must end there. */
static int parse_bus_device_function(const char *s, char colon, char dot, Bdf *bdf)
{
	uint32_t device, function;

	if (hex_digits(s) != 2 || s[2] != colon || hex_digits(s + 3) != 2 || s[5] != dot ||
	    hex_digits(s + 6) != 1 || s[7] != '\0')
		return -EINVAL;
	device = hex_value(s + 3, 2);
	function = hex_value(s + 6, 1);
	if (device > DEVICE_MAX || function > FUNCTION_MAX)
		return -EINVAL;
	bdf->bus = (uint8_t)hex_value(s, 2);
	bdf->device = (uint8_t)device;
	bdf->function = (uint8_t)function;
	return 0;
}

int bdf_parse(const char *text, Bdf *ret)
{
	static const char nodedev[] = "pci_";
	char colon = ':', dot = '.';
	bool short_form = true;
	Bdf bdf = { 0 };
	size_t n;

	if (!text)
		return -EINVAL;
	if (strncmp(text, nodedev, strlen(nodedev)) == 0) {
		text += strlen(nodedev);
		colon = dot = '_';
		short_form = false;
	}
	n = hex_digits(text);
	if (n >= SEGMENT_DIGITS_MIN && n <= SEGMENT_DIGITS_MAX && text[n] == colon) {
		bdf.segment = hex_value(text, n);
		text += n + 1;
	} else if (!short_form) {
		return -EINVAL;
	}
	if (parse_bus_device_function(text, colon, dot, &bdf) < 0)
		return -EINVAL;
	*ret = bdf;
	return 0;
}

static char *put_hex(char *to, uint32_t value, unsigned digits)
{
	for (unsigned i = digits; i-- > 0;)
		*to++ = "0123456789abcdef"[value >> 4 * i & 0xf];
	return to;
}

/* "%04x:%02x:%02x.%x", by hand because a scan of a large host needs thousands of them. */
const char *bdf_format(const Bdf *bdf, char buffer[BDF_TEXT_MAX])
{
	unsigned digits = SEGMENT_DIGITS_MIN;
	char *p = buffer;

	while (digits < SEGMENT_DIGITS_MAX && bdf->segment >> 4 * digits != 0)
		digits++;
	p = put_hex(p, bdf->segment, digits);
	*p++ = ':';
	p = put_hex(p, bdf->bus, 2);
	*p++ = ':';
	p = put_hex(p, bdf->device, 2);
	*p++ = '.';
	p = put_hex(p, bdf->function & FUNCTION_MAX, 1);
	*p = '\0';
	return buffer;
}

int bdf_compare(const void *one, const void *other)
{
	const Bdf *a = one, *b = other;

	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	if (a->bus != b->bus)
		return a->bus < b->bus ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return 0;
}

bool bdf_same_slot(const Bdf *a, const Bdf *b)
{
	return a->segment == b->segment && a->bus == b->bus && a->device == b->device;
}

const void *bdf_find(const void *items, size_t n, size_t size, const Bdf *bdf)
{
	const char *item = items;

	for (size_t i = 0; i < n; i++, item += size)
		if (bdf_equal((const Bdf *)(const void *)item, bdf))
			return item;
	return NULL;
}

bool bdf_in(const Bdf *bdf, const Bdf *list, size_t n)
{
	return SOME(list, n, bdf_equal(bdf, it));
}

Bdf *bdf_list(const void *items, size_t n, size_t size)
{
	Bdf *list = xcalloc(n + 1, sizeof(Bdf));

	for (size_t i = 0; i < n; i++)
		memcpy(&list[i], (const char *)items + i * size, sizeof(Bdf));
	return list;
}
