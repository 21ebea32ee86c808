/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/json.h"

#include <ctype.h>

#include "util/text.h"
#include "util/xalloc.h"

void json_use_xalloc(void)
{
	json_set_alloc_funcs(xmalloc, free);
}

int json_parse(const char *text, size_t size, json_t **ret, json_error_t *ret_error)
{
	*ret = json_loadb(text, size, JSON_REJECT_DUPLICATES, ret_error);
	return *ret ? 0 : -EBADMSG;
}

int json_parse_document(const char *text, size_t size, const char *schema, json_t **ret,
			char **ret_message)
{
	_cleanup_json_ json_t *root = NULL;
	const char *found = NULL;
	json_error_t error;
	int r = json_parse(text, size, &root, &error);

	if (r < 0) {
		if (r == -EBADMSG && ret_message)
			*ret_message = strf("line %d: %s", error.line, error.text);
		return r;
	}
	if (json_get_string(root, "schema", &found) < 0 || strcmp(found, schema) != 0) {
		if (ret_message)
			*ret_message =
				strf("its schema is %s, not %s", found ? found : "missing", schema);
		return -EPROTO;
	}
	*ret = TAKE_PTR(root);
	return 0;
}

int json_get_string(const json_t *object, const char *key, const char **ret)
{
	const json_t *member = json_object_get(object, key);

	if (!member)
		return -ENOENT;
	if (!json_is_string(member))
		return -EBADMSG;
	*ret = json_string_value(member);
	return 0;
}

int json_get_unsigned(const json_t *object, const char *key, unsigned long long max,
		      unsigned long long *ret)
{
	const json_t *member = json_object_get(object, key);
	json_int_t value = json_integer_value(member);

	if (!member)
		return -ENOENT;
	if (!json_is_integer(member) || value < 0 || (unsigned long long)value > max)
		return -EBADMSG;
	*ret = (unsigned long long)value;
	return 0;
}

int json_get_bool(const json_t *object, const char *key, bool *ret)
{
	const json_t *member = json_object_get(object, key);

	if (!member)
		return -ENOENT;
	if (!json_is_boolean(member))
		return -EBADMSG;
	*ret = json_is_true(member);
	return 0;
}

int json_get_strv(const json_t *object, const char *key, char ***ret)
{
	const json_t *member = json_object_get(object, key);
	_cleanup_strv_ char **l = NULL;
	json_t *item;
	size_t i;

	if (!member)
		return -ENOENT;
	if (!json_is_array(member))
		return -EBADMSG;
	json_array_foreach (member, i, item) {
		if (!json_is_string(item))
			return -EBADMSG;
		strv_append(&l, json_string_value(item));
	}
	*ret = TAKE_PTR(l);
	return 0;
}

json_t *json_text(const char *s)
{
	_cleanup_free_ char *clean = NULL;
	json_t *value = json_string(s);

	if (value || !s)
		return json_made(value);
	clean = xstrdup(s);
	for (char *c = clean; *c; c++)
		if (!isascii((unsigned char)*c))
			*c = '?';
	return json_string(clean);
}

json_t *json_string_or_null(const char *s)
{
	return s ? json_text(s) : json_null();
}

json_t *json_made(json_t *value)
{
	if (!value)
		impossible("a document lacks a value, so this process ends");
	return value;
}

void json_set(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) < 0)
		json_made(NULL);
}

void json_append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) < 0)
		json_made(NULL);
}

json_t *json_strv(char *const *l)
{
	json_t *array = json_array();

	for (; l && *l; l++)
		json_append(array, json_text(*l));
	return array;
}
