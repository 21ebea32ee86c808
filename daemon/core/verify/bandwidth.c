/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/bandwidth.h"

#include "core/verify/told.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define WORDS_MAX (BANDWIDTH_GPUS_MAX + 2)
/* Digits before the point, and behind it. */
#define WHOLE_DIGITS_MAX 5
#define PART_DIGITS_MAX 12

/*
 * A table as nvbandwidth and p2pBandwidthLatencyTest print it: a line of column numbers, then a
 * line for each row, which begins with its number.
 */
typedef struct BandwidthTable {
	bool open;     /* the line of column numbers was read */
	size_t n_gpus; /* columns */
	size_t n_rows; /* read so far */
	uint32_t cells[BANDWIDTH_GPUS_MAX][BANDWIDTH_GPUS_MAX]; /* 0: "N/A" */
} BandwidthTable;

/* Splits a line at blanks, in place. The number of words; -EBADMSG when there are too many. */
static int split_words(char *line, char *words[WORDS_MAX])
{
	char *rest = NULL;
	int n = 0;

	for (char *word = strtok_r(line, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		if (n == WORDS_MAX)
			return -EBADMSG;
		words[n++] = word;
	}
	return n;
}

static int read_head(BandwidthTable *table, const char *corner, char **words, int n)
{
	int first = corner ? 1 : 0;

	if (n <= first || n - first > BANDWIDTH_GPUS_MAX ||
	    (corner && strcmp(words[0], corner) != 0))
		return -EBADMSG;
	for (int i = first; i < n; i++) {
		unsigned column;

		if (smi_number(words[i], BANDWIDTH_GPUS_MAX, &column) < 0 ||
		    column != (unsigned)(i - first))
			return -EBADMSG;
	}
	table->n_gpus = (size_t)(n - first);
	table->open = true;
	return 0;
}

/* Its first word is a number, or the corner: it is no line of another program. */
static bool is_row(const char *line, const char *corner)
{
	size_t n = strcspn(line, " \t"), digits = strspn(line, "0123456789");

	return n > 0 &&
	       (digits == n || (corner && strlen(corner) == n && strncmp(line, corner, n) == 0));
}

static int read_rate(const char *text, uint32_t *ret)
{
	return smi_rate(text, WHOLE_DIGITS_MAX, PART_DIGITS_MAX, ret);
}

/* "276.07", or "N/A", which leaves 0. */
static int read_cell(const char *text, uint32_t *ret)
{
	return strcmp(text, "N/A") == 0 ? 0 : read_rate(text, ret);
}

/* Reads the next line of a table. `corner` is the word before the column numbers; NULL: none. */
static int read_table_line(BandwidthTable *table, const char *corner, char *line)
{
	char *words[WORDS_MAX];
	int n = split_words(line, words);
	unsigned row;

	if (n <= 0)
		return -EBADMSG;
	if (!table->open)
		return read_head(table, corner, words, n);
	if (table->n_rows == table->n_gpus || (size_t)n != table->n_gpus + 1 ||
	    smi_number(words[0], BANDWIDTH_GPUS_MAX, &row) < 0 || row != table->n_rows)
		return -EBADMSG;
	for (size_t i = 0; i < table->n_gpus; i++)
		if (read_cell(words[i + 1], &table->cells[row][i]) < 0)
			return -EBADMSG;
	table->n_rows++;
	return 0;
}

/* It has all its rows. */
static bool is_whole(const BandwidthTable *table)
{
	return table->open && table->n_rows == table->n_gpus;
}

/* Notes the address of the next GPU; NULL: it was not told. */
static int add_gpu(Bandwidth *into, const Bdf *address)
{
	if (into->n_gpus == BANDWIDTH_GPUS_MAX)
		return -EBADMSG;
	/* All of them have an address, or none has. */
	if (into->n_gpus > 0 && into->addressed != (address != NULL))
		return -EBADMSG;
	if (address && SOME(into->gpus, into->n_gpus, bdf_equal(it, address)))
		return -EBADMSG;
	into->addressed = address != NULL;
	if (address)
		into->gpus[into->n_gpus] = *address;
	into->n_gpus++;
	return 0;
}

/* ---- nvbandwidth: output.cpp and json_output.cpp of its version 0.8 ---- */

static const char test_name[] = "device_to_device_memcpy_read_ce";

/* "NVIDIA A100-SXM4-80GB (00000000:34:00)": the last parenthesis, since a name may have one. */
static int read_device(char *text, Bandwidth *into)
{
	char *open = strrchr(text, '('), *close = open ? strchr(open, ')') : NULL;
	_cleanup_free_ char *address = NULL;
	Bdf bdf;

	/* Versions before 0.7 print the name alone. */
	if (!open || !strchr(open, ':'))
		return add_gpu(into, NULL);
	if (!close || close[1])
		return -EBADMSG;
	*close = '\0';
	address = strf("%s.0", open + 1);
	return bdf_parse(address, &bdf) < 0 ? -EBADMSG : add_gpu(into, &bdf);
}

/* "0: NAME (…)" of the text, with a number that counts. `rest` is what stands behind the colon. */
static int read_numbered(char *text, size_t number, char **ret_rest)
{
	char *rest = smi_cut(text, ':');
	unsigned n;

	if (!rest || smi_number(text, BANDWIDTH_GPUS_MAX, &n) < 0 || n != number)
		return -EBADMSG;
	*ret_rest = str_strip(rest);
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
	if (t->described && !is_whole(&t->table))
		return is_row(line, NULL) ? read_table_line(&t->table, NULL, line) : 0;
	if (t->described)
		return 0; /* the sum, and what newer versions add */
	if (str_starts_with(line, "memcpy ")) {
		t->described = true;
		return read_direction(line, &t->row_to_column);
	}
	return 0;
}

/* It runs no test that it waives, and was asked for one. The first are words of 0.1 to 0.4. */
static bool is_waiver(const char *line)
{
	return str_starts_with(line, "Waiving device_to_device_memcpy_read_ce") ||
	       str_starts_with(line, "Waived:");
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
	else if (is_whole(&t->table) && t->table.n_gpus == t->found.n_gpus)
		take_table(&t->table, t->row_to_column, &t->found);
	else
		return -EBADMSG;
	*ret = t->found;
	return 0;
}

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

		if (!text || read_cell(text, &table->cells[r][c]) < 0)
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
		if (add_gpu(into, NULL) < 0)
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
	int r = json_parse(text, strlen(text), &document, NULL);

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

/* ---- p2pBandwidthLatencyTest, by its source in cuda-samples 12.9 ---- */

typedef enum P2pTable { P2P_NO_TABLE, P2P_DISABLED, P2P_ENABLED, P2P_OTHER } P2pTable;

typedef struct P2pReader {
	Bandwidth found;
	BandwidthTable tables[P2P_OTHER];
	P2pTable in;
} P2pReader;

static int read_hex(char **at, const char *name, unsigned long long max, unsigned *ret)
{
	unsigned long long value;
	char *end;

	if (!str_starts_with(*at, name))
		return -EBADMSG;
	*at += strlen(name);
	end = *at + strspn(*at, "0123456789abcdef");
	if (*end == ',')
		*end++ = '\0';
	else if (*end)
		return -EBADMSG;
	if (str_to_unsigned(*at, 16, max, &value) < 0)
		return -EBADMSG;
	*ret = (unsigned)value;
	*at = end + strspn(end, " ");
	return 0;
}

/* "Device: 0, NVIDIA RTX A6000, pciBusID: 41, pciDeviceID: 0, pciDomainID:0", in hex */
static int read_p2p_device(char *text, Bandwidth *into)
{
	char *comma = strchr(text, ','), *at = NULL;
	unsigned number, bus, device, domain;

	/* The last one counts: a name may have anything in it. */
	for (char *next = text; (next = strstr(next, ", pciBusID: ")); next++)
		at = next + strlen(", ");
	if (!comma || !at)
		return -EBADMSG;
	*comma = '\0';
	if (smi_number(text, BANDWIDTH_GPUS_MAX, &number) < 0 || number != into->n_gpus ||
	    read_hex(&at, "pciBusID: ", 0xff, &bus) < 0 ||
	    read_hex(&at, "pciDeviceID: ", 0x1f, &device) < 0 ||
	    read_hex(&at, "pciDomainID:", UINT32_MAX, &domain) < 0 || *at)
		return -EBADMSG;
	return add_gpu(into,
		       &(Bdf){ .segment = domain, .bus = (uint8_t)bus, .device = (uint8_t)device });
}

/* "0 CANNOT Access Peer Device=1" */
static int read_p2p_access(char *text, Bandwidth *into)
{
	char *words[WORDS_MAX];
	unsigned from, to;

	if (split_words(text, words) != 5 || into->n_gpus == 0 ||
	    !str_starts_with(words[4], "Device=") ||
	    smi_number(words[0], (unsigned)into->n_gpus - 1, &from) < 0 ||
	    smi_number(words[4] + strlen("Device="), (unsigned)into->n_gpus - 1, &to) < 0)
		return -EBADMSG;
	if (strcmp(words[1], "CAN") != 0 && strcmp(words[1], "CANNOT") != 0)
		return -EBADMSG;
	into->paths[from][to].no_peer = strcmp(words[1], "CANNOT") == 0;
	return 0;
}

static P2pTable table_named(const char *line)
{
	if (str_starts_with(line, "Unidirectional P2P=Disabled Bandwidth"))
		return P2P_DISABLED;
	if (str_starts_with(line, "Unidirectional P2P=Enabled Bandwidth") && !strstr(line, "Reads"))
		return P2P_ENABLED;
	if (strstr(line, " Matrix"))
		return P2P_OTHER;
	return P2P_NO_TABLE;
}

static int read_p2p_line(P2pReader *p, char *line)
{
	P2pTable named = table_named(line);

	if (named != P2P_NO_TABLE) {
		/* Each comes once. */
		if (named != P2P_OTHER && p->tables[named].open)
			return -EBADMSG;
		p->in = named;
		return 0;
	}
	if (str_starts_with(line, "Device: "))
		return read_p2p_device(line + strlen("Device: "), &p->found);
	if (str_starts_with(line, "Device="))
		return read_p2p_access(line + strlen("Device="), &p->found);
	if (p->in == P2P_NO_TABLE || p->in == P2P_OTHER || !is_row(line, "D\\D"))
		return 0;
	return read_table_line(&p->tables[p->in], "D\\D", line);
}

int bandwidth_parse_p2p(const char *text, size_t size, Bandwidth *ret)
{
	_cleanup_free_ P2pReader *p = xcalloc(1, sizeof(P2pReader));
	_cleanup_free_ char *copy = NULL;
	const BandwidthTable *enabled, *disabled;
	char *rest, *line;
	int r;

	enabled = &p->tables[P2P_ENABLED];
	disabled = &p->tables[P2P_DISABLED];
	r = smi_clean(text, size, &copy);
	rest = copy;
	while (r == 0 && (line = smi_next_line(&rest)))
		r = read_p2p_line(p, str_strip(line));
	if (r < 0)
		return r;
	if (p->found.n_gpus == 0 || !is_whole(enabled) || !is_whole(disabled) ||
	    enabled->n_gpus != p->found.n_gpus || disabled->n_gpus != p->found.n_gpus)
		return -EBADMSG;
	for (size_t a = 0; a < p->found.n_gpus; a++)
		for (size_t b = 0; b < p->found.n_gpus; b++) {
			p->found.paths[a][b].mbps = a == b ? 0 : enabled->cells[a][b];
			p->found.paths[a][b].plain_mbps = a == b ? 0 : disabled->cells[a][b];
		}
	*ret = p->found;
	return 0;
}

/* ---- all_reduce_perf, by common.cu and util.cu of nccl-tests ---- */

/* "  Rank  0 Group  0 Pid  78 on host device  0 [0x07] NVIDIA A100": the ranks count from 0. */
static int read_rank(char *text, Bandwidth *into)
{
	unsigned rank;

	if (!smi_cut(text, ' ') || smi_number(text, BANDWIDTH_GPUS_MAX, &rank) < 0 ||
	    rank != into->n_gpus)
		return -EBADMSG;
	return add_gpu(into, NULL);
}

/* The column "#wrong", in older versions "error": "0", "0e+00", or "N/A" if nothing was checked. */
static void read_wrong(const char *word, Bandwidth *into)
{
	if (strcmp(word, "N/A") == 0)
		into->unchecked = true;
	else if (strcmp(word, "0") != 0 && strcmp(word, "0e+00") != 0)
		into->wrong_data = true;
}

/* Size and count: two whole numbers. A host's name in NCCL's log may begin with one, too. */
static bool is_sizes(const char *line)
{
	static const char digits[] = "0123456789";
	size_t n = strspn(line, digits), blanks = strspn(line + n, " "),
	       m = strspn(line + n + blanks, digits);

	return n > 0 && blanks > 0 && m > 0 && line[n + blanks + m] == ' ';
}

/*
 * size count type redop [root] time algbw busbw #wrong time algbw busbw #wrong: the last four are
 * of the same sum made in place.
 */
static int read_sizes(char *line, Bandwidth *into)
{
	char *words[WORDS_MAX];
	int n = split_words(line, words);

	if (n != 12 && n != 13)
		return -EBADMSG;
	for (int i = n - 8; i < n; i += 4) {
		uint32_t algorithm, mbps;

		if (read_rate(words[i + 1], &algorithm) < 0 || read_rate(words[i + 2], &mbps) < 0)
			return -EBADMSG;
		if (mbps > into->ring_mbps)
			into->ring_mbps = mbps;
		read_wrong(words[i + 3], into);
	}
	return 0;
}

static int read_all_reduce_line(char *line, Bandwidth *into)
{
	static const char bounds[] = "Out of bounds values :";

	if (is_sizes(line))
		return read_sizes(line, into);
	if (*line != '#')
		return 0; /* NCCL's own messages */
	line = str_strip(line + 1);
	if (str_starts_with(line, "Rank "))
		return read_rank(str_strip(line + strlen("Rank ")), into);
	if (str_starts_with(line, bounds))
		into->wrong_data |= strstr(line, " OK") == NULL;
	return 0;
}

int bandwidth_parse_all_reduce(const char *text, size_t size, Bandwidth *ret)
{
	_cleanup_free_ Bandwidth *found = xcalloc(1, sizeof(Bandwidth));
	_cleanup_free_ char *copy = NULL;
	char *rest, *line;
	int r = smi_clean(text, size, &copy);

	rest = copy;
	while (r == 0 && (line = smi_next_line(&rest)))
		r = read_all_reduce_line(str_strip(line), found);
	/* What it found wrong stands, whatever else it printed. */
	if (r == -EBADMSG && found->wrong_data)
		r = 0;
	else if (r == 0 && (found->n_gpus == 0 || found->ring_mbps == 0))
		r = -EBADMSG;
	if (r == 0)
		*ret = *found;
	return r;
}
