/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/xml-marks.h"

#include <string.h>

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
