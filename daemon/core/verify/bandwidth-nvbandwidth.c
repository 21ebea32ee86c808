/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nvbandwidth. Its forms are those of output.cpp and json_output.cpp of its version 0.8. */
#include <stdlib.h>
#include <string.h>

#include "core/verify/bandwidth-text.h"
#include "core/verify/nvidia-smi-text.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

static const char test_name[] = "device_to_device_memcpy_read_ce";

/* "NVIDIA A100-SXM4-80GB (00000000:34:00)": the last parenthesis, since a name may have one. */
static int read_device(char *text, Bandwidth *into)
{
	char *open = strrchr(text, '('), *close = open ? strchr(open, ')') : NULL;
	_cleanup_free_ char *address = NULL;
	Bdf bdf;

	/* Versions before 0.7 print the name alone. */
	if (!open || !strchr(open, ':'))
		return bandwidth_add_gpu(into, NULL);
	if (!close || close[1])
		return -EBADMSG;
	*close = '\0';
	address = strf("%s.0", open + 1);
	if (bdf_parse(address, &bdf) < 0)
		return -EBADMSG;
	return bandwidth_add_gpu(into, &bdf);
}

/* "0: NAME (…)" of the text, with a number that counts. `rest` is what stands behind the colon. */
static int read_numbered(char *text, size_t number, char **ret_rest)
{
	char *colon = strchr(text, ':');
	unsigned n;

	if (!colon)
		return -EBADMSG;
	*colon = '\0';
	if (smi_number(text, BANDWIDTH_GPUS_MAX, &n) < 0 || n != number)
		return -EBADMSG;
	*ret_rest = str_strip(colon + 1);
	return 0;
}

/* "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)": does a row copy to its columns? */
static int read_direction(const char *text, bool *ret_row_to_column)
{
	if (!str_starts_with(text, "memcpy CE GPU(row) ") || !strstr(text, "(GB/s)"))
		return -EBADMSG;
	text += strlen("memcpy CE GPU(row) ");
	*ret_row_to_column = str_starts_with(text, "-> GPU(column)");
	return *ret_row_to_column || str_starts_with(text, "<- GPU(column)") ? 0 : -EBADMSG;
}

static void take_table(const BandwidthTable *table, bool row_to_column, Bandwidth *into)
{
	for (size_t r = 0; r < table->n_gpus; r++)
		for (size_t c = 0; c < table->n_gpus; c++) {
			BandwidthPath *path =
				row_to_column ? &into->paths[r][c] : &into->paths[c][r];

			if (r == c)
				continue;
			path->mbps = table->cells[r][c];
			path->no_peer = path->mbps == 0;
		}
}

/* It waives a test when no GPU reaches another's memory. */
static void take_waiver(Bandwidth *into)
{
	for (size_t a = 0; a < into->n_gpus; a++)
		for (size_t b = 0; b < into->n_gpus; b++)
			into->paths[a][b].no_peer = a != b;
}

typedef struct TextReader {
	Bandwidth found;
	BandwidthTable table;
	bool running, described, row_to_column, waived;
} TextReader;

/* A line inside of the test, after "Running …". */
static int read_test_line(TextReader *t, char *line)
{
	if (t->described && !bandwidth_table_whole(&t->table))
		return bandwidth_is_row(line, NULL) ? bandwidth_table_line(&t->table, NULL, line)
						    : 0;
	if (t->described)
		return 0; /* the sum, and what newer versions add */
	if (str_starts_with(line, "memcpy ")) {
		t->described = true;
		return read_direction(line, &t->row_to_column);
	}
	return 0;
}

/* It runs no test that it waives, and was asked for one. */
static bool is_waiver(const char *line)
{
	static const struct {
		const char *words, *versions;
	} waivers[] = {
		{ "Waiving device_to_device_memcpy_read_ce", "0.1 to 0.4" },
		{ "Waived:", "0.5 to 0.8" },
	};

	for (size_t i = 0; i < ELEMENTS(waivers); i++)
		if (str_starts_with(line, waivers[i].words))
			return true;
	return false;
}

static int read_text_line(TextReader *t, char *line)
{
	char *name;
	int r;

	if (!*line)
		return 0;
	if (str_starts_with(line, "Device ")) {
		r = read_numbered(line + strlen("Device "), t->found.n_gpus, &name);
		return r < 0 ? r : read_device(name, &t->found);
	}
	if (str_starts_with(line, "Running ")) {
		/* One test was asked for. */
		if (t->running || !str_starts_with(line + strlen("Running "), test_name))
			return -EBADMSG;
		t->running = true;
		return 0;
	}
	if (is_waiver(line))
		t->running = t->waived = true;
	return t->running ? read_test_line(t, line) : 0;
}

