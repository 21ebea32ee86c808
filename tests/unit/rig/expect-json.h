/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a struct says of itself as JSON beside what a test expects of it. */
#pragma once

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "gpupass/cleanup.h"

/* The members that `wanted` names, at each depth; null is one that is not there. */
static inline bool json_has(const json_t *found, const json_t *wanted)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_null(wanted))
		return !found || json_is_null(found);
	if (json_is_array(wanted)) {
		json_array_foreach (wanted, i, value)
			if (!json_has(json_array_get(found, i), value))
				return false;
		return json_array_size(found) == json_array_size(wanted);
	}
	if (!json_is_object(wanted))
		return json_equal(found, wanted);
	json_object_foreach ((json_t *)wanted, key, value)
		if (!json_has(json_object_get(found, key), value))
			return false;
	return json_is_object(found);
}

/* Takes `found`. `wanted` has ' for ". */
static inline _unused_ void expect_json(const char *what, json_t *found, const char *wanted)
{
	_cleanup_free_ char *text = strdup(wanted), *is = NULL;
	json_t *json;

	for (char *c = text; (c = strchr(c, '\''));)
		*c = '"';
	json = json_loads(text, JSON_DECODE_ANY, NULL);
	if (!json)
		fail_msg("%s: %s is no JSON", what, wanted);
	is = json_dumps(found, JSON_ENCODE_ANY);
	if (!json_has(found, json))
		fail_msg("%s: not %s, but %s", what, wanted, is);
	json_decref(json);
	json_decref(found);
}
