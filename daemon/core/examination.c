/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/examination.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/json-fields.h"
#include "util/json.h"
#include "util/text.h"

/* The worker stops far below (host/examine.c); more than this is no worker's answer. */
#define LIST_MAX 4096
#define LINE_MAX_BYTES 4096

/* Lines of files are anybody's: what is no text has no place in JSON, nor on a terminal. */
static json_t *clean_line(const char *s)
{
	_cleanup_free_ char *clean = strdup(s);
	json_t *value;

	if (!clean)
		return NULL;
	for (char *c = clean; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	value = json_string(clean);
	if (value)
		return value;
	for (char *c = clean; *c; c++)
		if (!isascii((unsigned char)*c))
			*c = '?';
	return json_string(clean);
}

static int set_list(json_t *object, const char *key, char *const *list)
{
	json_t *array = json_array(); /* given to the object below, also on failure */
	int r = 0;

	for (char *const *line = list; line && *line; line++)
		r |= json_array_append_new(array, clean_line(*line));
	return r | json_object_set_new(object, key, array);
}

json_t *examination_to_json(const Examination *e)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

#define X(member)                                                                                  \
	if (e->member)                                                                             \
		r |= json_object_set_new(o, #member, clean_line(e->member));
	EXAMINATION_TEXTS(X)
#undef X
#define X(member) r |= set_list(o, #member, e->member);
	EXAMINATION_LISTS(X)
#undef X
#define X(member) r |= json_object_set_new(o, #member, json_boolean(e->member));
	EXAMINATION_FLAGS(X)
#undef X
#define X(member)                                                                                  \
	r |= json_object_set_new(o, #member, json_integer((json_int_t)(e->member & INT64_MAX)));
	EXAMINATION_NUMBERS(X)
#undef X
	return r < 0 ? NULL : TAKE_PTR(o);
}

static void read_list(JsonReader *reader, const char *key, char ***ret)
{
	const json_t *array = json_read_array(reader, key, LIST_MAX);

	for (size_t i = 0; reader->error >= 0 && i < json_array_size(array); i++) {
		const json_t *line = json_array_get(array, i);

		if (!json_is_string(line) || json_string_length(line) > LINE_MAX_BYTES)
			json_reader_fail(reader, key, "holds something that is no line");
		else if (strv_append(ret, json_string_value(line)) < 0)
			reader->error = -ENOMEM;
	}
}

int examination_from_json(const json_t *json, Examination **ret, char **ret_message)
{
#define X(member) #member,
	static const char *const keys[] = { EXAMINATION_TEXTS(X) EXAMINATION_LISTS(
		X) EXAMINATION_FLAGS(X) EXAMINATION_NUMBERS(X) NULL };
#undef X
	_cleanup_(examination_freep) Examination *e = calloc(1, sizeof(*e));
	JsonReader reader;
	int r;

	if (!e)
		return -ENOMEM;
	json_reader_begin(&reader, json, "examination", keys);
#define X(member) json_read_text_if_any(&reader, #member, &e->member);
	EXAMINATION_TEXTS(X)
#undef X
#define X(member) read_list(&reader, #member, &e->member);
	EXAMINATION_LISTS(X)
#undef X
#define X(member) e->member = json_read_bool(&reader, #member);
	EXAMINATION_FLAGS(X)
#undef X
#define X(member) e->member = json_read_number(&reader, #member, INT64_MAX);
	EXAMINATION_NUMBERS(X)
#undef X
	r = json_reader_end(&reader, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(e);
	return 0;
}

Examination *examination_free(Examination *e)
{
	if (!e)
		return NULL;
#define X(member) free(e->member);
	EXAMINATION_TEXTS(X)
#undef X
#define X(member) strv_free(e->member);
	EXAMINATION_LISTS(X)
#undef X
	free(e);
	return NULL;
}
