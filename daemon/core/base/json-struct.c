/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/base/json-struct.h"

#include <ctype.h>
#include <stdarg.h>

#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

/* ---- members ---- */

#define TEXT_BYTES_MAX 4096
/* The writers of such lists stop far below this (host/device/examine.c). */
#define LIST_MAX 4096

/* jansson's integers are signed. */
#define JSON_NUMBER_MAX ((unsigned long long)INT64_MAX)

static void begin_if(JsonReader *reader, const json_t *object, const char *where,
		     bool (*known)(const char *key, const void *data), const void *data)
{
	const char *key;
	json_t *value;

	*reader = (JsonReader){ .object = object, .where = where };
	if (!json_is_object(object)) {
		reader->error = -EBADMSG;
		reader->message = strf("%s is not an object", where ? where : "the document");
		return;
	}
	/* jansson iterates over non-const objects only. Nothing is written here. */
	json_object_foreach ((json_t *)object, key, value) {
		if (!known(key, data)) {
			json_reader_fail(reader, key, "is not a member that this version knows");
			return;
		}
	}
}

static bool is_in(const char *key, const void *keys)
{
	for (const char *const *k = keys; *k; k++)
		if (strcmp(*k, key) == 0)
			return true;
	return false;
}

void json_reader_begin(JsonReader *reader, const json_t *object, const char *where,
		       const char *const *keys)
{
	begin_if(reader, object, where, is_in, keys);
}

int json_reader_end(JsonReader *reader, char **ret_message)
{
	if (reader->error < 0 && ret_message)
		*ret_message = TAKE_PTR(reader->message);
	free(reader->message);
	reader->message = NULL;
	return reader->error;
}

int json_refuse(char **ret_message, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (ret_message)
		*ret_message = vstrf(format, ap);
	va_end(ap);
	return -EBADMSG;
}

void json_reader_fail(JsonReader *reader, const char *key, const char *what)
{
	if (reader->error < 0)
		return;
	reader->error = -EBADMSG;
	reader->message = strf("%s%s%.64s %s", str_or_empty(reader->where),
			       reader->where ? "." : "", key, what);
}

/* The member, or NULL when it is absent or an earlier read failed. */
static const json_t *member(JsonReader *reader, const char *key, bool required)
{
	const json_t *value;

	if (reader->error < 0)
		return NULL;
	value = json_object_get(reader->object, key);
	if (!value && required)
		json_reader_fail(reader, key, "is missing");
	return value;
}

static void take_text(JsonReader *reader, const char *key, const json_t *value, char **ret)
{
	if (!json_is_string(value) || json_string_length(value) > TEXT_BYTES_MAX) {
		json_reader_fail(reader, key, "is not a string of at most 4096 bytes");
		return;
	}
	free(*ret);
	*ret = xstrdup(json_string_value(value));
}

static void read_filled_text(JsonReader *reader, const char *key, char **ret)
{
	const json_t *value = member(reader, key, true);

	if (!value)
		return;
	if (json_string_length(value) == 0)
		json_reader_fail(reader, key, "is not a string, or empty");
	else
		take_text(reader, key, value, ret);
}

void json_read_text_if_any(JsonReader *reader, const char *key, char **ret)
{
	const json_t *value = member(reader, key, false);

	if (value && !json_is_null(value))
		take_text(reader, key, value, ret);
}

void json_read_bdf(JsonReader *reader, const char *key, Bdf *ret)
{
	const json_t *value = member(reader, key, true);

	if (value && bdf_parse(json_string_value(value), ret) < 0)
		json_reader_fail(reader, key, "is not a PCI address");
}

static uint32_t read_hex(JsonReader *reader, const char *key, uint32_t max)
{
	const json_t *value = member(reader, key, true);
	unsigned long long number = 0;

	if (value && str_to_unsigned(json_string_value(value), 16, max, &number) < 0)
		json_reader_fail(reader, key, "is not a string of hex digits in range");
	return (uint32_t)number;
}

