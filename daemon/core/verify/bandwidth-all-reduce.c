/* SPDX-License-Identifier: GPL-2.0-or-later */
/* all_reduce_perf, by common.cu and util.cu of nccl-tests. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/verify/bandwidth-text.h"
#include "core/verify/nvidia-smi-text.h"
#include "util/text.h"
#include "util/xalloc.h"

/* "  Rank  0 Group  0 Pid  78 on host device  0 [0x07] NVIDIA A100": the ranks count from 0. */
static int read_rank(char *text, Bandwidth *into)
{
	char *end = text + strspn(text, "0123456789");
	unsigned rank;

	if (*end != ' ')
		return -EBADMSG;
	*end = '\0';
	if (smi_number(text, BANDWIDTH_GPUS_MAX, &rank) < 0 || rank != into->n_gpus)
		return -EBADMSG;
	return bandwidth_add_gpu(into, NULL);
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
	char *words[BANDWIDTH_WORDS_MAX];
	int n = bandwidth_words(line, words);

	if (n != 12 && n != 13)
		return -EBADMSG;
	for (int i = n - 8; i < n; i += 4) {
		uint32_t algorithm, mbps;

		if (bandwidth_rate(words[i + 1], &algorithm) < 0 ||
		    bandwidth_rate(words[i + 2], &mbps) < 0)
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
	int r;

	r = smi_clean(text, size, &copy);
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
