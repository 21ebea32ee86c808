/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/text.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "util/xalloc.h"

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

static void print_without_dashes(FILE *to, const char *text)
{
	for (const char *c = text; *c; c++)
		fputc(c > text && c[0] == '-' && c[-1] == '-' ? '?' : *c, to);
}

void export_print_groups(FILE *to, const Export *e, const char *sign)
{
	for (size_t i = 0; i < e->n_groups; i++) {
		const ExportGroup *group = &e->groups[i];

		fputs(sign, to);
		print_without_dashes(to, group->name);
		fprintf(to, ": %zu x ", group->n_gpus);
		print_without_dashes(to, group->model);
		if (group->links > 0)
			fprintf(to, ", %u NVLinks between each two", group->links);
		fputs(group->held ? "; gpupass has assigned it to a domain\n" : "\n", to);
	}
	for (size_t i = 0; i < strv_length(e->left_out); i++) {
		fputs(sign, to);
		print_without_dashes(to, e->left_out[i]);
		fputs(": left out, since it is not known to be whole now\n", to);
	}
}
