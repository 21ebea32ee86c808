/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line of a file that is only added to, of the audit trail or of a journal:
 *
 *   HASH {"schema":"…","sequence":17,…,"previous":"…"}
 *
 * HASH is the SHA-256, in hex, of all bytes behind the first blank, with the newline at the end.
 * "previous" is the HASH of the line before, so nobody can change or take out a line without
 * changing every later HASH, too.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define LINE_HASH_HEX 64
typedef struct LineHash {
	char hex[LINE_HASH_HEX + 1];
} LineHash;
/* Of a line that has none before it. */
#define LINE_NO_HASH                                                                               \
	((LineHash){ "0000000000000000000000000000000000000000000000000000000000000000" })
/* 64 lower-case hex digits, and nothing else. */
bool line_hash_valid(const char *text);

/* The line with its newline. */
char *line_make(const json_t *object, LineHash *ret_hash);
/*
 * The text behind the blank; NULL: it is no such line. `line` of `size` bytes is without its
 * newline. *ret_hash is what the line says, if it says one; *ret_intact: and that is the hash of
 * its bytes.
 */
const char *line_text(const char *line, size_t size, size_t max, LineHash *ret_hash,
		      bool *ret_intact);
/* true: these bytes may be the beginning of such a line, as a write that was cut off leaves it. */
bool line_may_begin(const char *bytes, size_t size);
