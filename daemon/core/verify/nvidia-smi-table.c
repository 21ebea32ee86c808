/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of `nvidia-smi topo`: GPUs by GPUs, with columns of other things beside them. */
#include <ctype.h>
#include <string.h>

#include "core/verify/nvidia-smi-text.h"
#include "core/verify/nvidia-smi.h"
#include "util/text.h"

/* GPUs, NICs and a few more. A line has at most this many fields. */
#define COLUMNS_MAX 160
#define NO_GPU SMI_GPUS_MAX
/* "GPU64", "GPU07": a number that no GPU has */
#define BAD_GPU (SMI_GPUS_MAX + 1)

typedef struct Table {
	int (*read_cell)(const char *word, SmiCell *ret);
	unsigned columns[COLUMNS_MAX]; /* the GPU of each column, or NO_GPU */
	size_t n_columns;
	uint64_t rows; /* bit by index: its row was read */
	SmiMatrix matrix;
} Table;

/* Accepts "GPU7", but not "GPU NUMA ID". */
static unsigned gpu_of(const char *word)
{
	unsigned index;

	if (!str_starts_with(word, "GPU") || !isdigit((unsigned char)word[3]))
		return NO_GPU;
	return smi_number(word + 3, SMI_GPUS_MAX - 1, &index) < 0 ? BAD_GPU : index;
}

/* Splits at tabs, in place, and trims blanks from each field. SIZE_MAX: too many fields. */
static size_t split_fields(char *line, char *fields[COLUMNS_MAX])
{
	size_t n = 0;

	while (line) {
		char *end = strchr(line, '\t');

		if (n >= COLUMNS_MAX)
			return SIZE_MAX;
		if (end)
			*end++ = '\0';
		fields[n++] = str_strip(line);
		line = end;
	}
	return n;
}

static bool is_header(char *const *fields, size_t n)
{
	bool gpus = false;

	for (size_t i = 1; i < n; i++)
		gpus |= gpu_of(fields[i]) != NO_GPU;
	return *fields[0] == '\0' && gpus;
}

static int read_header(Table *t, char *const *fields, size_t n)
{
	if (t->n_columns > 0)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		unsigned gpu = gpu_of(fields[i]);

		t->columns[i] = gpu;
		if (gpu == NO_GPU)
			continue;
		if (gpu == BAD_GPU || t->matrix.gpus & UINT64_C(1) << gpu)
			return -EBADMSG;
		t->matrix.gpus |= UINT64_C(1) << gpu;
	}
	t->n_columns = n;
	return 0;
}

static int read_row(Table *t, unsigned row, char *const *fields, size_t n)
{
	if (row == BAD_GPU || !(t->matrix.gpus & UINT64_C(1) << row) ||
	    t->rows & UINT64_C(1) << row)
		return -EBADMSG;
	t->rows |= UINT64_C(1) << row;
	for (size_t i = 1; i < t->n_columns; i++) {
		unsigned column = t->columns[i];
		SmiCell cell = { 0 };

		if (column == NO_GPU)
			continue;
		if (i >= n || t->read_cell(fields[i], &cell) < 0)
			return -EBADMSG;
		/* SMI_PATH_SELF and SMI_PEER_SELF are one number. */
		if ((cell.kind == SMI_PATH_SELF) != (column == row))
			return -EBADMSG;
		t->matrix.cells[row][column] = cell;
	}
	return 0;
}

static int read_line(Table *t, char *line)
{
	char *fields[COLUMNS_MAX];
	size_t n = split_fields(line, fields);
	unsigned row;

	if (n == SIZE_MAX)
		return -EBADMSG;
	if (is_header(fields, n))
		return read_header(t, fields, n);
	/* Skips rows of NICs, the legend, and warnings: those have no tab. */
	row = n > 1 ? gpu_of(fields[0]) : NO_GPU;
	return row == NO_GPU ? 0 : read_row(t, row, fields, n);
}

static int parse_table(const char *text, size_t size, int (*read_cell)(const char *, SmiCell *),
		       SmiMatrix *ret, unsigned *ret_bad)
{
	_cleanup_free_ char *copy = NULL;
	Table table = { .read_cell = read_cell };
	char *rest, *line;
	int r;

	r = smi_clean(text, size, &copy);
	rest = copy;
	for (unsigned n = 1; r == 0 && (line = smi_next_line(&rest)); n++) {
		r = read_line(&table, line);
		if (r < 0 && ret_bad)
			*ret_bad = n;
	}
	/* A truncated table lacks rows. */
	if (r == 0 && (table.matrix.gpus == 0 || table.rows != table.matrix.gpus))
		r = -EBADMSG;
	if (r == 0)
		*ret = table.matrix;
	return r;
}

static int read_path(const char *word, SmiCell *ret)
{
	unsigned links;
	SmiPath path;

	if (str_starts_with(word, "NV")) {
		if (smi_number(word + 2, SMI_LINKS_MAX, &links) < 0 || links == 0)
			return -EBADMSG;
		*ret = (SmiCell){ .kind = SMI_PATH_NVLINK, .links = (uint8_t)links };
		return 0;
	}
	if (smi_path_from_string(word, &path) < 0 || path == SMI_PATH_NONE)
		return -EBADMSG;
	*ret = (SmiCell){ .kind = (uint8_t)path };
	return 0;
}

static int read_peer(const char *word, SmiCell *ret)
{
	SmiPeer peer;

	if (smi_peer_from_string(word, &peer) < 0 || peer == SMI_PEER_NONE)
		return -EBADMSG;
	*ret = (SmiCell){ .kind = (uint8_t)peer };
	return 0;
}

_Static_assert((int)SMI_PATH_SELF == (int)SMI_PEER_SELF, "read_row() counts on it");

int smi_parse_topology(const char *text, size_t size, SmiMatrix *ret, unsigned *ret_bad)
{
	return parse_table(text, size, read_path, ret, ret_bad);
}

int smi_parse_peers(const char *text, size_t size, SmiMatrix *ret, unsigned *ret_bad)
{
	return parse_table(text, size, read_peer, ret, ret_bad);
}
