/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/nvidia-smi-text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"
#include "util/xalloc.h"

/* The end of "ESC [ … m", which underlines headers, or "ESC [ K"; NULL: something else is here. */
static const char *skip_colour(const char *at, const char *end)
{
	if (end - at < 3 || at[0] != '\033' || at[1] != '[')
		return NULL;
	for (at += 2; at < end && (isdigit((unsigned char)*at) || *at == ';'); at++)
		;
	return at < end && (*at == 'm' || *at == 'K') ? at + 1 : NULL;
}

int smi_clean(const char *text, size_t size, char **ret)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, by a shell of Windows */
	_cleanup_free_ char *copy = NULL;
	const char *at = text, *end = text + size;
	size_t n = 0;

	if (size > SMI_TEXT_MAX)
		return -EFBIG;
	if (size >= strlen(mark) && memcmp(at, mark, strlen(mark)) == 0)
		at += strlen(mark);
	copy = xmalloc(size + 1);
	while (at < end) {
		unsigned char c = (unsigned char)*at;

		if (c == '\033') {
			at = skip_colour(at, end);
			if (!at)
				return -EBADMSG;
			continue;
		}
		if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7f)
			return -EBADMSG;
		if (c != '\r')
			copy[n++] = *at;
		at++;
	}
	copy[n] = '\0';
	*ret = TAKE_PTR(copy);
	return 0;
}

char *smi_next_line(char **rest)
{
	char *line = *rest, *end;

	if (!line)
		return NULL;
	end = strchr(line, '\n');
	if (end)
		*end++ = '\0';
	*rest = end;
	return line;
}

int smi_number(const char *text, unsigned max, unsigned *ret)
{
	size_t n = strspn(text, "0123456789");
	unsigned long long value;

	if (n == 0 || n > 4 || text[n] || (text[0] == '0' && n > 1) ||
	    str_to_unsigned(text, 10, max, &value) < 0)
		return -EBADMSG;
	*ret = (unsigned)value;
	return 0;
}
