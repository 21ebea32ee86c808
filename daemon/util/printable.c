/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/printable.h"

#include <unictype.h>
#include <unistr.h>

#include "util/xalloc.h"

/* What a mark does not combine with: none, a blank, punctuation, and what is written out. */
static bool is_base(ucs4_t c)
{
	return c != 0 && !uc_is_general_category(c, UC_CATEGORY_Z) &&
	       !uc_is_general_category(c, UC_CATEGORY_P);
}

/*
 * It can neither control a terminal, nor turn the direction of text, nor look like another one: no
 * control or format character, no blank but the space, nothing that is invisible, and no combining
 * mark that would change what stands before the text. `before` is 0 at the beginning.
 */
static bool is_plain(ucs4_t c, ucs4_t before)
{
	if (c >= ' ' && c <= '~')
		return true;
	if (uc_is_general_category(c, UC_CATEGORY_M))
		return is_base(before);
	return c != 0x2800 && /* Braille without a dot */
	       !uc_is_general_category(c, UC_CATEGORY_Cc) &&
	       !uc_is_general_category(c, UC_CATEGORY_Cf) &&
	       !uc_is_general_category(c, UC_CATEGORY_Z) &&
	       !uc_is_property_default_ignorable_code_point(c);
}

/* Writes at most 10 characters. */
static char *put_escape(char *at, ucs4_t c)
{
	if (c == '\n' || c == '\t')
		return stpcpy(at, c == '\n' ? "\\n" : "\\t");
	return at + sprintf(at, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

/* Line feeds begin a text anew. */
static char *copy(const char *text, bool lines)
{
	size_t left = strlen(text);
	/* A byte becomes at most "\x1b"; "\u202e" stands for three bytes, "\U000e0001" for four. */
	char *clean = xmalloc(left * 4 + 1), *at = clean;
	ucs4_t before = 0;

	while (left > 0) {
		ucs4_t c = 0;
		int n = u8_mbtoucr(&c, (const uint8_t *)text, left);
		bool plain = n > 0 && ((lines && c == '\n') || is_plain(c, before));

		if (plain)
			at = mempcpy(at, text, (size_t)n);
		else
			at = put_escape(at, n > 0 ? c : (unsigned char)*text);
		before = plain && c >= ' ' ? c : 0;
		text += n > 0 ? n : 1;
		left -= n > 0 ? (size_t)n : 1;
	}
	*at = '\0';
	return clean;
}

char *text_printable(const char *text)
{
	return copy(text, false);
}

char *text_printable_lines(const char *text)
{
	return copy(text, true);
}
