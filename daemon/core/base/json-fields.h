/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Members of JSON objects, to and from C. A JsonReader is strict. It keeps its first error, and
 * later reads do nothing, so a caller reads all members in a row and checks once. The caller frees
 * what was read so far, with or without an error.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpupass/cleanup.h"
#include "util/bdf.h"

typedef struct JsonReader {
	const json_t *object;
	const char *where; /* "functions[3]", for messages; NULL: the document itself */
	int error;	   /* 0 or -EBADMSG */
	char *message;	   /* what is wrong; NULL while nothing is */
} JsonReader;

/* Starts on `object`. It is an error if that is no object, or has a member that `keys` lacks. */
void json_reader_begin(JsonReader *reader, const json_t *object, const char *where,
		       const char *const *keys);
/* The same, for members of which known() is true. */
void json_reader_begin_if(JsonReader *reader, const json_t *object, const char *where,
			  bool (*known)(const char *key, const void *data), const void *data);
/* Returns the error. Hands the message to the caller unless ret_message is NULL. */
int json_reader_end(JsonReader *reader, char **ret_message);
/* -EBADMSG with a message, which may be NULL. */
int json_refuse(char **ret_message, const char *format, ...) _printf_(2, 3);
/* Notes an error that the caller found. The message is "KEY WHAT". */
void json_reader_fail(JsonReader *reader, const char *key, const char *what);

/* A member that is absent is an error for json_read_*(). json_read_*_if_any() ignores it. */
void json_read_text(JsonReader *reader, const char *key, char **ret);
void json_read_text_if_any(JsonReader *reader, const char *key, char **ret); /* or null */
void json_read_bdf(JsonReader *reader, const char *key, Bdf *ret);
/* Hex digits in a string, as PCI ids are written: "10de". */
uint32_t json_read_hex(JsonReader *reader, const char *key, uint32_t max);
uint64_t json_read_number(JsonReader *reader, const char *key, uint64_t max);
void json_read_int_if_any(JsonReader *reader, const char *key, int *ret); /* >= 0, or null */
bool json_read_bool(JsonReader *reader, const char *key);
/* An array of at most `max` items, borrowed. NULL, which jansson takes as empty, if absent. */
const json_t *json_read_array(JsonReader *reader, const char *key, size_t max);
const json_t *json_read_array_if_any(JsonReader *reader, const char *key, size_t max);

/* Writers. */
void json_set_text_if_any(json_t *object, const char *key, const char *s); /* NULL: left out */
void json_set_bdf(json_t *object, const char *key, const Bdf *bdf);

/*
 * Lines of files that anybody may have written. Bytes that are not text have no place in JSON or on
 * a terminal, so each becomes '?'.
 */
json_t *json_plain(const char *s);
/* Both are written alike: what was read of a text that was not plain is no longer that text. */
bool json_plain_equal(const char *a, const char *b);
void json_set_plain_list(json_t *object, const char *key, char *const *list);
/* Appends an array of at most 4096 strings, each of at most 4096 bytes, to *ret. */
void json_read_list(JsonReader *reader, const char *key, char ***ret);
