/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an output stream can show: columns, colour, characters. */
#pragma once

#include "gpupass/cleanup.h"

typedef enum ColourWhen { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } ColourWhen;

typedef enum Colour {
	COLOUR_NONE,
	COLOUR_GOOD,
	COLOUR_MOVING,
	COLOUR_BAD,
	COLOUR_DIM,
	COLOUR_MARK, /* positions in a diff */
	COLOUR_BOLD,
} Colour;

typedef enum Glyph {
	GLYPH_HELD, /* a group in a domain */
	GLYPH_NOT_HELD,
	GLYPH_PENDING,
	GLYPH_RUNNING,
	GLYPH_DONE,
	GLYPH_UNCHANGED,
	GLYPH_NOT_DONE,
	GLYPH_FAILED,
	GLYPH_UNDONE,
	GLYPH_TIMES,
	GLYPH_ARROW,
	GLYPH_FROM,
	GLYPH_ELLIPSIS,
} Glyph;

typedef struct Terminal {
	FILE *stream;
	bool tty;
	bool dumb; /* what was printed cannot be drawn over */
	bool colour;
	bool utf8;
	size_t width; /* columns; 0 when it is not a terminal, where nothing is cut */
} Terminal;

Terminal terminal_open(FILE *stream, ColourWhen when);

/* Escape sequence that starts the colour; "" where there is none. */
const char *terminal_colour(const Terminal *t, Colour colour);
/* Ends any colour. */
const char *terminal_plain(const Terminal *t);
const char *terminal_glyph(const Terminal *t, Glyph glyph);

/*
 * Prints `text` from column `at` on, and a line feed. On a terminal it goes on in the next line,
 * from column `indent`, instead of being broken in a word, or in a command of gpupass that a line
 * has room for. Sequences of colours have no width.
 */
void terminal_prose(const Terminal *t, size_t at, size_t indent, const char *text);

/*
 * One line of a block of facts, labels right-aligned: "     State: free". A NULL label continues
 * the line before. Nothing is printed for an empty value.
 */
void terminal_field(const Terminal *t, const char *label, const char *format, ...) _printf_(3, 4);
