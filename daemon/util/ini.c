/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/ini.h"

#include <ini.h>

#include "util/text.h"
#include "util/xalloc.h"

typedef struct Reader {
	const char *cursor;
	int line;
	int result;
	const IniHandler *handler;
	void *userdata;
} Reader;

static int see_section(Reader *r, const char *line, size_t n)
{
	const char *end = memchr(line, ']', n);
	_cleanup_free_ char *name = NULL;

	if (!end || !r->handler->section)
		return 0; /* libinih reports a bracket that is not closed */
	name = xstrndup(line + 1, (size_t)(end - line - 1));
	return r->handler->section(name, r->line, r->userdata);
}

/* fgets() for libinih. */
static char *read_line(char *buffer, int size, void *stream)
{
	Reader *r = stream;
	size_t n;

	if (r->result != 0 || *r->cursor == '\0')
		return NULL;
	r->line++;
	r->cursor += strspn(r->cursor, " \t");
	n = strcspn(r->cursor, "\n");
	if (n + 2 > (size_t)size) {
		r->result = r->handler->too_long(r->line, size - 2, r->userdata);
		return NULL;
	}
	if (*r->cursor == '[') {
		r->result = see_section(r, r->cursor, n);
		if (r->result != 0)
			return NULL;
	}
	memcpy(buffer, r->cursor, n);
	buffer[n] = '\n';
	buffer[n + 1] = '\0';
	r->cursor += n + (r->cursor[n] == '\n');
	return buffer;
}

/* libinih wants 0 on an error. */
static int take_entry(void *userdata, const char *section, const char *key, const char *value)
{
	Reader *r = userdata;

	if (r->result == 0)
		r->result = r->handler->entry(section, key, value, r->line, r->userdata);
	return r->result == 0;
}

int ini_text_parse(const char *text, const IniHandler *handler, void *userdata)
{
	static const char bom[] = "\xef\xbb\xbf";
	Reader r = { .cursor = text, .handler = handler, .userdata = userdata };
	int bad_line;

	if (str_starts_with(text, bom))
		r.cursor += strlen(bom);
	bad_line = ini_parse_stream(read_line, &r, take_entry, &r);
	if (bad_line == -2)
		no_memory();
	/*
	 * libinih goes on after a line that it cannot read, and reports the first such line at the
	 * end: it may stand before the line that a handler refused.
	 */
	if (bad_line > 0 && (r.result == 0 || bad_line < r.line))
		return handler->malformed(bad_line, userdata);
	return r.result;
}
