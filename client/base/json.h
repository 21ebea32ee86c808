/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON, made and printed. */
#pragma once

#include <jansson.h>

#include "base/client.h"
#include "util/json.h"

/* JSON's integers are signed here: larger numbers become the largest. */
json_t *json_unsigned(uint64_t value);

/* A member of a document; "", 0 and false where there is none of that type. */
const char *json_text_of(const json_t *object, const char *key); /* borrowed */
long long json_number_of(const json_t *object, const char *key);
bool json_is_set(const json_t *object, const char *key);

/* Each item of a member that is an array. */
#define JSON_EACH(item, object, key)                                                               \
	for (size_t item##_at = 0;                                                                 \
	     ((item) = json_array_get(json_object_get((object), (key)), item##_at)); item##_at++)

/* Prints a document as JSON if that was requested, otherwise by this function. Borrows it. */
int json_show(Client *c, json_t *document, void (*print)(Client *c, const json_t *document));
/* Prints a document to stdout as --json= says; takes the reference. */
int json_print(Client *c, json_t *document);
/* The same on one line, whatever --json= says: one of many documents, for a reader of lines. */
int json_print_line(Client *c, json_t *document);