static uint64_t read_number(JsonReader *reader, const char *key, uint64_t max)
{
	unsigned long long number = 0;

	if (member(reader, key, true) &&
	    json_get_unsigned(reader->object, key, max < JSON_NUMBER_MAX ? max : JSON_NUMBER_MAX,
			      &number) < 0)
		json_reader_fail(reader, key, "is not a number in range");
	return number;
}

static void read_int_if_any(JsonReader *reader, const char *key, int *ret)
{
	const json_t *value = member(reader, key, false);
	unsigned long long number;

	if (!value || json_is_null(value))
		return;
	if (json_get_unsigned(reader->object, key, INT32_MAX, &number) < 0)
		json_reader_fail(reader, key, "is not a number in range, or null");
	else
		*ret = (int)number;
}

static bool read_bool(JsonReader *reader, const char *key)
{
	const json_t *value = member(reader, key, true);

	if (value && !json_is_boolean(value))
		json_reader_fail(reader, key, "is not true or false");
	return json_is_true(value);
}

const json_t *json_read_array_if_any(JsonReader *reader, const char *key, size_t max)
{
	const json_t *value = member(reader, key, false);

	if (!value)
		return NULL;
	if (!json_is_array(value)) {
		json_reader_fail(reader, key, "is not an array");
		return NULL;
	}
	if (json_array_size(value) > max) {
		json_reader_fail(reader, key, "has more items than this version accepts");
		return NULL;
	}
	return value;
}

const json_t *json_read_array(JsonReader *reader, const char *key, size_t max)
{
	return member(reader, key, true) ? json_read_array_if_any(reader, key, max) : NULL;
}

void json_set_text_if_any(json_t *object, const char *key, const char *s)
{
	if (s)
		json_set(object, key, json_text(s));
}

void json_set_bdf(json_t *object, const char *key, const Bdf *bdf)
{
	json_set(object, key, json_text(BDF_TEXT(bdf)));
}

/* ---- lines of files ---- */

