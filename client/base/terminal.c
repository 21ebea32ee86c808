/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/terminal.h"

#include <langinfo.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/text.h"

/* The width of a terminal that does not report one: a serial console, an editor's shell. */
#define WIDTH_DEFAULT 80
#define LABEL_WIDTH 12

Terminal terminal_open(FILE *stream, ColourWhen when)
{
	Terminal t = { .stream = stream, .tty = isatty(fileno(stream)) == 1 };
	struct winsize size;

	t.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	t.colour = when == COLOUR_ALWAYS || (when == COLOUR_AUTO && t.tty);
	if (t.tty) {
		t.width = WIDTH_DEFAULT;
		if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
			t.width = size.ws_col;
	}
	return t;
}

const char *terminal_colour(const Terminal *t, Colour colour)
{
	static const char *const sequences[] = {
		[COLOUR_NONE] = "",	   [COLOUR_GOOD] = "\033[32m", [COLOUR_MOVING] = "\033[33m",
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
		[GLYPH_HELD] = { "●", "*" },	[GLYPH_NOT_HELD] = { "○", "o" },
		[GLYPH_PENDING] = { "·", "." }, [GLYPH_RUNNING] = { "→", ">" },
		[GLYPH_DONE] = { "✔", "+" },	[GLYPH_UNCHANGED] = { "=", "=" },
		[GLYPH_FAILED] = { "✘", "x" },	[GLYPH_UNDONE] = { "↺", "<" },
		[GLYPH_TIMES] = { "×", "x" },	[GLYPH_ARROW] = { "→", "->" },
		[GLYPH_FROM] = { "←", "<-" },	[GLYPH_ELLIPSIS] = { "…", "..." },
	};

	return t->utf8 ? glyphs[glyph].utf8 : glyphs[glyph].ascii;
}

void terminal_field(const Terminal *t, const char *label, const char *format, ...)
{
	_cleanup_free_ char *value = NULL;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(&value, format, ap);
	va_end(ap);
	if (n < 0)
		value = NULL;
	if (str_is_empty(value))
		return;
	fprintf(t->stream, "%*s%s %s\n", LABEL_WIDTH, label ? label : "", label ? ":" : " ", value);
}