static int read_text(char *text, Bandwidth *ret)
{
	_cleanup_free_ TextReader *t = xcalloc(1, sizeof(TextReader));
	char *rest = text, *line;
	int r = 0;

	while (r == 0 && (line = smi_next_line(&rest)))
		r = read_text_line(t, str_strip(line));
	if (r < 0)
		return r;
	if (!t->running || t->found.n_gpus == 0)
		return -EBADMSG;
	if (t->waived)
		take_waiver(&t->found);
	else if (bandwidth_table_whole(&t->table) && t->table.n_gpus == t->found.n_gpus)
		take_table(&t->table, t->row_to_column, &t->found);
	else
		return -EBADMSG;
	*ret = t->found;
	return 0;
}

/* --- JSON --- */

static int read_device_list(const json_t *root, Bandwidth *into)
{
	const json_t *list = json_object_get(root, "GPU Device list"), *item;
	size_t i;

	/* Versions before 0.8 have none. */
	json_array_foreach (list, i, item) {
		_cleanup_free_ char *text = xstrdup(json_string_value(item)); /* NULL: no string */
		char *name, *host;
		int r;

		if (!text)
			return -EBADMSG;
		/* "0: NVIDIA H100 NVL (00000000:01:00): (host)" */
		host = strstr(text, "): (");
		if (host)
			host[1] = '\0';
		r = read_numbered(text, i, &name);
		if (r == 0)
			r = read_device(name, into);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_json_row(const json_t *row, size_t r, BandwidthTable *table)
{
	const json_t *cell;
	size_t c;

	if (!json_is_array(row) || json_array_size(row) != table->n_gpus)
		return -EBADMSG;
	json_array_foreach (row, c, cell) {
		const char *text = json_string_value(cell);

		if (!text ||
		    (strcmp(text, "N/A") != 0 && bandwidth_rate(text, &table->cells[r][c]) < 0))
			return -EBADMSG;
	}
	return 0;
}

static int read_json_table(const json_t *test, Bandwidth *into)
{
	const json_t *matrix = json_object_get(test, "bandwidth_matrix"), *row;
	const char *description = NULL;
	_cleanup_free_ BandwidthTable *table = xcalloc(1, sizeof(BandwidthTable));
	bool row_to_column;
	size_t r;

	table->n_gpus = json_array_size(matrix);
	if (table->n_gpus == 0 || table->n_gpus > BANDWIDTH_GPUS_MAX ||
	    json_get_string(test, "bandwidth_description", &description) < 0 ||
	    read_direction(description, &row_to_column) < 0)
		return -EBADMSG;
	while (into->n_gpus < table->n_gpus && !into->addressed)
		if (bandwidth_add_gpu(into, NULL) < 0)
			return -EBADMSG;
	if (into->n_gpus != table->n_gpus)
		return -EBADMSG;
	json_array_foreach (matrix, r, row)
		if (read_json_row(row, r, table) < 0)
			return -EBADMSG;
	take_table(table, row_to_column, into);
	return 0;
}

static int read_json_test(const json_t *test, Bandwidth *into)
{
	const char *name = NULL, *status = NULL;

	if (json_get_string(test, "name", &name) < 0 || strcmp(name, test_name) != 0 ||
	    json_get_string(test, "status", &status) < 0)
		return -EBADMSG;
	if (strcmp(status, "Passed") == 0)
		return read_json_table(test, into);
	if (strcmp(status, "Waived") == 0 && into->n_gpus > 0) {
		take_waiver(into);
		return 0;
	}
	return -EBADMSG;
}

static int read_json(const char *text, Bandwidth *ret)
{
	_cleanup_json_ json_t *document = NULL;
	_cleanup_free_ Bandwidth *found = xcalloc(1, sizeof(Bandwidth));
	const json_t *root, *tests;
	int r;

	r = json_parse(text, strlen(text), &document, NULL);
	if (r < 0)
		return r;
	root = json_object_get(document, "nvbandwidth");
	tests = json_object_get(root, "testcases");
	if (json_array_size(tests) != 1)
		return -EBADMSG;
	r = read_device_list(root, found);
	if (r == 0)
		r = read_json_test(json_array_get(tests, 0), found);
	if (r == 0)
		*ret = *found;
	return r;
}

/*
 * The document begins with a line of its own, in the first column, and ends with one: CUDA's
 * printf() and preloaded libraries print before and behind it. NULL: there is none.
 */
static char *find_document(char *text)
{
	char *start = *text == '{' ? text : strstr(text, "\n{"), *end;

	if (!start)
		return NULL;
	start += *start == '\n';
	end = strstr(start, "\n}");
	if (end)
		end[2] = '\0';
	return start;
}

int bandwidth_parse_nvbandwidth(const char *text, size_t size, Bandwidth *ret)
{
	_cleanup_free_ char *copy = NULL;
	char *document;
	int r = smi_clean(text, size, &copy);

	if (r < 0)
		return r;
	document = find_document(copy);
	return document ? read_json(document, ret) : read_text(copy, ret);
}
