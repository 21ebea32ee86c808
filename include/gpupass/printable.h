/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which characters of a text that somebody else chose are shown as they are, by daemon and client
 * alike, whatever the locale.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <unistr.h>

#include "gpupass/cleanup.h"

#include "util/xalloc.h"

/* What a mark does not combine with: none, a blank, punctuation, and what is written out. */
static inline _unused_ bool printable_is_base(ucs4_t c)
{
	return c != 0 && !uc_is_general_category(c, UC_CATEGORY_Z) &&
	       !uc_is_general_category(c, UC_CATEGORY_P);
}

/*
 * It can neither control a terminal, nor turn the direction of text, nor look like another one: no
 * control or format character, no blank but the space, nothing that is invisible, and no combining
 * mark that would change what stands before the text. `before` is 0 at the beginning.
 */
static inline _unused_ bool printable_is_plain(ucs4_t c, ucs4_t before)
{
	if (c >= ' ' && c <= '~')
		return true;
	if (uc_is_general_category(c, UC_CATEGORY_M))
		return printable_is_base(before);
	return c != 0x2800 && /* Braille without a dot */
	       !uc_is_general_category(c, UC_CATEGORY_Cc) &&
	       !uc_is_general_category(c, UC_CATEGORY_Cf) &&
	       !uc_is_general_category(c, UC_CATEGORY_Z) &&
	       !uc_is_property_default_ignorable_code_point(c);
}

/* Writes at most 10 characters. */
static inline _unused_ char *printable_put_escape(char *at, ucs4_t c)
{
	if (c == '\n' || c == '\t')
		return stpcpy(at, c == '\n' ? "\\n" : "\\t");
	return at + sprintf(at, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

/*
 * A copy in which what is not plain, and bytes that are not UTF-8, are written out: \x1b, \u202e.
 * The control characters in `kept`, which begin a text anew, stay. NULL when out of memory.
 */
static inline _unused_ char *printable_copy(const char *text, const char *kept)
{
	size_t left = strlen(text);
	/* A byte becomes at most "\x1b"; "\u202e" stands for three bytes, "\U000e0001" for four. */
	char *clean = xmalloc(left * 4 + 1), *at = clean;
	ucs4_t before = 0;

	while (left > 0) {
		ucs4_t c = 0;
		int n = u8_mbtoucr(&c, (const uint8_t *)text, left);
		bool plain = n > 0 &&
			     ((c < ' ' && strchr(kept, (int)c)) || printable_is_plain(c, before));

		if (plain)
			at = mempcpy(at, text, (size_t)n);
		else
			at = printable_put_escape(at, n > 0 ? c : (unsigned char)*text);
		before = plain && c >= ' ' ? c : 0;
		text += n > 0 ? n : 1;
		left -= n > 0 ? (size_t)n : 1;
	}
	*at = '\0';
	return clean;
}
