/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/terminal.h"

#include <langinfo.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "base/text.h"
#include "util/xalloc.h"

/* The size of a terminal that does not report one: a serial console, an editor's shell. */
#define WIDTH_DEFAULT 80
#define LABEL_WIDTH 12
/* On a line with less room text is left as it is. */
#define PROSE_MIN 20

Terminal terminal_open(FILE *stream, ColourWhen when)
{
	Terminal t = { .stream = stream, .tty = isatty(fileno(stream)) == 1 };
	struct winsize size = { 0 };

	t.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	t.colour = when == COLOUR_ALWAYS || (when == COLOUR_AUTO && t.tty);
	if (!t.tty)
		return t;
	ioctl(fileno(stream), TIOCGWINSZ, &size);
	t.width = size.ws_col > 0 ? size.ws_col : WIDTH_DEFAULT;
	return t;
}

const char *terminal_colour(const Terminal *t, Colour colour)
{
	/* Warnings are magenta, as gcc's are: yellow cannot be read on white. */
	static const char *const sequences[] = {
		[COLOUR_NONE] = "",	   [COLOUR_GOOD] = "\033[32m", [COLOUR_MOVING] = "\033[35m",
		[COLOUR_BAD] = "\033[31m", [COLOUR_DIM] = "\033[2m",   [COLOUR_MARK] = "\033[36m",
		[COLOUR_BOLD] = "\033[1m",
	};

	return t->colour ? sequences[colour] : "";
}

const char *terminal_plain(const Terminal *t)
{
	return t->colour ? "\033[0m" : "";
}

const char *terminal_glyph(const Terminal *t, Glyph glyph)
{
	static const struct {
		const char *utf8, *ascii;
	} glyphs[] = {
		[GLYPH_HELD] = { "●", "*" },	   [GLYPH_NOT_HELD] = { "○", "o" },
		[GLYPH_PENDING] = { "·", "." },	   [GLYPH_RUNNING] = { "→", ">" },
		[GLYPH_DONE] = { "✔", "+" },	   [GLYPH_UNCHANGED] = { "=", "=" },
		[GLYPH_NOT_DONE] = { "!", "!" },   [GLYPH_FAILED] = { "✘", "x" },
		[GLYPH_UNDONE] = { "↺", "<" },	   [GLYPH_TIMES] = { "×", "x" },
		[GLYPH_ARROW] = { "→", "->" },	   [GLYPH_FROM] = { "←", "<-" },
		[GLYPH_ELLIPSIS] = { "…", "..." },
	};

	return t->utf8 ? glyphs[glyph].utf8 : glyphs[glyph].ascii;
}

/* Columns that the first n bytes take. */
static size_t prose_width(const char *s, size_t n)
{
	_cleanup_free_ char *plain = xmalloc(n + 1);
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\033') {
			while (i < n && s[i] != 'm')
				i++;
			continue;
		}
		plain[used++] = s[i];
	}
	plain[used] = '\0';
	return text_width(plain);
}

/* The bytes that stay on one line: a word, or a command that somebody will copy. */
static size_t prose_unit(const char *s, size_t room)
{
	size_t command = str_starts_with(s, "gpupass ") ? strcspn(s, ";,)(") : 0;

	return command > 0 && prose_width(s, command) <= room ? command : strcspn(s, " ");
}

void terminal_prose(const Terminal *t, size_t at, size_t indent, const char *text)
{
	size_t room = t->width > indent ? t->width - indent : 0;
	bool begins = true;

	while (*text && room >= PROSE_MIN) {
		size_t blanks = strspn(text, " ");
		size_t n = prose_unit(text + blanks, room);
		size_t width = prose_width(text + blanks, n);

		if (!begins && at + blanks + width > t->width) {
			fprintf(t->stream, "\n%*s", (int)indent, "");
			at = indent;
		} else {
			fprintf(t->stream, "%*s", (int)blanks, "");
			at += blanks;
		}
		fprintf(t->stream, "%.*s", (int)n, text + blanks);
		at += width;
		text += blanks + n;
		begins = false;
	}
	fprintf(t->stream, "%s\n", text);
}

void terminal_field(const Terminal *t, const char *label, const char *format, ...)
{
	_cleanup_free_ char *value = NULL;
	va_list ap;

	va_start(ap, format);
	value = vstrf(format, ap);
	va_end(ap);
	if (!*value)
		return;
	fprintf(t->stream, "%*s%s ", LABEL_WIDTH, label ? label : "", label ? ":" : " ");
	terminal_prose(t, LABEL_WIDTH + 2, LABEL_WIDTH + 2, value);
}
