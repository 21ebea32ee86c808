/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/crc32.h"

/* What we write is short enough to do without a table. */
uint32_t crc32_of(const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	uint32_t crc = UINT32_MAX;

	for (; n > 0; n--, at++) {
		crc ^= *at;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320U : crc >> 1;
	}
	return ~crc;
}
