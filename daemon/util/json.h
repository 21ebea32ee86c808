/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jansson with our conventions for ownership and errors. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "gpupass/cleanup.h"

#define _cleanup_json_ _cleanup_(json_decrefp_)
static inline _unused_ void json_decrefp_(json_t **j)
{
	json_decref(*j);
	*j = NULL;
}

/* Any JSON, without duplicate members. -EBADMSG with *ret_error (may be NULL), or -ENOMEM. */
int json_parse(const char *text, size_t size, json_t **ret, json_error_t *ret_error);

/*
 * Parses `text` of `size` bytes. -ENOMEM; -EBADMSG with "line L: what" in *ret_message (may be
 * NULL) when it is not JSON; -EPROTO when its member "schema" is not `schema`: another version's
 * document.
 */
int json_parse_document(const char *text, size_t size, const char *schema, json_t **ret,
			char **ret_message);

/* Strict readers of one member: -ENOENT when absent, -EBADMSG when of another type or range. */
int json_get_string(const json_t *object, const char *key, const char **ret); /* borrowed */
int json_get_unsigned(const json_t *object, const char *key, unsigned long long max,
		      unsigned long long *ret);
int json_get_int(const json_t *object, const char *key, long long min, long long max,
		 long long *ret);
int json_get_bool(const json_t *object, const char *key, bool *ret);
int json_get_strv(const json_t *object, const char *key, char ***ret);

/* A new array of strings; NULL when out of memory or a string is not UTF-8. */
json_t *json_strv(char *const *l);
/* json null for NULL. */
json_t *json_string_or_null(const char *s);
