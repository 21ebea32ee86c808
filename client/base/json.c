/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include "base/text.h"

json_t *json_unsigned(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

const char *json_text_of(const json_t *object, const char *key)
{
	return str_or_empty(json_string_value(json_object_get(object, key)));
}

long long json_number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

bool json_is_set(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

static int dump(Client *c, json_t *document, size_t form)
{
	int r;

	/* ASCII, so that text from others cannot control the terminal that shows it. */
	r = json_dumpf(document, c->out.stream, JSON_ENSURE_ASCII | form);
	json_decref(document);
	return r < 0 || fputc('\n', c->out.stream) == EOF ? -EIO : 0;
}

int json_print(Client *c, json_t *document)
{
	return dump(c, document, c->options->json == JSON_PRETTY ? JSON_INDENT(2) : JSON_COMPACT);
}

int json_print_line(Client *c, json_t *document)
{
	return dump(c, document, JSON_COMPACT);
}

int json_show(Client *c, json_t *document, void (*print)(Client *c, const json_t *document))
{
	if (c->options->json != JSON_OFF)
		return json_print(c, json_incref(document));
	print(c, document);
	return 0;
}
