/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/export.h"

#include <ctype.h>

#include "base/text.h"
#include "util/xalloc.h"

size_t export_gpus(const Export *e)
{
	return COUNT(e->groups, e->n_groups, it->n_gpus);
}

const ExportGpu *export_gpu(const Export *e, size_t i)
{
	for (size_t g = 0; g < e->n_groups; g++) {
		if (i < e->groups[g].n_gpus)
			return &e->groups[g].gpus[i];
		i -= e->groups[g].n_gpus;
	}
	return NULL;
}

#include "export.inc"

/* ---- texts ---- */

static bool is_plain(char c, const char *others)
{
	return isascii((unsigned char)c) && (isalnum((unsigned char)c) || strchr(others, c));
}

static char *plain(const char *text, const char *others, char instead)
{
	char *copy = xstrdup(text);

	for (char *c = copy; *c; c++)
		if (!is_plain(*c, others))
			*c = instead;
	return copy;
}

char *export_plain_name(const char *text)
{
	return plain(text, "._-", '_');
}

char *export_plain_text(const char *text)
{
	return plain(text, " .,/()+-", '?');
}

char *export_word(const char *text)
{
	char *word = xstrdup(text), *end = word;

	for (; *text; text++) {
		if (is_plain(*text, ""))
			*end++ = *text;
		else if (end > word && end[-1] != '_')
			*end++ = '_';
	}
	if (end > word && end[-1] == '_')
		end--;
	*end = '\0';
	return word;
}

char *export_capitals(const char *text)
{
	char *word = export_word(text);

	for (char *c = word; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return word;
}
