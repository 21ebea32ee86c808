/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

json_t *json_unsigned(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *json_strings(char *const *l)
{
	_cleanup_(json_decrefp) json_t *array = json_array();

	for (size_t i = 0; l && l[i]; i++)
		if (json_array_append_new(array, json_string(l[i])) < 0)
			return NULL;
	return TAKE_PTR(array);
}

int json_print(Client *c, json_t *document)
{
	/* ASCII, so that text from others cannot control the terminal that shows it. */
	size_t flags = JSON_ENSURE_ASCII;
	int r;

	if (!document)
		return -ENOMEM;
	flags |= c->options->json == JSON_PRETTY ? JSON_INDENT(2) : JSON_COMPACT;
	r = json_dumpf(document, c->out.stream, flags);
	json_decref(document);
	if (r < 0 || fputc('\n', c->out.stream) == EOF)
		return -EIO;
	return 0;
}
