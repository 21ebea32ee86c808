/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bad input for parsers of JSON: every beginning of a good text, and texts with a byte changed. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "gpupass/cleanup.h"

/* Returns true when the bytes were taken; must free what it made. */
typedef bool (*GarbageParser)(const char *text, size_t size);

static inline _unused_ void garbage_truncations_are_refused(const char *text, GarbageParser parser)
{
	size_t size = strlen(text);

	while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' '))
		size--;
	for (size_t n = 0; n < size; n++) {
		/* A copy of its own, so that reading past the end is seen. */
		_cleanup_free_ char *part = malloc(n ? n : 1);

		assert_non_null(part);
		memcpy(part, text, n);
		if (parser(part, n))
			fail_msg("the first %zu of %zu bytes are taken", n, size);
	}
}

/* Whether each is taken does not matter here (a changed digit is still a digit): that none crashes,
 * leaks or reads what is not there, does. */
static inline _unused_ void garbage_changed_bytes_are_survived(const char *text,
							       GarbageParser parser)
{
	static const char bytes[] = { '\0', '"', '{', '}', '[', ']', ',', '-', '9', 'n', '\xff' };
	_cleanup_free_ char *copy = strdup(text);
	size_t size = strlen(text), refused = 0;

	assert_non_null(copy);
	for (size_t i = 0; i < size; i++) {
		for (size_t k = 0; k < sizeof(bytes); k++) {
			copy[i] = bytes[k];
			refused += !parser(copy, size);
		}
		copy[i] = text[i];
	}
	assert_true(refused > size);
}