json_t *json_plain(const char *s)
{
	_cleanup_free_ char *clean = xstrdup(s);

	for (char *c = clean; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return json_text(clean);
}

bool json_plain_equal(const char *a, const char *b)
{
	_cleanup_json_ json_t *x = NULL, *y = NULL;

	if (!a || !b || strcmp(a, b) == 0)
		return !a == !b;
	x = json_plain(a);
	y = json_plain(b);
	return json_equal(x, y);
}

void json_set_plain_list(json_t *object, const char *key, char *const *list)
{
	json_t *array = json_array();

	for (char *const *line = list; line && *line; line++)
		json_append(array, json_plain(*line));
	json_set(object, key, array);
}

static void read_list(JsonReader *reader, const char *key, char ***ret)
{
	const json_t *array = json_read_array(reader, key, LIST_MAX);

	for (size_t i = 0; reader->error >= 0 && i < json_array_size(array); i++) {
		const json_t *line = json_array_get(array, i);

		if (!json_is_string(line) || json_string_length(line) > TEXT_BYTES_MAX)
			json_reader_fail(reader, key, "holds something that is no line");
		else
			strv_append(ret, json_string_value(line));
	}
}

/* ---- structs ---- */

/* No errno is above it: MAX_ERRNO in the kernel. */
#define ERRNO_MAX 4095

static void *at(const JsonMember *m, void *of)
{
	return (char *)of + m->offset;
}

static const void *at_const(const JsonMember *m, const void *of)
{
	return (const char *)of + m->offset;
}

/* A text, a list or an array: an owned pointer of any type. */
static void *pointer_of(const JsonMember *m, const void *of)
{
	void *pointer;

	memcpy(&pointer, at_const(m, of), sizeof(pointer));
	return pointer;
}

static void set_pointer(const JsonMember *m, void *of, void *pointer)
{
	memcpy(at(m, of), &pointer, sizeof(pointer));
}

static bool bool_of(const JsonMember *m, const void *of)
{
	return *(const bool *)at_const(m, of);
}

static int int_of(const JsonMember *m, const void *of)
{
	return *(const int *)at_const(m, of);
}

/* An int that is written as a number is never negative. */
static uint64_t number_of(const JsonMember *m, const void *of)
{
	const void *from = at_const(m, of);

	if (m->size == sizeof(uint16_t))
		return *(const uint16_t *)from;
	if (m->size == sizeof(uint32_t))
		return *(const uint32_t *)from;
	return *(const uint64_t *)from;
}

static void set_number(const JsonMember *m, void *of, uint64_t value)
{
	void *to = at(m, of);

	if (m->size == sizeof(uint16_t))
		*(uint16_t *)to = (uint16_t)value;
	else if (m->size == sizeof(uint32_t))
		*(uint32_t *)to = (uint32_t)value;
	else
		*(uint64_t *)to = value;
}

static size_t count_of(const JsonMember *m, const void *of)
{
	return *(const size_t *)((const char *)of + m->count);
}

static void set_array(const JsonMember *m, void *of, void *items, size_t n)
{
	set_pointer(m, of, items);
	*(size_t *)((char *)of + m->count) = n;
}

/* ---- writing ---- */

static json_t *array_to_json(const JsonMember *m, const void *of)
{
	const char *items = pointer_of(m, of);
	size_t n = count_of(m, of);
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_append(array, json_struct_write(m->members, items + i * m->size));
	return array;
}

static json_t *bdfs_to_json(const JsonMember *m, const void *of)
{
	const Bdf *items = pointer_of(m, of);
	return JSON_ARRAY(items, count_of(m, of), json_text(BDF_TEXT(it)));
}

static bool is_empty(const JsonMember *m, const void *of)
{
	switch (m->kind) {
	case JSON_KIND_TEXT:
	case JSON_KIND_PLAIN:
	case JSON_KIND_LIST:
		return !pointer_of(m, of);
	case JSON_KIND_BOOL:
		return !bool_of(m, of);
	case JSON_KIND_INDEX:
		return int_of(m, of) < 0;
	case JSON_KIND_BDF:
		return bdf_equal(at_const(m, of), &(Bdf){ 0 });
	case JSON_KIND_BDFS:
	case JSON_KIND_ARRAY:
		return count_of(m, of) == 0;
	default:
		return number_of(m, of) == 0;
	}
}

/* NULL: no such value. */
static const char *name_of(const JsonMember *m, const void *of)
{
	uint64_t value = number_of(m, of);

	for (uint64_t i = 0; m->names[i]; i++)
		if (i == value)
			return m->names[i];
	return NULL;
}

/* A fence has a thousand of them, and is written with each job: printf() took a fifth of that. */
static json_t *hex_to_json(uint64_t value, unsigned digits)
{
	char text[2 * sizeof(value) + 1] = "";

	for (unsigned i = 0; i < digits; i++)
		text[i] = "0123456789abcdef"[value >> 4 * (digits - 1 - i) & 0xf];
	return json_text(text);
}

/* NULL: the struct has what the object must not have. */
static json_t *member_to_json(const JsonMember *m, const void *of)
{
	switch (m->kind) {
	case JSON_KIND_SCHEMA:
		return json_text(m->text);
	case JSON_KIND_TEXT:
		return m->optional ? json_string_or_null(pointer_of(m, of))
				   : json_text(pointer_of(m, of));
	case JSON_KIND_PLAIN:
		return json_plain(pointer_of(m, of));
	case JSON_KIND_BOOL:
		return json_boolean(bool_of(m, of));
	case JSON_KIND_NUMBER:
		return json_integer((json_int_t)(number_of(m, of) & INT64_MAX));
	case JSON_KIND_ERRNO:
		return json_integer(-int_of(m, of));
	case JSON_KIND_INDEX:
		return int_of(m, of) < 0 ? json_null() : json_integer(int_of(m, of));
	case JSON_KIND_ID:
		return number_of(m, of) == UINT32_MAX ? json_null()
						      : json_integer((json_int_t)number_of(m, of));
	case JSON_KIND_HEX:
		return hex_to_json(number_of(m, of), (unsigned)m->digits);
	case JSON_KIND_BDF:
		return json_text(BDF_TEXT((const Bdf *)at_const(m, of)));
	case JSON_KIND_ENUM:
		return json_text(name_of(m, of));
	case JSON_KIND_STRUCT:
		return json_struct_write(m->members, at_const(m, of));
	case JSON_KIND_ARRAY:
		return array_to_json(m, of);
	case JSON_KIND_BDFS:
		return bdfs_to_json(m, of);
	case JSON_KIND_LIST:
	case JSON_KIND_OTHER:
		break;
	}
	return NULL;
}

static void write_member(json_t *o, const JsonMember *m, const void *of)
{
	if (m->kind == JSON_KIND_OTHER && m->write)
		m->write(o, m->key, of);
	else if (m->kind == JSON_KIND_OTHER || (m->sparse && is_empty(m, of)))
		return;
	else if (m->kind == JSON_KIND_LIST)
		json_set_plain_list(o, m->key, pointer_of(m, of));
	else
		json_set(o, m->key, member_to_json(m, of));
}

json_t *json_struct_write(const JsonMember *members, const void *from)
{
	json_t *o = json_object();

	for (const JsonMember *m = members; m->key; m++)
		write_member(o, m, from);
	return o;
}

/* ---- reading ---- */

static void read_text(JsonReader *reader, const JsonMember *m, char **ret)
{
	if (m->optional)
		json_read_text_if_any(reader, m->key, ret);
	else
		read_filled_text(reader, m->key, ret);
}

static void read_enum(JsonReader *reader, const JsonMember *m, void *into)
{
	_cleanup_free_ char *name = NULL;

	read_text(reader, m, &name);
	if (!name)
		return;
	for (uint64_t i = m->min; m->names[i]; i++) {
		if (strcmp(m->names[i], name) == 0) {
			set_number(m, into, i);
			return;
		}
	}
	json_reader_fail(reader, m->key, m->text);
}

static void read_bdfs(JsonReader *reader, const JsonMember *m, void *into)
{
	const json_t *array = json_read_array(reader, m->key, m->max);
	size_t n = json_array_size(array);
	Bdf *items = xcalloc(n, sizeof(Bdf));

	set_array(m, into, items, n);
	for (size_t i = 0; i < n; i++)
		if (bdf_parse(json_string_value(json_array_get(array, i)), &items[i]) < 0)
			json_reader_fail(reader, m->key, "holds something that is no address");
}

static void read_member(JsonReader *reader, const JsonMember *m, void *into)
{
	const json_t *value = json_object_get(reader->object, m->key);
	void *to = at(m, into);

	if (m->kind == JSON_KIND_INDEX)
		*(int *)to = -1;
	if (m->kind == JSON_KIND_ID)
		set_number(m, into, UINT32_MAX);
	if (m->optional && !value)
		return;
	switch (m->kind) {
	case JSON_KIND_TEXT:
	case JSON_KIND_PLAIN:
		read_text(reader, m, to);
		break;
	case JSON_KIND_LIST:
		read_list(reader, m->key, to);
		break;
	case JSON_KIND_BOOL:
		*(bool *)to = read_bool(reader, m->key);
		break;
	case JSON_KIND_NUMBER:
		set_number(m, into, read_number(reader, m->key, m->max));
		break;
	case JSON_KIND_ERRNO:
		*(int *)to = -(int)read_number(reader, m->key, ERRNO_MAX);
		break;
	case JSON_KIND_INDEX:
		read_int_if_any(reader, m->key, to);
		break;
	case JSON_KIND_ID:
		if (!json_is_null(value))
			set_number(m, into, read_number(reader, m->key, m->max));
		break;
	case JSON_KIND_HEX:
		set_number(m, into, read_hex(reader, m->key, (uint32_t)m->max));
		break;
	case JSON_KIND_BDF:
		json_read_bdf(reader, m->key, to);
		break;
	case JSON_KIND_ENUM:
		read_enum(reader, m, into);
		break;
	case JSON_KIND_BDFS:
		read_bdfs(reader, m, into);
		break;
	case JSON_KIND_ARRAY:
		json_read_array(reader, m->key, m->max);
		break;
	case JSON_KIND_SCHEMA:
	case JSON_KIND_STRUCT:
	case JSON_KIND_OTHER:
		break;
	}
}

/* An error inside has its place in its message already. */
static void read_inside(JsonReader *reader, const JsonMember *members, const json_t *object,
			const char *where, void *into)
{
	if (reader->error >= 0)
		reader->error = json_struct_read(members, object, where, into, &reader->message);
}

static void read_array(JsonReader *reader, const JsonMember *m, void *into)
{
	const json_t *array = json_object_get(reader->object, m->key);
	size_t n = json_array_size(array);
	char *items;

	if (reader->error < 0)
		return;
	items = xcalloc(n, m->size);
	set_array(m, into, items, n);
	for (size_t i = 0; reader->error >= 0 && i < n; i++) {
		_cleanup_free_ char *where = strf("%s[%zu]", m->key, i);

		read_inside(reader, m->members, json_array_get(array, i), where,
			    items + i * m->size);
	}
}

/* What relies on simple members, or has an inside of its own. */
static void read_complex(JsonReader *reader, const JsonMember *m, void *into)
{
	if (m->kind == JSON_KIND_STRUCT)
		read_inside(reader, m->members, json_object_get(reader->object, m->key), m->key,
			    at(m, into));
	else if (m->kind == JSON_KIND_ARRAY)
		read_array(reader, m, into);
	else if (m->kind == JSON_KIND_OTHER && m->read && reader->error >= 0)
		m->read(reader, m->key, into);
}

static bool is_known(const char *key, const void *members)
{
	for (const JsonMember *m = members; m->key; m++)
		if (strcmp(m->key, key) == 0)
			return true;
	return false;
}

int json_struct_read(const JsonMember *members, const json_t *object, const char *where, void *into,
		     char **ret_message)
{
	JsonReader reader;

	begin_if(&reader, object, where, is_known, members);
	for (const JsonMember *m = members; m->key; m++)
		read_member(&reader, m, into);
	for (const JsonMember *m = members; m->key; m++)
		read_complex(&reader, m, into);
	return json_reader_end(&reader, ret_message);
}

/* ---- ownership ---- */

static bool is_text(const JsonMember *m)
{
	return m->kind == JSON_KIND_TEXT || m->kind == JSON_KIND_PLAIN;
}

static void clear_array(const JsonMember *m, void *of)
{
	char *items = pointer_of(m, of);

	for (size_t i = 0; i < count_of(m, of); i++)
		json_struct_clear(m->members, items + i * m->size);
	free(items);
	set_array(m, of, NULL, 0);
}

void json_struct_clear(const JsonMember *members, void *of)
{
	for (const JsonMember *m = members; m->key; m++) {
		if (is_text(m)) {
			free(pointer_of(m, of));
			set_pointer(m, of, NULL);
		} else if (m->kind == JSON_KIND_LIST) {
			set_pointer(m, of, strv_free(pointer_of(m, of)));
		} else if (m->kind == JSON_KIND_STRUCT) {
			json_struct_clear(m->members, at(m, of));
		} else if (m->kind == JSON_KIND_BDFS) {
			free(pointer_of(m, of));
			set_array(m, of, NULL, 0);
		} else if (m->kind == JSON_KIND_ARRAY) {
			clear_array(m, of);
		}
	}
}

char *json_struct_text(const JsonMember *members, const void *from)
{
	_cleanup_json_ json_t *root = json_struct_write(members, from);

	return json_dumps(root, JSON_COMPACT);
}
