/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small grammars, and the difference of two texts: what is taken is written so that it reads as the
 * same, words that others choose stay one word, and a difference turns the one text into the other.
 */
#include "../unit/rig/text-diff.h"
#include "core/base/group-name.h"
#include "core/domain/ref.h"
#include "core/domain/xml-tree.h"
#include "core/links/declaration.h"
#include "core/links/evidence.h"
#include "core/pci/driver-name.h"
#include "core/pci/host-facts.h"
#include "fuzz.h"
#include "util/bdf.h"
#include "util/text.h"

/* ---- addresses, numbers, sets ---- */

static void addresses(const char *text)
{
	Bdf bdf = { 0x12345678, 1, 2, 3 }, again;
	const Bdf before = bdf;

	if (bdf_parse(text, &bdf) < 0) {
		EXPECT(bdf_equal(&bdf, &before));
		return;
	}
	EXPECT(bdf.device < 32 && bdf.function < 8);
	EXPECT(bdf_parse(BDF_TEXT(&bdf), &again) == 0 && bdf_equal(&bdf, &again));
	EXPECT(bdf_compare(&bdf, &again) == 0);
}

static void numbers(const char *text)
{
	unsigned long long number = 7, again;
	_cleanup_free_ char *written = NULL;

	if (str_to_unsigned(text, 10, UINT32_MAX, &number) < 0) {
		EXPECT(number == 7);
		return;
	}
	EXPECT(number <= UINT32_MAX);
	written = strf("%llu", number);
	EXPECT(str_to_unsigned(written, 10, UINT32_MAX, &again) == 0 && again == number);
}

static void cpu_sets(const char *text)
{
	_cleanup_free_ char *written = strdup("");
	CpuSet set, again;
	unsigned n = 0;

	EXPECT(written);
	if (cpu_set_parse(text, &set) < 0)
		return;
	for (unsigned i = 0; i < HOST_CPUS_MAX && n < 64; i++)
		if (cpu_set_has(&set, i)) {
			char *longer = strf("%s%s%u", written, n++ ? "," : "", i);

			free(written);
			written = longer;
		}
	if (n == 0 || n != cpu_set_count(&set))
		return;
	EXPECT(cpu_set_parse(written, &again) == 0);
	EXPECT(cpu_set_within(&set, &again) && cpu_set_within(&again, &set));
}

/* ---- names ---- */

static void names(const char *text)
{
	static const char uuid[] = "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242";
	_cleanup_free_ char *printable = str_printable(text);
	const char *word = domain_ref_word(text, uuid);
	char form[DOMAIN_UUID_SIZE] = "", again[DOMAIN_UUID_SIZE];

	EXPECT(strlen(printable) == strlen(text));
	for (const char *c = printable; *c; c++)
		EXPECT(*c >= ' ' && *c <= '~');
	/* One word of a shell, which is no option, and no other domain. */
	EXPECT(*word && *word != '-' && !strpbrk(word, " \t\n'\"\\$`;&|<>()*?[]{}~#!"));
	if (domain_uuid_parse(text, form)) {
		EXPECT(word == uuid);
		EXPECT(domain_uuid_parse(form, again) && strcmp(form, again) == 0);
	}
	EXPECT(!evidence_text_valid(text) || strcmp(text, printable) == 0);
	EXPECT(!group_name_valid(text) ||
	       (strlen(text) <= GROUP_NAME_MAX && text[0] != '.' && !strpbrk(text, "/ \n")));
}

/* Names of two groups never give marks of which one counts as the other's. */
static void marks(const char *text)
{
	_cleanup_free_ char *one = strndup(text, strcspn(text, "\n"));
	const char *other = strchr(text, '\n');
	_cleanup_free_ char *stem = NULL, *second = NULL, *alias = NULL;

	if (!other || !group_name_valid(one) || !group_name_valid(other + 1))
		return;
	stem = domain_alias_stem(one);
	second = domain_alias_stem(other + 1);
	alias = strf("%s12", stem);
	EXPECT(stem && second);
	EXPECT(alias[strspn(alias, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-")] == '\0');
	EXPECT(alias_is(alias, stem, ""));
	EXPECT(alias_is(alias, second, "") == (strcmp(one, other + 1) == 0));
}

/* ---- differences ---- */

/* Appends the line at *from with its newline, and goes on behind it. */
static void take_line(FILE *to, const char **from)
{
	size_t n = strcspn(*from, "\n");

	fprintf(to, "%.*s\n", (int)n, *from);
	*from += n + ((*from)[n] == '\n');
}

/* Goes to the line where the hunk that is headed so begins, and takes those before it. */
static void go_to_hunk(FILE *to, const char *head, const char **at, unsigned *line)
{
	unsigned from = 0, n = 1;

	EXPECT(sscanf(head, "@@ -%u,%u", &from, &n) >= 1);
	/* An empty range is behind the line that it names. */
	for (from += n == 0; *line < from && **at; (*line)++)
		take_line(to, at);
}

/* Makes `after` of `before` by the hunks. What they say of `before` must be so. */
static char *apply(const char *before, const char *diff)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	const char *at = before, *next;
	unsigned line = 1;

	EXPECT(f);
	for (const char *d = diff; *d; d = next) {
		const char *rest = d + 1;
		size_t n = strcspn(rest, "\n");

		next = rest + n + (rest[n] == '\n');
		if (*d == '@') {
			go_to_hunk(f, d, &at, &line);
		} else if (*d == '+') {
			take_line(f, &rest);
		} else {
			EXPECT((*d == ' ' || *d == '-') && strncmp(at, rest, n + 1) == 0);
			if (*d == ' ')
				take_line(f, &rest);
			at += n + 1;
			line++;
		}
	}
	while (*at)
		take_line(f, &at);
	EXPECT(fclose(f) == 0);
	return text;
}

/* The two texts are separated by a line "=". Both get a newline at their end. */
static void differences(const char *text)
{
	const char *middle = strstr(text, "\n=\n");
	_cleanup_free_ char *before = NULL, *after = NULL, *diff = NULL, *made = NULL;
	_cleanup_(diff_lines_clear) DiffLines a = { 0 }, b = { 0 };
	const char *hunks;

	if (!middle)
		return;
	before = strf("%.*s\n", (int)(middle - text), text);
	after = strf("%s\n", middle + 3);
	a = diff_lines_of(before);
	b = diff_lines_of(after);
	diff = text_diff_lines(&a, &b);
	if (!diff)
		return; /* too far apart */
	EXPECT((*diff == '\0') == (strcmp(before, after) == 0));
	hunks = strstr(diff, "\n@@");
	if (!hunks)
		return;
	made = apply(before, hunks + 1);
	EXPECT_SAME_TEXT(made, after);
}

/* promise T3 */
void fuzz_one(_unused_ const char *bytes, _unused_ size_t size, const char *text)
{
	addresses(text);
	numbers(text);
	cpu_sets(text);
	names(text);
	marks(text);
	differences(text);
}
