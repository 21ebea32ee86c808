/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/crc32.h"

/* Of each half of a byte. */
static const uint32_t of_half[16] = {
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
	0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
	0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

uint32_t crc32_of(const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	uint32_t crc = UINT32_MAX;

	for (; n > 0; n--, at++) {
		crc ^= *at;
		crc = crc >> 4 ^ of_half[crc & 15];
		crc = crc >> 4 ^ of_half[crc & 15];
	}
	return ~crc;
}
