/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/nvidia-smi.h"

#include <ctype.h>
#include <strings.h>

#include "util/text.h"

DEFINE_STRING_TABLE(smi_path, SmiPath, SMI_PATHS)
DEFINE_STRING_TABLE(smi_peer, SmiPeer, SMI_PEERS)

/* Digits: far above 36 links at twice the fastest rate there is (100 GB/s on NVLink 5). */
#define RATE_DIGITS_MAX 3

/* Reads "GPU-" and 36 characters, and unifies the case. */
static int read_uuid(const char *text, char ret[SMI_UUID_SIZE])
{
	if (!str_has_form(text, "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"))
		return -EBADMSG;
	for (size_t i = 0; i < SMI_UUID_SIZE; i++)
		ret[i] = (char)(i < 4 ? text[i] : tolower((unsigned char)text[i]));
	return 0;
}

/* --- GPUs --- */

/* Cuts the next field off a line of CSV; NULL: no more. */
static char *next_field(char **rest)
{
	char *field = *rest;

	if (!field)
		return NULL;
	*rest = smi_cut(field, ',');
	return str_strip(field);
}

/* "[Unknown Error]", up to the comma or the end. */
static bool is_bracketed(const char *field)
{
	size_t n;

	field += strspn(field, " ");
	n = strcspn(field, ",");
	return n > 1 && *field == '[' && field[n - 1] == ']';
}

/* "1, [Unknown Error], 00000000:02:00.0": a GPU is there, and cannot be asked. */
static bool is_unreadable(const char *line)
{
	const char *second = strchr(line, ','), *third = second ? strchr(second + 1, ',') : NULL;

	return third && !strchr(third + 1, ',') &&
	       (is_bracketed(line) || is_bracketed(second + 1) || is_bracketed(third + 1));
}

/* A number and a comma. A line that only begins with a digit is another program's. */
static bool is_row(const char *line)
{
	size_t n = strspn(line, "-0123456789");

	return n > 0 && line[n] == ',';
}

static int read_gpu(char *line, SmiGpus *into)
{
	const char *index = next_field(&line), *uuid = next_field(&line),
		   *address = next_field(&line);
	SmiGpu gpu = { 0 };

	if (!address || line || into->n_items >= SMI_GPUS_MAX ||
	    smi_number(index, SMI_GPUS_MAX - 1, &gpu.index) < 0 || read_uuid(uuid, gpu.uuid) < 0 ||
	    bdf_parse(address, &gpu.address) < 0)
		return -EBADMSG;
	if (SOME(into->items, into->n_items,
		 it->index == gpu.index || strcmp(it->uuid, gpu.uuid) == 0 ||
			 bdf_equal(&it->address, &gpu.address)))
		return -EBADMSG;
	into->items[into->n_items++] = gpu;
	return 0;
}

int smi_parse_gpus(const char *text, size_t size, SmiGpus *ret, unsigned *ret_bad)
{
	_cleanup_free_ char *copy = NULL;
	SmiGpus gpus = { 0 };
	bool none = false;
	char *rest, *line;
	int r = smi_clean(text, size, &copy);

	rest = copy;
	for (unsigned n = 1; r == 0 && (line = smi_next_line(&rest)); n++) {
		SmiTold told;

		line = str_strip(line);
		told = told_of(line);
		if (told_is_alarm(told) || (told != TOLD_WARNING && is_unreadable(line)))
			gpus.unreadable = true;
		else if (is_row(line))
			r = read_gpu(line, &gpus);
		else if (told == TOLD_NO_DEVICES)
			none = true;
		/* Other lines are warnings, or a library's log. */
		if (ret_bad && (r < 0 || (gpus.unreadable && *ret_bad == 0)))
			*ret_bad = n;
	}
	if (r == 0 && (gpus.n_items > 0 ? none : !none && !gpus.unreadable))
		r = -EBADMSG;
	if (r == 0)
		*ret = gpus;
	return r;
}

/* --- links --- */

/* "0: NVIDIA H100 PCIe (UUID: GPU-…)" */
static int read_link_gpu(char *text, SmiNvlinks *into)
{
	static const char before[] = " (UUID: ";
	char *rest = smi_cut(text, ':'), *uuid = NULL;
	SmiNvlink gpu = { 0 };
	size_t n;

	/* The last match counts: a board's name may have anything in it. */
	for (char *next = rest; next && (next = strstr(next, before)); uuid = next)
		next += strlen(before);
	n = uuid ? strlen(uuid) : 0;
	if (n == 0 || uuid[n - 1] != ')' || into->n_items >= SMI_GPUS_MAX)
		return -EBADMSG;
	uuid[n - 1] = '\0';
	if (smi_number(text, SMI_GPUS_MAX - 1, &gpu.index) < 0 || read_uuid(uuid, gpu.uuid) < 0)
		return -EBADMSG;
	if (SOME(into->items, into->n_items,
		 it->index == gpu.index || strcmp(it->uuid, gpu.uuid) == 0))
		return -EBADMSG;
	into->items[into->n_items++] = gpu;
	return 0;
}

/* "26.562 GB/s", in MB/s. */
static int read_rate(char *text, unsigned *ret)
{
	char *unit = strchr(text, ' ');

	if (!unit || strcmp(unit, " GB/s") != 0)
		return -EBADMSG;
	*unit = '\0';
	return smi_rate(text, RATE_DIGITS_MAX, RATE_DIGITS_MAX, ret);
}

