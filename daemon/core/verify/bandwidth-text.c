/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/bandwidth-text.h"

#include <errno.h>
#include <string.h>

#include "core/verify/nvidia-smi-text.h"
#include "util/text.h"

/* Digits of the part before the point. */
#define WHOLE_DIGITS_MAX 5
#define PART_DIGITS_MAX 12

int bandwidth_words(char *line, char *words[BANDWIDTH_WORDS_MAX])
{
	char *rest = NULL;
	int n = 0;

	for (char *word = strtok_r(line, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		if (n == BANDWIDTH_WORDS_MAX)
			return -EBADMSG;
		words[n++] = word;
	}
	return n;
}

int bandwidth_rate(const char *text, uint32_t *ret)
{
	size_t whole = strspn(text, "0123456789");
	size_t part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
	uint32_t mbps = 0;

	if (whole == 0 || whole > WHOLE_DIGITS_MAX || part > PART_DIGITS_MAX)
		return -EBADMSG;
	if (text[whole] && (text[whole] != '.' || part == 0 || text[whole + 1 + part]))
		return -EBADMSG;
	for (size_t i = 0; i < whole; i++)
		mbps = mbps * 10 + (uint32_t)(text[i] - '0');
	for (size_t i = 0; i < 3; i++)
		mbps = mbps * 10 + (i < part ? (uint32_t)(text[whole + 1 + i] - '0') : 0);
	*ret = mbps;
	return 0;
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

bool bandwidth_is_row(const char *line, const char *corner)
{
	size_t n = strcspn(line, " \t"), digits = strspn(line, "0123456789");

	return n > 0 &&
	       (digits == n || (corner && strlen(corner) == n && strncmp(line, corner, n) == 0));
}

int bandwidth_table_line(BandwidthTable *table, const char *corner, char *line)
{
	char *words[BANDWIDTH_WORDS_MAX];
	int n = bandwidth_words(line, words);
	unsigned row;

	if (n <= 0)
		return -EBADMSG;
	if (!table->open)
		return read_head(table, corner, words, n);
	if (table->n_rows == table->n_gpus || (size_t)n != table->n_gpus + 1 ||
	    smi_number(words[0], BANDWIDTH_GPUS_MAX, &row) < 0 || row != table->n_rows)
		return -EBADMSG;
	for (size_t i = 0; i < table->n_gpus; i++)
		if (strcmp(words[i + 1], "N/A") != 0 &&
		    bandwidth_rate(words[i + 1], &table->cells[row][i]) < 0)
			return -EBADMSG;
	table->n_rows++;
	return 0;
}

bool bandwidth_table_whole(const BandwidthTable *table)
{
	return table->open && table->n_rows == table->n_gpus;
}

int bandwidth_add_gpu(Bandwidth *into, const Bdf *address)
{
	if (into->n_gpus == BANDWIDTH_GPUS_MAX)
		return -EBADMSG;
	/* All of them have an address, or none has. */
	if (into->n_gpus > 0 && into->addressed != (address != NULL))
		return -EBADMSG;
	for (size_t i = 0; address && i < into->n_gpus; i++)
		if (bdf_equal(&into->gpus[i], address))
			return -EBADMSG;
	into->addressed = address != NULL;
	if (address)
		into->gpus[into->n_gpus] = *address;
	into->n_gpus++;
	return 0;
}
