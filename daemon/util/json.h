/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jansson with our conventions for ownership and errors. */
#pragma once

#include <jansson.h>

#include "gpupass/cleanup.h"

#define _cleanup_json_ _cleanup_(json_decrefp)

/* Any JSON, without duplicate members. -EBADMSG with *ret_error (may be NULL). */
int json_parse(const char *text, size_t size, json_t **ret, json_error_t *ret_error);

/*
 * Parses `text` of `size` bytes. -EBADMSG with "line L: what" in *ret_message (may be
 * NULL) when it is not JSON; -EPROTO when its member "schema" is not `schema`: another version's
 * document.
 */
int json_parse_document(const char *text, size_t size, const char *schema, json_t **ret,
			char **ret_message);

/* Strict readers of one member: -ENOENT when absent, -EBADMSG when of another type or range. */
int json_get_string(const json_t *object, const char *key, const char **ret); /* borrowed */
int json_get_unsigned(const json_t *object, const char *key, unsigned long long max,
		      unsigned long long *ret);
int json_get_bool(const json_t *object, const char *key, bool *ret);
int json_get_strv(const json_t *object, const char *key, char ***ret);

/* At the start of a program: libjansson's memory is xmalloc()'s. */
void json_use_xalloc(void);

/*
 * Writers. A value that is missing, or that libjansson's own functions did not make, is a mistake
 * of this program, and ends it: half a document is never written. json_set() and json_append() take
 * the value.
 */
void json_set(json_t *object, const char *key, json_t *value);
void json_append(json_t *array, json_t *value);
/* An array of `value`, which is made of `it`, for each of the items. NULL: of that item none. */
#define JSON_ARRAY(list, n, value)                                                                 \
	({                                                                                         \
		json_t *array_ = json_array();                                                     \
		for (size_t i_ = 0; i_ < (n); i_++) {                                              \
			const __typeof__((list)[0]) *it = &(list)[i_];                             \
			json_t *value_ = (value);                                                  \
			if (value_)                                                                \
				json_append(array_, value_);                                       \
		}                                                                                  \
		array_;                                                                            \
	})
json_t *json_made(json_t *value);
/* json_pack(). Its texts are ours: what others wrote goes in by "o" and json_text(). */
#define json_build(...) json_made(json_pack(__VA_ARGS__))

/* '?' stands for each byte beyond ASCII of what is not UTF-8. */
json_t *json_text(const char *s);
/* json null for NULL. */
json_t *json_string_or_null(const char *s);
json_t *json_strv(char *const *l);
