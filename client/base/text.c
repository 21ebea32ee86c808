/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <unistr.h>
#include <wchar.h>

#include "util/bdf.h"
#include "util/clock.h"
#include "util/xalloc.h"

bool text_utf8_valid(const char *s)
{
	return !u8_check((const uint8_t *)s, strlen(s));
}

/* The next character, and what it takes of the text. -1: it is none of the locale. */
static int next_width(const char *s, mbstate_t *state, wchar_t *ret, size_t *ret_n)
{
	size_t n = mbrtowc(ret, s, MB_LEN_MAX, state);
	bool is_none = n == (size_t)-1 || n == (size_t)-2;

	*ret_n = is_none ? 1 : n;
	if (!is_none)
		return wcwidth(*ret) > 0 ? wcwidth(*ret) : 0;
	*state = (mbstate_t){ 0 };
	return -1;
}

char *text_in_locale(const char *s)
{
	char *copy = xmalloc(4 * strlen(s) + 1), *at = copy;
	mbstate_t state = { 0 };
	size_t n;

	for (; *s; s += n) {
		wchar_t c;
		bool shown = next_width(s, &state, &c, &n) >= 0 && (c == L'\n' || wcwidth(c) >= 0);

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
		int columns = next_width(s, &state, &c, &n);

		width += columns < 0 ? 1 : (size_t)columns;
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
		int columns = next_width(s + end, &state, &c, &n);

		used += columns < 0 ? 1 : (size_t)columns;
		if (used > room)
			break;
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

char *number_text(int32_t number)
{
	return number < 0 ? xstrdup("-") : strf("%" PRId32, number);
}

char *text_lower(const char *s)
{
	char *copy = xstrdup(s);

	for (char *c = copy; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return copy;
}

char *address_normalise(const char *text)
{
	Bdf bdf;

	return bdf_parse(text, &bdf) < 0 ? NULL : xstrdup(BDF_TEXT(&bdf));
}

/* ---- durations, times and sizes ---- */

#define USEC_PER_MIN (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MIN)
#define USEC_PER_DAY (24 * USEC_PER_HOUR)

char *duration_format(uint64_t usec)
{
	if (usec < USEC_PER_SEC)
		return strf("%" PRIu64 " ms", usec / USEC_PER_MSEC);
	if (usec < 100 * USEC_PER_SEC)
		return strf("%" PRIu64 ".%02" PRIu64 " s", usec / USEC_PER_SEC,
			    usec % USEC_PER_SEC / (USEC_PER_SEC / 100));
	return strf("%" PRIu64 " min %" PRIu64 " s", usec / USEC_PER_MIN,
		    usec % USEC_PER_MIN / USEC_PER_SEC);
}

/* -ERANGE: it is more than there is a number for. */
static int parse_number(const char *s, uint64_t max, const char **ret_end, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)s[0]))
		return -EINVAL;
	errno = 0;
	*ret = strtoull(s, &end, 10);
	*ret_end = end;
	return errno != 0 ? -errno : *ret > max ? -EINVAL : 0;
}

int duration_parse(const char *s, uint64_t *ret_usec)
{
	static const struct {
		const char *name;
		uint64_t usec;
	} units[] = {
		{ "", USEC_PER_SEC },	 { "s", USEC_PER_SEC },	  { "sec", USEC_PER_SEC },
		{ "ms", USEC_PER_MSEC }, { "min", USEC_PER_MIN }, { "m", USEC_PER_MIN },
		{ "h", USEC_PER_HOUR },
	};
	uint64_t value;
	const char *end;
	int r = parse_number(s, UINT64_MAX, &end, &value);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ELEMENTS(units); i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (value == 0 || value > USEC_PER_DAY / units[i].usec)
			return -ERANGE;
		*ret_usec = value * units[i].usec;
		return 0;
	}
	return -EINVAL;
}

char *time_format(uint64_t usec)
{
	time_t t = (time_t)(usec / USEC_PER_SEC);
	char text[64];
	struct tm tm;

	if (usec == 0 || !localtime_r(&t, &tm) ||
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) == 0)
		return xstrdup("-");
	return xstrdup(text);
}

static int parse_date(const char *s, uint64_t *ret_usec)
{
	static const char *const forms[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S",
					     "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d" };

	for (size_t i = 0; i < ELEMENTS(forms); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(s, forms[i], &tm);
		time_t t = end && *end == '\0' ? mktime(&tm) : -1;

		if (t < 0)
			continue;
		*ret_usec = (uint64_t)t * USEC_PER_SEC;
		return 0;
	}
	return -EINVAL;
}

int time_parse(const char *s, uint64_t now_usec, uint64_t *ret_usec)
{
	uint64_t number = 0, ago = 0;
	const char *end;

	if (s[0] == '@') {
		if (parse_number(s + 1, INT64_MAX / USEC_PER_SEC, &end, &number) < 0 || *end)
			return -EINVAL;
		*ret_usec = number * USEC_PER_SEC;
		return 0;
	}
	if (parse_date(s, ret_usec) >= 0)
		return 0;
	if (duration_parse(s, &ago) < 0) {
		if (parse_number(s, 36500, &end, &number) < 0 || strcmp(end, "d") != 0)
			return -EINVAL;
		ago = number * USEC_PER_DAY;
	}
	*ret_usec = ago < now_usec ? now_usec - ago : 0;
	return 0;
}

char *size_format(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t i = 0;

	while (bytes != 0 && bytes % 1024 == 0 && i + 1 < ELEMENTS(units)) {
		bytes /= 1024;
		i++;
	}
	return strf("%" PRIu64 " %s", bytes, units[i]);
}
