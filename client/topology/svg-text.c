/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/svg.h"

#include <stdint.h>
#include <unistr.h>

#include "base/text.h"
#include "util/xalloc.h"

/* Advance widths of DejaVu Sans from U+0020 to U+007E, in hundredths of the size. */
static const uint8_t advances[] = {
	32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37,	 32, 34, 64, 64, 64,
	64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 77, 64,
	58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64,	 62, 74, 69, 99, 69,
	62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36,	 64, 64, 28, 28, 58,
	28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60,	 53, 64, 34, 64, 84,
};
/* Beyond ASCII: Latin, Greek and Cyrillic letters; and the rest, up to a full square and more. */
#define ADVANCE_LETTER 90
#define ADVANCE_WIDE 110
#define ADVANCE_MONO 61
#define ADVANCE_MONO_WIDE 122
#define LETTERS_END 0x800
#define ELLIPSIS "…"

/* One character of valid UTF-8; each invalid byte counts as one. */
static size_t decode(const char *s, ucs4_t *ret)
{
	int n = u8_strmbtouc(ret, (const uint8_t *)s);

	if (n > 0)
		return (size_t)n;
	*ret = (unsigned char)*s;
	return 1;
}

static unsigned advance(uint32_t c, SvgFont font)
{
	bool wide = c >= LETTERS_END && c != 0x2026;

	if (font == SVG_MONO)
		return wide ? ADVANCE_MONO_WIDE : ADVANCE_MONO;
	if (c >= 0x20 && c < 0x20 + sizeof(advances))
		return advances[c - 0x20];
	return wide ? ADVANCE_WIDE : c == 0x2026 ? 100 : ADVANCE_LETTER;
}

/* Hundredths of a pixel. Bold letters are wider by up to a fifth. */
static uint64_t width_of(const char *s, size_t bytes, SvgFont font, int size)
{
	uint64_t sum = 0;
	ucs4_t c;

	for (size_t i = 0; i < bytes && s[i]; i += decode(s + i, &c)) {
		decode(s + i, &c);
		sum += advance(c, font);
	}
	sum *= (uint64_t)size;
	return font == SVG_BOLD ? sum * 115 / 100 : sum;
}

int svg_text_width(const char *s, SvgFont font, int size)
{
	uint64_t width = (width_of(s, SIZE_MAX, font, size) + 99) / 100;

	return width > INT32_MAX / 2 ? INT32_MAX / 2 : (int)width;
}

/* Bytes of the longest start that is no wider. */
static size_t bytes_within(const char *s, SvgFont font, int size, int width)
{
	uint64_t room = width > 0 ? (uint64_t)width * 100 : 0;
	size_t end = 0;
	ucs4_t c;

	while (s[end]) {
		size_t n = decode(s + end, &c);

		if (width_of(s, end + n, font, size) > room)
			break;
		end += n;
	}
	return end;
}

char *svg_text_fit(const char *s, SvgFont font, int size, int width)
{
	size_t bytes = bytes_within(s, font, size, width);

	if (!s[bytes])
		return xstrdup(s);
	bytes = bytes_within(s, font, size, width - svg_text_width(ELLIPSIS, font, size));
	while (bytes > 0 && s[bytes - 1] == ' ')
		bytes--;
	return strf("%.*s%s", (int)bytes, s, ELLIPSIS);
}

/* Bytes of the next line: up to the last blank that fits, or to what fits of one long word. */
static size_t line_length(const char *s, SvgFont font, int size, int width)
{
	size_t bytes = bytes_within(s, font, size, width), at = bytes;
	ucs4_t c;

	if (!s[bytes])
		return bytes;
	while (at > 0 && s[at] != ' ')
		at--;
	if (at > 0)
		return at;
	return bytes > 0 ? bytes : decode(s, &c);
}

char **svg_text_wrap(const char *s, SvgFont font, int size, int width, size_t max)
{
	char **lines = NULL;

	for (size_t n = 1; *s && n <= max; n++) {
		size_t length = line_length(s, font, size, width);

		strv_append_take(&lines, n == max ? svg_text_fit(s, font, size, width)
						  : xstrndup(s, length));
		s += n == max ? strlen(s) : length;
		s += strspn(s, " ");
	}
	if (!lines)
		strv_append(&lines, "");
	return lines;
}

/* The Char production of XML 1.0. */
static bool xml_allows(uint32_t c)
{
	return c == '\t' || c == '\n' || (c >= 0x20 && c < 0xd800) || (c >= 0xe000 && c < 0xfffe) ||
	       (c >= 0x10000 && c < 0x110000);
}

void svg_escape(FILE *f, const char *s)
{
	ucs4_t c;

	for (size_t n; *s; s += n) {
		n = decode(s, &c);
		if (!xml_allows(c) || (n == 1 && c >= 0x80))
			fputs("\xef\xbf\xbd", f);
		else if (c == '&')
			fputs("&amp;", f);
		else if (c == '<')
			fputs("&lt;", f);
		else if (c == '>')
			fputs("&gt;", f);
		else if (c == '"')
			fputs("&quot;", f);
		else if (c == '\'')
			fputs("&apos;", f);
		else
			fwrite(s, 1, n, f);
	}
}
