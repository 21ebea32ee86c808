/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Myers' greedy algorithm (An O(ND) Difference Algorithm and Its Variations, 1986). It keeps the
 * furthest reach on each diagonal for every number of edits d, and reads the script back from them.
 * Time and memory grow with d squared, so d is bounded.
 */
#include "util/text-diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util/xalloc.h"

#define EDITS_MAX 1000

#include "text-diff.inc"

typedef struct Line {
	const char *text;
	size_t length;
	const DiffLine *shown; /* NULL: the text itself */
} Line;

typedef struct Lines {
	Line *items;
	long n;
} Lines;

typedef struct Diff {
	Lines before, after;
	bool *removed;		       /* of the lines before */
	bool *added;		       /* of the lines after */
	int32_t *trace[EDITS_MAX + 1]; /* for each d: reach on diagonals -d … d */
} Diff;

static void split_lines(const char *text, Lines *ret)
{
	size_t n = 0;

	for (const char *s = text; *s; n++) {
		const char *end = strchr(s, '\n');

		s = end ? end + 1 : s + strlen(s);
	}
	ret->items = xcalloc(n + 1, sizeof(Line));
	for (; *text; ret->n++) {
		const char *end = strchrnul(text, '\n');

		ret->items[ret->n] = (Line){ .text = text, .length = (size_t)(end - text) };
		text = *end ? end + 1 : end;
	}
}

