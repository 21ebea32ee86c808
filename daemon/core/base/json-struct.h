/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structs as JSON objects. A table has one row for each member that the object has, in the order in
 * which they are written. Writer, reader, copy and clear go by it:
 *
 *   static const JsonMember holder_members[] = {
 *           JSON_BDF(Holder, bdf),
 *           JSON_NUMBER(Holder, pid, INT32_MAX),
 *           JSON_TEXT_IF_ANY(Holder, unit),
 *           JSON_END,
 *   };
 *
 * A row checks at compile time that the member has the type that it reads and writes.
 *
 *   _IF_ANY   may be absent in what is read. Is not written when it is empty: NULL, 0, false
 *   _OR_0     may be absent in what is read, but is always written
 *   _AS       the object's member has another name than the struct's
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/json-fields.h"
#include "gpupass/string-table.h"

typedef enum JsonKind {
	JSON_KIND_SCHEMA,
	JSON_KIND_TEXT,
	JSON_KIND_PLAIN,
	JSON_KIND_LIST,
	JSON_KIND_BOOL,
	JSON_KIND_NUMBER,
	JSON_KIND_ERRNO,
	JSON_KIND_INDEX,
	JSON_KIND_ID,
	JSON_KIND_HEX,
	JSON_KIND_BDF,
	JSON_KIND_ENUM,
	JSON_KIND_STRUCT,
	JSON_KIND_ARRAY,
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

/* What include/structs.py makes tables of; docs/HACKING.md, "Structs". */
#define DECLARE_JSON(Type, table) extern const JsonMember table[];
#define DECLARE_DOCUMENT(Type, table, schema) extern const JsonMember table[];
#define DECLARE_JSON_OF(Type, table, ...) extern const JsonMember table[];
#define LOCAL_JSON(Type, table)
#define LOCAL_DOCUMENT(Type, table, schema)
#define LOCAL_JSON_OF(Type, table, ...)

#define JSON_END                                                                                   \
	{                                                                                          \
		.key = NULL                                                                        \
	}
#define JSON_ROW_(name, what, ...)                                                                 \
	{                                                                                          \
		.key = (name), .kind = JSON_KIND_##what, __VA_ARGS__                               \
	}
#define JSON_IF_ANY_ .optional = true, .sparse = true
#define JSON_MEMBER_(Type, member) (((Type *)0)->member)
#define JSON_AT_(Type, member, MemberType)                                                         \
	.offset = _Generic(JSON_MEMBER_(Type, member), MemberType                                  \
			   : offsetof(Type, member)),                                              \
	.size = sizeof(JSON_MEMBER_(Type, member))
#define JSON_INTEGER_AT_(Type, member)                                                             \
	.offset = offsetof(Type, member),                                                          \
	.size = _Generic(JSON_MEMBER_(Type, member), uint16_t : 2, uint32_t : 4, int : 4,          \
			 uint64_t : 8)

/* No member of the struct. Readers of documents check it first: json_parse_document(). */
#define JSON_SCHEMA(name) JSON_ROW_("schema", SCHEMA, .text = (name), .optional = true)

/* Neither absent nor empty. */
#define JSON_TEXT_AS(Type, member, name) JSON_ROW_(name, TEXT, JSON_AT_(Type, member, char *))
#define JSON_TEXT(Type, member) JSON_TEXT_AS(Type, member, #member)
#define JSON_TEXT_IF_ANY_AS(Type, member, name)                                                    \
	JSON_ROW_(name, TEXT, JSON_IF_ANY_, JSON_AT_(Type, member, char *))
#define JSON_TEXT_IF_ANY(Type, member) JSON_TEXT_IF_ANY_AS(Type, member, #member)
/* null when it is NULL, and may be absent in what is read. */
#define JSON_TEXT_OR_NULL(Type, member)                                                            \
	JSON_ROW_(#member, TEXT, .optional = true, JSON_AT_(Type, member, char *))
/* Of bytes that anybody may have chosen: json_plain(). */
#define JSON_PLAIN_IF_ANY_AS(Type, member, name)                                                   \
	JSON_ROW_(name, PLAIN, JSON_IF_ANY_, JSON_AT_(Type, member, char *))
#define JSON_PLAIN_IF_ANY(Type, member) JSON_PLAIN_IF_ANY_AS(Type, member, #member)
/* Of such lines: json_read_list(). */
#define JSON_LIST(Type, member) JSON_ROW_(#member, LIST, JSON_AT_(Type, member, char **))

#define JSON_BOOL(Type, member) JSON_ROW_(#member, BOOL, JSON_AT_(Type, member, bool))
#define JSON_BOOL_IF_ANY(Type, member)                                                             \
	JSON_ROW_(#member, BOOL, JSON_IF_ANY_, JSON_AT_(Type, member, bool))

#define JSON_NUMBER(Type, member, most)                                                            \
	JSON_ROW_(#member, NUMBER, .max = (most), JSON_INTEGER_AT_(Type, member))
#define JSON_NUMBER_OR_0(Type, member, most)                                                       \
	JSON_ROW_(#member, NUMBER, .max = (most), .optional = true, JSON_INTEGER_AT_(Type, member))
#define JSON_NUMBER_IF_ANY(Type, member, most)                                                     \
	JSON_ROW_(#member, NUMBER, .max = (most), JSON_IF_ANY_, JSON_INTEGER_AT_(Type, member))
/* -errno in the struct, errno in the object. */
#define JSON_ERRNO(Type, member) JSON_ROW_(#member, ERRNO, JSON_AT_(Type, member, int))
/* Counts from 0. A negative one in the struct, -1 when it was read, is absent or null. */
#define JSON_INDEX_IF_ANY(Type, member)                                                            \
	JSON_ROW_(#member, INDEX, JSON_IF_ANY_, JSON_AT_(Type, member, int))
#define JSON_INDEX_OR_NULL(Type, member)                                                           \
	JSON_ROW_(#member, INDEX, .optional = true, JSON_AT_(Type, member, int))
/* A user's id or the like: UINT32_MAX in the struct is absent or null. */
#define JSON_ID_OR_NULL(Type, member)                                                              \
	JSON_ROW_(#member, ID, .max = UINT32_MAX - 1, .optional = true,                            \
		  JSON_AT_(Type, member, uint32_t))
/* A string of so many hex digits. */
#define JSON_HEX_AS(Type, member, n, name)                                                         \
	JSON_ROW_(name, HEX, .digits = (n), .max = (1ULL << 4 * (n)) - 1,                          \
		  JSON_INTEGER_AT_(Type, member))
#define JSON_HEX(Type, member, n) JSON_HEX_AS(Type, member, n, #member)
/* By which a function is recognised, in members of these names. */
#define JSON_PCI_IDS(Type)                                                                         \
	JSON_HEX(Type, vendor, 4), JSON_HEX(Type, device, 4), JSON_HEX(Type, subsystem_vendor, 4), \
		JSON_HEX(Type, subsystem_device, 4)
#define JSON_BDF_AS(Type, member, name) JSON_ROW_(name, BDF, JSON_AT_(Type, member, Bdf))
#define JSON_BDF(Type, member) JSON_BDF_AS(Type, member, #member)

/* LIST: of gpupass/string-table.h. `wrong` is said of any other name. */
#define JSON_ENUM_(Type, member, Enum, LIST, wrong)                                                \
	.text = (wrong), .names = (const char *const[]){ LIST(STRING_TABLE_ENTRY_) NULL },         \
	JSON_AT_(Type, member, Enum)
#define JSON_ENUM(Type, member, Enum, LIST, wrong)                                                 \
	JSON_ROW_(#member, ENUM, JSON_ENUM_(Type, member, Enum, LIST, wrong))
/* The first value, "none" or "unknown", is not one that an object may have. */
#define JSON_ENUM_NOT_0(Type, member, Enum, LIST, wrong)                                           \
	JSON_ROW_(#member, ENUM, .min = 1, JSON_ENUM_(Type, member, Enum, LIST, wrong))
#define JSON_ENUM_IF_ANY(Type, member, Enum, LIST, wrong)                                          \
	JSON_ROW_(#member, ENUM, .min = 1, JSON_IF_ANY_,                                           \
		  JSON_ENUM_(Type, member, Enum, LIST, wrong))

/* A struct in the struct, as an object in the object. */
#define JSON_STRUCT(Type, member, MemberType, table)                                               \
	JSON_ROW_(#member, STRUCT, .members = (table), JSON_AT_(Type, member, MemberType))
/* An owned array of n_MEMBER structs. */
#define JSON_ARRAY_AT_(Type, member, Item, table, most)                                            \
	.members = (table), .max = (most), .size = sizeof(Item),                                   \
	.offset = _Generic(JSON_MEMBER_(Type, member), Item *                                      \
			   : offsetof(Type, member)),                                              \
	.count = _Generic(JSON_MEMBER_(Type, n_##member), size_t                                   \
			  : offsetof(Type, n_##member))
#define JSON_ARRAY_AS(Type, member, Item, table, most, name)                                       \
	JSON_ROW_(name, ARRAY, JSON_ARRAY_AT_(Type, member, Item, table, most))
#define JSON_ARRAY(Type, member, Item, table, most)                                                \
	JSON_ARRAY_AS(Type, member, Item, table, most, #member)
#define JSON_ARRAY_IF_ANY(Type, member, Item, table, most)                                         \
	JSON_ROW_(#member, ARRAY, JSON_IF_ANY_, JSON_ARRAY_AT_(Type, member, Item, table, most))

/*
 * Anything else, read and written by functions that get the whole struct; what it owns is freed and
 * copied by others, too. No function: the member is left out, or not looked at.
 */
#define JSON_OTHER(name, reader, writer) JSON_ROW_(name, OTHER, .read = (reader), .write = (writer))

json_t *json_struct_write(const JsonMember *members, const void *from);

/*
 * Strict: -EBADMSG with *ret_message (may be NULL) if the object has a member that the table lacks.
 * Members that are objects, arrays, or JSON_OTHER are read last. `where` is as for a JsonReader.
 * `into` is zero, and the caller clears it, also after an error.
 */
int json_struct_read(const JsonMember *members, const json_t *object, const char *where, void *into,
		     char **ret_message);

/* Its compact text. */
char *json_struct_text(const JsonMember *members, const void *from);

/* Frees what the members own, and leaves them empty. */
void json_struct_clear(const JsonMember *members, void *of);

/* Both would be written alike; a text that must not be empty may be NULL in both. */
bool json_struct_equal(const JsonMember *members, const void *a, const void *b);
