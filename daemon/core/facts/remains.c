/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/remains.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/base/group-name.h"
#include "core/facts/assignment.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

void remains_clear(Remains *remains)
{
	free(remains->functions);
	free(remains->group);
	free(remains->domain_uuid);
	*remains = (Remains){ 0 };
}

static void forget_functions(Remains *remains)
{
	free(remains->functions);
	remains->functions = NULL;
	remains->n_functions = 0;
}

/* -E2BIG: more functions than a group can have. */
static int remains_add(Remains *remains, const Bdf *bdf)
{
	if (bdf_in(bdf, remains->functions, remains->n_functions))
		return 0;
	if (remains->n_functions == REMAINS_FUNCTIONS_MAX)
		return -E2BIG;
	if (!remains->functions)
		remains->functions = xcalloc(REMAINS_FUNCTIONS_MAX, sizeof(Bdf));
	remains->functions[remains->n_functions++] = *bdf;
	return 0;
}

static bool is_part_of_address(char c)
{
	return isxdigit((unsigned char)c) || c == ':' || c == '.';
}

/*
 * Takes a word of these characters. The kernel's form has a segment; without that condition
 * "12:30:01.5" would be an address.
 */
static int take_word(const char *word, size_t length, Remains *ret)
{
	char text[BDF_TEXT_MAX];
	Bdf bdf;

	if (length < strlen("0000:00:00.0") || length >= sizeof(text))
		return 0;
	memcpy(text, word, length);
	text[length] = '\0';
	return bdf_parse(text, &bdf) < 0 ? 0 : remains_add(ret, &bdf);
}

Remains remains_scan(const char *text, size_t size)
{
	Remains found = { 0 };
	int r = 0;

	for (size_t i = 0, length; r == 0 && i < size; i += length + 1) {
		for (length = 0; i + length < size && is_part_of_address(text[i + length]);)
			length++;
		r = take_word(text + i, length, &found);
	}
	if (r < 0)
		forget_functions(&found);
	return found;
}

static const char *address_of(const json_t *item)
{
	const json_t *address = item;

	if (json_is_object(item)) {
		address = json_object_get(item, "bdf");
		if (!address)
			address = json_object_get(item, "address");
	}
	return json_string_value(address);
}

static char *copy_member(const json_t *object, const char *key, bool (*valid)(const char *))
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && valid(text) ? xstrdup(text) : NULL;
}

Remains remains_of_object(const json_t *object)
{
	const json_t *functions = json_object_get(object, "functions");
	Remains found = {
		.group = copy_member(object, "group", group_name_valid),
		.domain_uuid = copy_member(object, "domain_uuid", assignment_uuid_valid),
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(functions); i++) {
		const char *text = address_of(json_array_get(functions, i));
		Bdf bdf;

		r = text && bdf_parse(text, &bdf) >= 0 ? remains_add(&found, &bdf) : -EBADMSG;
	}
	if (r < 0)
		forget_functions(&found);
	return found;
}
