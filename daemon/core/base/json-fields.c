/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/base/json-fields.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define TEXT_BYTES_MAX 4096
/* The writers of such lists stop far below this (host/device/examine.c). */
#define LIST_MAX 4096

/* jansson's integers are signed. */
#define JSON_NUMBER_MAX ((unsigned long long)INT64_MAX)

void json_reader_begin_if(JsonReader *reader, const json_t *object, const char *where,
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
	json_reader_begin_if(reader, object, where, is_in, keys);
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

void json_read_text(JsonReader *reader, const char *key, char **ret)
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

uint32_t json_read_hex(JsonReader *reader, const char *key, uint32_t max)
{
	const json_t *value = member(reader, key, true);
	unsigned long long number = 0;

	if (value && str_to_unsigned(json_string_value(value), 16, max, &number) < 0)
		json_reader_fail(reader, key, "is not a string of hex digits in range");
	return (uint32_t)number;
}

uint64_t json_read_number(JsonReader *reader, const char *key, uint64_t max)
{
	unsigned long long number = 0;

	if (member(reader, key, true) &&
	    json_get_unsigned(reader->object, key, max < JSON_NUMBER_MAX ? max : JSON_NUMBER_MAX,
			      &number) < 0)
		json_reader_fail(reader, key, "is not a number in range");
	return number;
}

void json_read_int_if_any(JsonReader *reader, const char *key, int *ret)
{
	const json_t *value = member(reader, key, false);
	long long number;

	if (!value || json_is_null(value))
		return;
	if (json_get_int(reader->object, key, 0, INT32_MAX, &number) < 0)
		json_reader_fail(reader, key, "is not a number in range, or null");
	else
		*ret = (int)number;
}

bool json_read_bool(JsonReader *reader, const char *key)
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

void json_read_list(JsonReader *reader, const char *key, char ***ret)
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
