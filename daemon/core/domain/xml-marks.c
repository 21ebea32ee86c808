/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/xml-marks.h"

#include <string.h>

#include "util/text.h"

char *alias_stem(const char *group)
{
	char *stem = malloc(strlen(ALIAS_PREFIX) + 2 * strlen(group) + sizeof("-"));
	char *end;

	if (!stem)
		return NULL;
	end = stpcpy(stem, ALIAS_PREFIX);
	for (; *group; group++) {
		if (*group == '_' || *group == '.')
			*end++ = '_';
		*end++ = *group == '.' ? 'd' : *group;
	}
	*end++ = '-';
	*end = '\0';
	return stem;
}

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
