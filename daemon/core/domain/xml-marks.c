/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/xml-marks.h"

#include <string.h>

#include "util/text.h"
#include "util/xalloc.h"

bool alias_is(const char *alias, const char *stem, const char *kind)
{
	size_t n = strlen(stem), k = strlen(kind);

	if (!alias || strncmp(alias, stem, n) != 0 || strncmp(alias + n, kind, k) != 0)
		return false;
	alias += n + k;
	return *alias && alias[strspn(alias, "0123456789")] == '\0';
}

bool alias_is_of_group(const char *alias, const char *group)
{
	if (!alias || !str_starts_with(alias, ALIAS_PREFIX))
		return false;
	alias += strlen(ALIAS_PREFIX);
	for (; *group; group++) {
		if ((*group == '_' || *group == '.') && *alias++ != '_')
			return false;
		if (*alias++ != (*group == '.' ? 'd' : *group))
			return false;
	}
	return *alias == '-';
}

void xml_mark(xmlNode *device, const char *stem, const char *kind, unsigned long number)
{
	xml_set(xml_append(device, "alias"), "name", "%s%s%lu", stem, kind, number);
}

/* The number in an alias of this stem and kind. */
static bool alias_number(const xmlNode *device, const char *stem, const char *kind,
			 unsigned long long *ret)
{
	const char *alias = xml_alias(device);
	size_t n = strlen(stem), k = strlen(kind);

	return alias && strncmp(alias, stem, n) == 0 && strncmp(alias + n, kind, k) == 0 &&
	       str_to_unsigned(alias + n + k, 10, ULONG_MAX, ret) == 0;
}

/* One pass, since others choose the aliases of a domain, and may choose many. */
unsigned long xml_free_mark(const xmlNode *devices, const char *stem, const char *kind,
			    unsigned long from)
{
	_cleanup_free_ bool *taken = NULL;
	unsigned long long number;
	size_t n = 0, at = 0;

	for (xmlNode *i = xml_first(devices); i; i = xml_next(i))
		n++;
	taken = xcalloc(n + 1, sizeof(bool));
	for (xmlNode *i = xml_first(devices); i; i = xml_next(i))
		if (alias_number(i, stem, kind, &number) && number >= from && number - from < n)
			taken[number - from] = true;
	while (taken[at])
		at++;
	return from + at;
}

size_t alias_other_stem(const char *alias, const char *stem)
{
	const char *tail, *number;

	if (!alias || !str_starts_with(alias, ALIAS_PREFIX) || alias_is(alias, stem, "") ||
	    alias_is(alias, stem, ALIAS_PORT))
		return 0;
	tail = strrchr(alias, '-') + 1;
	number = str_starts_with(tail, ALIAS_PORT) ? tail + strlen(ALIAS_PORT) : tail;
	if (!*number || number[strspn(number, "0123456789")] ||
	    tail == alias + strlen(ALIAS_PREFIX))
		return 0;
	return (size_t)(tail - alias);
}
