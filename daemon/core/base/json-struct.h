/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structs as JSON objects. A table has one row for each member that the object has, in the order in
 * which they are written. Writer and reader go by it; include/structs.py makes it of the struct
 * (docs/HACKING.md, "Structs").
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/json-fields.h"
#include "gpupass/string-table.h"

typedef enum JsonKind {
	JSON_KIND_SCHEMA, /* no member of the struct */
	JSON_KIND_TEXT,
	JSON_KIND_PLAIN, /* of bytes that anybody may have chosen: json_plain() */
	JSON_KIND_LIST,	 /* of such lines: json_read_list() */
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