static bool same_line(const Diff *diff, long x, long y)
{
	const Line *a = &diff->before.items[x], *b = &diff->after.items[y];

	return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/*
 * The x that d edits reach on diagonal k, from what d-1 edits reached on the diagonals beside it.
 */
static long step_from(const int32_t *previous, long d, long k, bool *ret_down)
{
	/* previous[] starts at diagonal -(d-1). */
	const int32_t *at = previous + (d - 1);

	*ret_down = k == -d || (k != d && at[k - 1] < at[k + 1]);
	return *ret_down ? at[k + 1] : at[k - 1] + 1;
}

static long slide(const Diff *diff, long x, long k)
{
	while (x < diff->before.n && x - k < diff->after.n && same_line(diff, x, x - k))
		x++;
	return x;
}

/*
 * The number of edits; -1 when it is over the bound. Stores all diagonals (-d … d), though those of
 * the wrong parity are unused.
 */
static long find_script(Diff *diff)
{
	for (long d = 0; d <= EDITS_MAX; d++) {
		int32_t *reach = diff->trace[d] = xmalloc((size_t)(2 * d + 1) * sizeof(int32_t));

		for (long k = -d; k <= d; k += 2) {
			bool down;
			long x = d == 0 ? 0 : step_from(diff->trace[d - 1], d, k, &down);

			x = slide(diff, x, k);
			reach[d + k] = (int32_t)x;
			if (x >= diff->before.n && x - k >= diff->after.n)
				return d;
		}
	}
	return -1;
}

static void mark_script(Diff *diff, long d)
{
	long x = diff->before.n, y = diff->after.n;

	for (; d > 0; d--) {
		long k = x - y, start;
		bool down;

		start = step_from(diff->trace[d - 1], d, k, &down);
		if (down) {
			x = start;
			y = x - (k + 1);
			diff->added[y] = true;
		} else {
			x = start - 1;
			y = x - (k - 1);
			diff->removed[x] = true;
		}
	}
}

static void mark_all(Diff *diff)
{
	memset(diff->removed, true, (size_t)diff->before.n);
	memset(diff->added, true, (size_t)diff->after.n);
}

static bool has_changed_line(const Lines *lines, const bool *changed, const Line *line)
{
	for (long i = 0; i < lines->n; i++)
		if (changed[i] && lines->items[i].length == line->length &&
		    memcmp(lines->items[i].text, line->text, line->length) == 0)
			return true;
	return false;
}

static bool was_moved(const Diff *diff, char sign, const Line *line)
{
	return sign == '-' ? has_changed_line(&diff->after, diff->added, line)
			   : has_changed_line(&diff->before, diff->removed, line);
}

static void print_line(FILE *f, const Diff *diff, char sign, const Line *line)
{
	fputc(sign, f);
	if (line->shown)
		fputs(sign == ' ' || was_moved(diff, sign, line) ? line->shown->beside
								 : line->shown->changed,
		      f);
	else
		fwrite(line->text, 1, line->length, f);
	fputc('\n', f);
}

/* For an empty range, diff(1) prints the number of the line before it. */
static void print_range(FILE *f, char sign, long from, long n)
{
	fprintf(f, "%c%ld", sign, n > 0 ? from + 1 : from);
	if (n != 1)
		fprintf(f, ",%ld", n);
}

/* Walks both texts to the next change at or after (x, y); false at the end. */
static bool next_change(const Diff *diff, long *x, long *y)
{
	while (*x < diff->before.n || *y < diff->after.n) {
		if ((*x < diff->before.n && diff->removed[*x]) ||
		    (*y < diff->after.n && diff->added[*y]))
			return true;
		(*x)++;
		(*y)++;
	}
	return false;
}

static void skip_change(const Diff *diff, long *x, long *y)
{
	while (*x < diff->before.n && diff->removed[*x])
		(*x)++;
	while (*y < diff->after.n && diff->added[*y])
		(*y)++;
}

/* The end of the hunk that starts at a change: changes closer than two contexts are one hunk. */
static void hunk_end(const Diff *diff, long *x, long *y)
{
	long nx, ny;

	do {
		skip_change(diff, x, y);
		nx = *x;
		ny = *y;
	} while (next_change(diff, &nx, &ny) && nx - *x <= 2 * TEXT_DIFF_CONTEXT &&
		 (*x = nx, *y = ny, true));
}

static void print_hunk(FILE *f, const Diff *diff, long x, long y, long x_end, long y_end)
{
	fputs("@@ ", f);
	print_range(f, '-', x, x_end - x);
	fputc(' ', f);
	print_range(f, '+', y, y_end - y);
	fputs(" @@\n", f);
	while (x < x_end || y < y_end) {
		if (x < x_end && diff->removed[x]) {
			print_line(f, diff, '-', &diff->before.items[x++]);
		} else if (y < y_end && diff->added[y]) {
			print_line(f, diff, '+', &diff->after.items[y++]);
		} else {
			print_line(f, diff, ' ', &diff->before.items[x++]);
			y++;
		}
	}
}

static long min(long a, long b)
{
	return a < b ? a : b;
}

static void print_diff(FILE *f, const Diff *diff)
{
	long x = 0, y = 0;

	if (!next_change(diff, &x, &y))
		return;
	fputs("--- before\n+++ after\n", f);
	do {
		long lead = min(min(x, y), TEXT_DIFF_CONTEXT), tail;
		long x_from = x - lead, y_from = y - lead;

		hunk_end(diff, &x, &y);
		tail = min(min(diff->before.n - x, diff->after.n - y), TEXT_DIFF_CONTEXT);
		print_hunk(f, diff, x_from, y_from, x + tail, y + tail);
	} while (next_change(diff, &x, &y));
}

/* false: the script is over the bound. */
static bool diff_find(Diff *diff)
{
	long d;

	diff->removed = xcalloc((size_t)diff->before.n + 1, sizeof(bool));
	diff->added = xcalloc((size_t)diff->after.n + 1, sizeof(bool));
	d = find_script(diff);
	if (d >= 0)
		mark_script(diff, d);
	return d >= 0;
}

static void diff_done(Diff *diff)
{
	for (size_t i = 0; i < ELEMENTS(diff->trace); i++)
		free(diff->trace[i]);
	free(diff->before.items);
	free(diff->after.items);
	free(diff->removed);
	free(diff->added);
}

static char *diff_to_text(const Diff *diff)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = xmemstream(&text, &size);

	print_diff(f, diff);
	xmemstream_end(&f);
	return text;
}

char *text_diff(const char *before, const char *after)
{
	Diff diff = { 0 };
	char *text;

	split_lines(before, &diff.before);
	split_lines(after, &diff.after);
	if (!diff_find(&diff))
		mark_all(&diff);
	text = diff_to_text(&diff);
	diff_done(&diff);
	return text;
}

static void take_lines(const DiffLines *lines, Lines *ret)
{
	ret->items = xcalloc(lines->n_items + 1, sizeof(Line));
	for (size_t i = 0; i < lines->n_items; i++)
		ret->items[i] = (Line){ .text = lines->items[i].key,
					.length = strlen(lines->items[i].key),
					.shown = &lines->items[i] };
	ret->n = (long)lines->n_items;
}

char *text_diff_lines(const DiffLines *before, const DiffLines *after)
{
	Diff diff = { 0 };
	char *text;

	take_lines(before, &diff.before);
	take_lines(after, &diff.after);
	text = diff_find(&diff) ? diff_to_text(&diff) : NULL;
	diff_done(&diff);
	return text;
}