/* "4: <inactive>". A state that is not known makes the GPU unreadable. */
static int read_link(char *text, SmiNvlink *gpu, uint64_t *seen)
{
	char *value = smi_cut(text, ':');
	unsigned link, mbps = 0;

	if (!gpu || !value)
		return -EBADMSG;
	value = str_strip(value);
	if (smi_number(text, SMI_LINKS_MAX - 1, &link) < 0 || *seen & UINT64_C(1) << link)
		return -EBADMSG;
	*seen |= UINT64_C(1) << link;
	if (strcmp(value, "<inactive>") != 0 && read_rate(value, &mbps) < 0) {
		gpu->unreadable = true;
		return 0;
	}
	if (mbps == 0) {
		gpu->inactive++;
		return 0;
	}
	if (gpu->active++ == 0 || mbps < gpu->min_mbps)
		gpu->min_mbps = mbps;
	if (mbps > gpu->max_mbps)
		gpu->max_mbps = mbps;
	return 0;
}

/* What stands in the place of links, or among them; `gpu` may be NULL: before any. */
static void read_link_words(const char *line, SmiNvlink *gpu, SmiNvlinks *into)
{
	SmiTold told = told_of(line);

	if (told == TOLD_ALL_INACTIVE)
		*(gpu ? &gpu->all_inactive : &into->all_inactive) = true;
	else if (told == TOLD_NOT_OFFERED && gpu)
		gpu->not_offered = true;
	else if (gpu && (told_is_alarm(told) || str_starts_with(line, "NVML:")))
		gpu->unreadable = true;
}

static bool any_readable(const SmiNvlinks *links)
{
	return SOME(links->items, links->n_items, !it->unreadable) || links->all_inactive;
}

int smi_parse_nvlinks(const char *text, size_t size, SmiNvlinks *ret, unsigned *ret_bad)
{
	_cleanup_free_ char *copy = NULL;
	bool empty = true;
	SmiNvlinks links = { 0 };
	SmiNvlink *gpu = NULL;
	uint64_t seen = 0;
	char *rest, *line;
	int r = smi_clean(text, size, &copy);

	rest = copy;
	for (unsigned n = 1; r == 0 && (line = smi_next_line(&rest)); n++) {
		bool bad = gpu && gpu->unreadable;

		line = str_strip(line);
		if (str_starts_with(line, "GPU ") && !told_is_alarm(told_of(line))) {
			r = read_link_gpu(line + 4, &links);
			gpu = r == 0 ? &links.items[links.n_items - 1] : NULL;
			seen = 0;
		} else if (str_starts_with(line, "Link ")) {
			r = read_link(line + 5, gpu, &seen);
		} else {
			read_link_words(line, gpu, &links);
		}
		empty &= *line == '\0';
		if (ret_bad && (r < 0 || (gpu && gpu->unreadable && !bad)))
			*ret_bad = n;
	}
	/* A text without any GPU does not mean a host without NVLink. */
	if (r == 0 && !empty && !any_readable(&links))
		r = -EBADMSG;
	if (r == 0)
		*ret = links;
	return r;
}

/* --- MIG, confidential computing --- */

int smi_parse_mig(const char *text, size_t size, uint64_t *ret_enabled)
{
	_cleanup_free_ char *copy = NULL;
	uint64_t seen = 0, enabled = 0;
	char *rest, *line;
	int r = smi_clean(text, size, &copy);

	rest = copy;
	while (r == 0 && (line = smi_next_line(&rest))) {
		const char *index, *mode;
		unsigned i;

		line = str_strip(line);
		if (!is_row(line))
			continue;
		index = next_field(&line);
		mode = next_field(&line);
		if (!mode || line || smi_number(index, SMI_GPUS_MAX - 1, &i) < 0 ||
		    seen & UINT64_C(1) << i)
			return -EBADMSG;
		seen |= UINT64_C(1) << i;
		if (strcmp(mode, "Enabled") == 0)
			enabled |= UINT64_C(1) << i;
	}
	if (r == 0 && seen == 0)
		r = -EBADMSG;
	if (r == 0)
		*ret_enabled = enabled;
	return r;
}

int smi_parse_confidential(const char *text, size_t size, bool *ret_on)
{
	_cleanup_free_ char *copy = NULL;
	char *rest, *line;
	int r = smi_clean(text, size, &copy);

	rest = copy;
	while (r == 0 && (line = smi_next_line(&rest))) {
		line = str_strip(line);
		if (strncasecmp(line, "CC status:", 10) != 0)
			continue;
		*ret_on = strcasecmp(str_strip(line + 10), "ON") == 0;
		return 0;
	}
	return r < 0 ? r : -EBADMSG;
}

/*
 * --- the tables of `nvidia-smi topo`: GPUs by GPUs, with columns of other things beside them ---
 */

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
		char *rest = smi_cut(line, '\t');

		if (n >= COLUMNS_MAX)
			return SIZE_MAX;
		fields[n++] = str_strip(line);
		line = rest;
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

_Static_assert((int)SMI_PATH_SELF == (int)SMI_PEER_SELF, "read_row() counts on it");

static int parse_table(const char *text, size_t size, int (*read_cell)(const char *, SmiCell *),
		       SmiMatrix *ret, unsigned *ret_bad)
{
	_cleanup_free_ char *copy = NULL;
	Table table = { .read_cell = read_cell };
	char *rest, *line;
	int r = smi_clean(text, size, &copy);

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

int smi_parse_topology(const char *text, size_t size, SmiMatrix *ret, unsigned *ret_bad)
{
	return parse_table(text, size, read_path, ret, ret_bad);
}

int smi_parse_peers(const char *text, size_t size, SmiMatrix *ret, unsigned *ret_bad)
{
	return parse_table(text, size, read_peer, ret, ret_bad);
}
