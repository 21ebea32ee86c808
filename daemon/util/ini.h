/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * INI text, line by line, through libinih. By itself libinih reports neither line numbers nor
 * sections without keys, joins indented lines to the value before, and cuts long lines in two. Here
 * every line stands alone, is counted, and is refused when it is too long.
 */
#pragma once

typedef struct IniHandler {
	/* A [section] begins; may be NULL. */
	int (*section)(const char *name, int line, void *userdata);
	int (*entry)(const char *section, const char *key, const char *value, int line,
		     void *userdata);
	/*
	 * A line that is neither. Also called after a handler's result that is not 0, if such a
	 * line stands before the one that gave it.
	 */
	int (*malformed)(int line, void *userdata);
	/* A line of more than `max` characters. */
	int (*too_long)(int line, int max, void *userdata);
} IniHandler;

/* The first result of a handler that is not 0 ends the text and is returned. */
int ini_text_parse(const char *text, const IniHandler *handler, void *userdata);
