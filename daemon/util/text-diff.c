/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Myers' greedy algorithm (An O(ND) Difference Algorithm and Its Variations, 1986). It keeps the
 * furthest reach on each diagonal for every number of edits d, and reads the script back from them.
 * Time and memory grow with d squared, so d is bounded.
 */
#include "util/text-diff.h"

#include <stdint.h>

#include "util/xalloc.h"

#define EDITS_MAX 1000
#define TEXT_DIFF_CONTEXT 3

#include "text-diff.inc"

typedef struct Diff {
	const DiffLines *before, *after;
	long n_before, n_after;
	bool *removed;		       /* of the lines before */
	bool *added;		       /* of the lines after */
	int32_t *trace[EDITS_MAX + 1]; /* for each d: reach on diagonals -d … d */
} Diff;

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
	const DiffLine *before = diff->before->items, *after = diff->after->items;

	while (x < diff->n_before && x - k < diff->n_after &&
	       strcmp(before[x].key, after[x - k].key) == 0)
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
			if (x >= diff->n_before && x - k >= diff->n_after)
				return d;
		}
	}
	return -1;
}

static void mark_script(Diff *diff, long d)
{
	long x = diff->n_before, y = diff->n_after;

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

static bool has_changed_line(const DiffLines *lines, const bool *changed, const DiffLine *line)
{
	for (size_t i = 0; i < lines->n_items; i++)
		if (changed[i] && strcmp(lines->items[i].key, line->key) == 0)
			return true;
	return false;
}

static bool was_moved(const Diff *diff, char sign, const DiffLine *line)
{
	return sign == '-' ? has_changed_line(diff->after, diff->added, line)
			   : has_changed_line(diff->before, diff->removed, line);
}

static void print_line(FILE *f, const Diff *diff, char sign, const DiffLine *line)
{
	fprintf(f, "%c%s\n", sign,
		sign == ' ' || was_moved(diff, sign, line) ? line->beside : line->changed);
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
	while (*x < diff->n_before || *y < diff->n_after) {
		if ((*x < diff->n_before && diff->removed[*x]) ||
		    (*y < diff->n_after && diff->added[*y]))
			return true;
		(*x)++;
		(*y)++;
	}
	return false;
}

static void skip_change(const Diff *diff, long *x, long *y)
{
	while (*x < diff->n_before && diff->removed[*x])
		(*x)++;
	while (*y < diff->n_after && diff->added[*y])
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
			print_line(f, diff, '-', &diff->before->items[x++]);
		} else if (y < y_end && diff->added[y]) {
			print_line(f, diff, '+', &diff->after->items[y++]);
		} else {
			print_line(f, diff, ' ', &diff->before->items[x++]);
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
		tail = min(min(diff->n_before - x, diff->n_after - y), TEXT_DIFF_CONTEXT);
		print_hunk(f, diff, x_from, y_from, x + tail, y + tail);
	} while (next_change(diff, &x, &y));
}

/* false: the script is over the bound. */
static bool diff_find(Diff *diff)
{
	long d;

	diff->removed = xcalloc((size_t)diff->n_before + 1, sizeof(bool));
	diff->added = xcalloc((size_t)diff->n_after + 1, sizeof(bool));
	d = find_script(diff);
	if (d >= 0)
		mark_script(diff, d);
	return d >= 0;
}

static void diff_done(Diff *diff)
{
	for (size_t i = 0; i < ELEMENTS(diff->trace); i++)
		free(diff->trace[i]);
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

char *text_diff_lines(const DiffLines *before, const DiffLines *after)
{
	Diff diff = {
		before, after, (long)before->n_items, (long)after->n_items, NULL, NULL, { 0 }
	};
	char *text = diff_find(&diff) ? diff_to_text(&diff) : NULL;

	diff_done(&diff);
	return text;
}
