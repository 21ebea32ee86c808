/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/modalias.h"

#include <errno.h>
#include <limits.h>

static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20; /* a small letter */
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : UINT_MAX;
}

/* Takes `tag` and exactly `digits` hex digits off the front of *text. */
static bool take_hex(const char **text, const char *tag, size_t digits, uint32_t max, uint32_t *ret)
{
	const char *p = *text;
	uint32_t value = 0;

	for (; *tag; tag++, p++)
		if (*p != *tag)
			return false;
	for (size_t i = 0; i < digits; i++, p++) {
		unsigned d = digit(*p);

		if (d == UINT_MAX)
			return false;
		value = value << 4 | d;
	}
	if (value > max)
		return false;
	*text = p;
	*ret = value;
	return true;
}

int modalias_parse(const char *text, PciFunction *into)
{
	uint32_t vendor, device, subsystem_vendor, subsystem_device, base, sub, interface;

	/* Ids have eight digits here because the kernel keeps PCI_ANY_ID in 32 bits. */
	if (!take_hex(&text, "pci:v", 8, UINT16_MAX, &vendor) ||
	    !take_hex(&text, "d", 8, UINT16_MAX, &device) ||
	    !take_hex(&text, "sv", 8, UINT16_MAX, &subsystem_vendor) ||
	    !take_hex(&text, "sd", 8, UINT16_MAX, &subsystem_device) ||
	    !take_hex(&text, "bc", 2, UINT8_MAX, &base) ||
	    !take_hex(&text, "sc", 2, UINT8_MAX, &sub) ||
	    !take_hex(&text, "i", 2, UINT8_MAX, &interface) || *text != '\0')
		return -EINVAL;
	into->vendor = (uint16_t)vendor;
	into->device = (uint16_t)device;
	into->subsystem_vendor = (uint16_t)subsystem_vendor;
	into->subsystem_device = (uint16_t)subsystem_device;
	into->class_code = base << 16 | sub << 8 | interface;
	return 0;
}
