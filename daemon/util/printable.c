/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "gpupass/cleanup.h"

/* Decodes one character. Returns its length; 0 if the bytes are not UTF-8. */
static size_t decode(const char *s, uint32_t *ret)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *u = (const unsigned char *)s;
	size_t n = u[0] < 0x80 ? 1 : u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
	uint32_t c = n == 1 ? u[0] : u[0] & (0xffU >> (n + 1));

	if (n > 1 && (u[0] < 0xc2 || u[0] > 0xf4))
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (u[i] & 0x3f);
	}
	if (c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

static bool is_plain(uint32_t c)
{
	if (c == '\n' || c == '\t')
		return true;
	return !(c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
		 (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069));
}

char *text_printable(const char *text)
{
	/* A byte becomes at most "\x1b"; "\u202e" stands for three bytes. */
	char *clean = malloc(strlen(text) * 4 + 1), *at = clean;

	if (!clean)
		return NULL;
	while (*text) {
		uint32_t c = 0;
		size_t n = decode(text, &c);

		if (n == 0)
			at += sprintf(at, "\\x%02x", (unsigned char)*text);
		else if (!is_plain(c))
			at += sprintf(at, c < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)c);
		else
			at = mempcpy(at, text, n);
		text += n > 0 ? n : 1;
	}
	*at = '\0';
	return clean;
}
