/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/document.h"

#include "base/json.h"
#include "base/text.h"

/* A pair of GPUs takes 150 bytes in the topology; the largest hosts have a few dozen GPUs. */
#define DOCUMENT_MAX (16U * 1024 * 1024)

static int bad(Client *c, const DocumentKind *kind, const char *how)
{
	_cleanup_free_ char *text = strf("%s %s", kind->what, how);

	return bus_bad_reply(c, text);
}

static int not_json(Client *c, const DocumentKind *kind, const json_error_t *error)
{
	_cleanup_free_ char *clean = text_printable(error->text);
	_cleanup_free_ char *how = strf("is not JSON: line %d: %s", error->line, clean);

	return bad(c, kind, how);
}

static void clean(json_t *value, const char *lines, bool has_lines)
{
	const char *text = json_string_value(value), *key;
	json_t *inner;

	if (text) {
		_cleanup_free_ char *safe =
			has_lines ? text_printable_lines(text) : text_printable(text);

		json_string_set_nocheck(value, safe);
	}
	for (size_t i = 0; (inner = json_array_get(value, i)); i++)
		clean(inner, lines, false);
	json_object_foreach (value, key, inner)
		clean(inner, lines, str_equal(key, lines));
}

void document_clean(json_t *document)
{
	clean(document, NULL, false);
}

int document_parse(Client *c, const char *text, const DocumentKind *kind, json_t **ret)
{
	_cleanup_(json_decrefp) json_t *document = NULL;
	_cleanup_free_ char *other = NULL;
	json_error_t error;

	if (strlen(text) > DOCUMENT_MAX)
		return bad(c, kind, "is larger than 16 MiB");
	document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!document)
		return not_json(c, kind, &error);
	if (strcmp(json_text_of(document, "schema"), kind->schema) != 0) {
		other = strf("is not of the schema %s", kind->schema);
		return bad(c, kind, other);
	}
	if (kind->list && !json_is_array(json_object_get(document, kind->list)))
		return bad(c, kind, "lacks its list");
	if (!kind->raw && c->options->json == JSON_OFF)
		clean(document, kind->lines, false);
	*ret = TAKE_PTR(document);
	return 0;
}

int document_call(Client *c, sd_bus_message *call, uint64_t timeout_usec, const DocumentKind *kind,
		  json_t **ret)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	const char *text;
	int r = bus_call(c, call, timeout_usec, "s", &reply);

	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "s", &text);
	return r < 0 ? bus_bad_reply(c, strerror(-r)) : document_parse(c, text, kind, ret);
}

int document_get(Client *c, const char *member, uint64_t timeout_usec, const DocumentKind *kind,
		 json_t **ret)
{
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = bus_new_manager_call(c, member, &call, "a{sv}", 0);

	return r < 0 ? r : document_call(c, call, timeout_usec, kind, ret);
}
