/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unistr.h>
#include <wchar.h>

#include "util/xalloc.h"

bool text_utf8_valid(const char *s)
{
	return !u8_check((const uint8_t *)s, strlen(s));
}

char *text_in_locale(const char *s)
{
	char *copy = xmalloc(4 * strlen(s) + 1), *at = copy;
	mbstate_t state = { 0 };
	size_t n;

	for (; *s; s += n) {
		bool shown = false;
		wchar_t c;

		n = mbrtowc(&c, s, MB_LEN_MAX, &state);
		if (n == (size_t)-1 || n == (size_t)-2) {
			state = (mbstate_t){ 0 };
			n = 1;
		} else {
			shown = c == L'\n' || wcwidth(c) >= 0;
		}
		for (size_t i = 0; i < n; i++)
			at += sprintf(at, shown ? "%c" : "\\x%02x", (unsigned char)s[i]);
	}
	*at = '\0';
	return copy;
}

size_t text_width(const char *s)
{
	mbstate_t state = { 0 };
	size_t width = 0, n;
	wchar_t c;

	for (; *s; s += n) {
		n = mbrtowc(&c, s, MB_LEN_MAX, &state);
		if (n == (size_t)-1 || n == (size_t)-2) {
			state = (mbstate_t){ 0 };
			n = 1;
			width++;
			continue;
		}
		width += wcwidth(c) > 0 ? (size_t)wcwidth(c) : 0;
	}
	return width;
}

char *text_cut(const char *s, size_t width, const char *ellipsis)
{
	size_t room, used = 0, end = 0, n;
	mbstate_t state = { 0 };
	wchar_t c;

	if (text_width(s) <= width)
		return xstrdup(s);
	if (width < text_width(ellipsis))
		return xstrdup("");
	room = width - text_width(ellipsis);
	while (s[end]) {
		size_t columns = 1;

		n = mbrtowc(&c, s + end, MB_LEN_MAX, &state);
		if (n == (size_t)-1 || n == (size_t)-2) {
			state = (mbstate_t){ 0 };
			n = 1;
		} else {
			columns = wcwidth(c) > 0 ? (size_t)wcwidth(c) : 0;
		}
		if (used + columns > room)
			break;
		used += columns;
		end += n;
	}
	return strf("%.*s%s", (int)end, s, ellipsis);
}

#define DISTANCE_MAX 63 /* of longer words only this much is compared */

size_t text_distance(const char *a, const char *b)
{
	size_t row[DISTANCE_MAX + 1];
	size_t na = strnlen(a, DISTANCE_MAX), nb = strnlen(b, DISTANCE_MAX);

	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j];
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			diagonal = above;
		}
	}
	return row[nb];
}
