/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the targets share. A target is a file with one fuzz_one(), and a row in meson.build. It says
 * with EXPECT() what must hold for every input: that nothing crashes is not enough.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpupass/cleanup.h"

/*
 * bytes: exactly `size` of them, so that a sanitizer sees who reads past the end. text: the same as
 * a string, which ends at their first NUL.
 */
void fuzz_one(const char *bytes, size_t size, const char *text);

/* dprintf(): some targets silence stderr. */
#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			dprintf(2, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* What a parser returns for bad input, and nothing else. */
#define EXPECT_REFUSED(r) EXPECT((r) == -EBADMSG || (r) == -EPROTO)

/* Both are there and equal. */
#define EXPECT_SAME_TEXT(a, b)                                                                     \
	do {                                                                                       \
		const char *one_ = (a), *other_ = (b);                                             \
                                                                                                   \
		EXPECT(one_ &&other_);                                                             \
		if (strcmp(one_, other_) != 0) {                                                   \
			dprintf(2, "%s:%d: %s is not %s:\n%s\n%s\n", __FILE__, __LINE__, #a, #b,   \
				one_, other_);                                                     \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* A directory below the current one, made once; run-target removes both. *ret_fd is open on it. */
const char *fuzz_directory(int *ret_fd);
/* Replaces a file there. */
void fuzz_write(int dir_fd, const char *name, const char *bytes, size_t size);

/* Numbers from the input, in order; 0 after its end. For targets that are told what to build. */
typedef struct FuzzBytes {
	const uint8_t *at, *end;
} FuzzBytes;

static inline _unused_ FuzzBytes fuzz_bytes(const char *bytes, size_t size)
{
	return (FuzzBytes){ (const uint8_t *)bytes, (const uint8_t *)bytes + size };
}
uint8_t fuzz_byte(FuzzBytes *from);
uint64_t fuzz_number(FuzzBytes *from, size_t bytes);
/* Up to `max` bytes, at most 254, as a string; the caller frees it. */
char *fuzz_string(FuzzBytes *from, size_t max);
