/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings and NULL-terminated lists of strings (strv). All results are owned by the caller. */
#pragma once

#include <stdarg.h>
#include <stdint.h>

#include "gpupass/cleanup.h"

/* A new formatted string. */
char *strf(const char *format, ...) _printf_(1, 2);
char *vstrf(const char *format, va_list ap) _printf_(1, 0);
/* Only if there is none yet: the first one is told. */
#define STRF_FIRST(text, ...)                                                                      \
	do {                                                                                       \
		if (!(text))                                                                       \
			(text) = strf(__VA_ARGS__);                                                \
	} while (0)

/* NULL is a string of its own, equal only to NULL. */
bool str_equal(const char *a, const char *b);
/* NULL becomes "". */
const char *str_or_empty(const char *s);
bool str_is_empty(const char *s);
bool str_starts_with(const char *s, const char *prefix);
bool str_ends_with(const char *s, const char *suffix);
/* Each x of the form stands for a hex digit, each other character for itself. */
bool str_has_form(const char *s, const char *form);
/* What follows the last slash of a path, within it; the whole, if it has none. */
const char *str_base_name(const char *path);
/*
 * A copy in which '?' replaces every byte that is not printable ASCII: for names of files and texts
 * about them, in messages and on the bus.
 */
char *str_printable(const char *s);
/* A copy in which such bytes are \x1b: text_printable() for who does without its library. */
char *str_escaped(const char *s);
/* Cuts blanks and newlines off both ends, in place; returns the new start. */
char *str_strip(char *s);

/* Whole-string unsigned number in the given base; -EINVAL on anything else, -ERANGE over max. */
int str_to_unsigned(const char *s, int base, unsigned long long max, unsigned long long *ret);

/* "2026-01-31 14:02:11 UTC" of microseconds since the epoch; "-" for 0. */
char *utc_text(uint64_t usec);

size_t strv_length(char *const *l);
/* Appends a copy, or the string itself; the list may be NULL at first. */
void strv_append(char ***l, const char *s);
void strv_append_take(char ***l, char *s);
void strv_appendf(char ***l, const char *format, ...) _printf_(2, 3);
bool strv_contains(char *const *l, const char *s);
/* Splits at any of the separators, drops empty parts. Appends to *ret. */
void strv_split(const char *s, const char *separators, char ***ret);
/* "" for an empty list. */
char *strv_join(char *const *l, const char *separator);
/* Appends copies to *ret. */
void strv_copy(char *const *l, char ***ret);
/* NULL is like an empty list. */
bool strv_equal(char *const *a, char *const *b);
char **strv_free(char **l);

#define _cleanup_strv_ _cleanup_(strv_freep)
static inline _unused_ void strv_freep(char ***l)
{
	*l = strv_free(*l);
}
