/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON objects, to and from C. A JsonReader is strict. It keeps its first error, and later reads do
 * nothing, so a caller reads all members in a row and checks once. The caller frees what was read
 * so far, with or without an error.
 *
 * Of structs a table has one row for each member that the object has, in the order in
 * which they are written. Writer and reader go by it; include/structs.py makes it of the struct
 * (docs/HACKING.md, "Structs").
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
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
/* Returns the error. Hands the message to the caller unless ret_message is NULL. */
int json_reader_end(JsonReader *reader, char **ret_message);
/* -EBADMSG with a message, which may be NULL. */
int json_refuse(char **ret_message, const char *format, ...) _printf_(2, 3);
/* Notes an error that the caller found. The message is "KEY WHAT". */
void json_reader_fail(JsonReader *reader, const char *key, const char *what);

/* A member that is absent is an error for json_read_*(). json_read_*_if_any() ignores it. */
void json_read_text_if_any(JsonReader *reader, const char *key, char **ret); /* or null */
void json_read_bdf(JsonReader *reader, const char *key, Bdf *ret);
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

/* ---- structs ---- */

typedef enum JsonKind {
	JSON_KIND_SCHEMA, /* no member of the struct */
	JSON_KIND_TEXT,
	JSON_KIND_PLAIN, /* of bytes that anybody may have chosen: json_plain() */
	JSON_KIND_LIST,	 /* of such lines, 4096 at most */
	JSON_KIND_BOOL,
	JSON_KIND_NUMBER,
	JSON_KIND_ERRNO, /* -errno in the struct, errno in the object */
	JSON_KIND_INDEX, /* counts from 0; a negative one in the struct is absent or null */
	JSON_KIND_ID,	 /* UINT32_MAX in the struct is null */
	JSON_KIND_HEX,	 /* a string of so many hex digits */
	JSON_KIND_BDF,
	JSON_KIND_BDFS, /* an array of them */
	JSON_KIND_ENUM,
	JSON_KIND_STRUCT,
	JSON_KIND_ARRAY,
	/*
	 * Read and written by functions that get the whole struct. No function: the member is left
	 * out, or not looked at.
	 */
	JSON_KIND_OTHER,
} JsonKind;

typedef struct JsonMember {
	const char *key; /* NULL ends the table */
	JsonKind kind;
	bool optional; /* may be absent */
	bool sparse;   /* is not written when it is empty */
	size_t offset, size;
	uint64_t min, max;		  /* max of an array: items */
	int digits;			  /* of a hex number */
	const char *text;		  /* the schema; what is wrong with an unknown name */
	const char *const *names;	  /* of an enum's values, with a NULL behind them */
	size_t count;			  /* of an array: where the number of its items is */
	const struct JsonMember *members; /* of a struct, or of an array's items */
	void (*write)(json_t *object, const char *key, const void *of);
	void (*read)(JsonReader *reader, const char *key, void *of);
} JsonMember;

#define DECLARE_JSON(Type, table) extern const JsonMember table[];
#define DECLARE_DOCUMENT(Type, table, schema) extern const JsonMember table[];
#define DECLARE_JSON_OF(Type, table, ...) extern const JsonMember table[];
/* 0, or -EBADMSG and what is wrong, of "where". */
#define DECLARE_READ(Type, f, where) int f(const json_t *json, Type **ret, char **ret_message);
#define LOCAL_JSON(Type, table)
#define LOCAL_DOCUMENT(Type, table, schema)
#define LOCAL_JSON_OF(Type, table, ...)

json_t *json_struct_write(const JsonMember *members, const void *from);

/*
 * Strict: -EBADMSG with *ret_message (may be NULL) if the object has a member that the table lacks.
 * Members that are objects, arrays, or read by functions are read last. `where` is as for a
 * JsonReader. `into` is zero, and the caller clears it, also after an error.
 */
int json_struct_read(const JsonMember *members, const json_t *object, const char *where, void *into,
		     char **ret_message);

/* Its compact text. */
char *json_struct_text(const JsonMember *members, const void *from);

/* Frees what the members own, and leaves them empty. */
void json_struct_clear(const JsonMember *members, void *of);
