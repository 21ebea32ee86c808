/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists: GPUs, links, MIG. nvidia-smi-table.c parses the tables. */
#include "core/verify/nvidia-smi.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/verify/nvidia-smi-text.h"
#include "util/text.h"

DEFINE_STRING_TABLE(smi_path, SmiPath, SMI_PATHS)
DEFINE_STRING_TABLE(smi_peer, SmiPeer, SMI_PEERS)

#define EXCERPT_MAX 200
/* Far above 36 links at twice the fastest rate there is (100 GB/s on NVLink 5). */
#define RATE_GBPS_MAX 999

/* Reads "GPU-" and 36 characters, and unifies the case. */
static int read_uuid(const char *text, char ret[SMI_UUID_SIZE])
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (strlen(text) != SMI_UUID_SIZE - 1 || !str_starts_with(text, "GPU-"))
		return -EBADMSG;
	for (size_t i = 0; form[i]; i++) {
		char c = text[4 + i];

		if (form[i] == '-' ? c != '-' : !isxdigit((unsigned char)c))
			return -EBADMSG;
	}
	for (size_t i = 0; i < SMI_UUID_SIZE; i++)
		ret[i] = (char)(i < 4 ? text[i] : tolower((unsigned char)text[i]));
	return 0;
}

char *smi_excerpt(const char *text, size_t size)
{
	char line[EXCERPT_MAX + 1];
	size_t n = 0;

	for (size_t i = 0; i < size && n < EXCERPT_MAX; i++) {
		if (text[i] == '\n' && n > 0)
			break;
		if (text[i] > ' ' && text[i] < 0x7f)
			line[n++] = text[i];
		else if (n > 0 && line[n - 1] != ' ')
			line[n++] = ' ';
	}
	while (n > 0 && line[n - 1] == ' ')
		n--;
	line[n] = '\0';
	return strdup(line);
}

/* --- GPUs --- */

/* Cuts the next field off a line of CSV; NULL: no more. */
static char *next_field(char **rest)
{
	char *field = *rest, *end;

	if (!field)
		return NULL;
	end = strchr(field, ',');
	if (end)
		*end++ = '\0';
	*rest = end;
	return str_strip(field);
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
	for (size_t i = 0; i < into->n_items; i++)
		if (into->items[i].index == gpu.index ||
		    strcmp(into->items[i].uuid, gpu.uuid) == 0 ||
		    bdf_equal(&into->items[i].address, &gpu.address))
			return -EBADMSG;
	into->items[into->n_items++] = gpu;
	return 0;
}

int smi_parse_gpus(const char *text, size_t size, SmiGpus *ret)
{
	_cleanup_free_ char *copy = NULL;
	SmiGpus gpus = { 0 };
	bool none = false;
	char *rest, *line;
	int r;

	r = smi_clean(text, size, &copy);
	rest = copy;
	while (r == 0 && (line = smi_next_line(&rest))) {
		line = str_strip(line);
		/* Other lines are warnings, about an infoROM for example. */
		if (isdigit((unsigned char)*line))
			r = read_gpu(line, &gpus);
		else if (str_starts_with(line, "No devices were found"))
			none = true;
	}
	if (r == 0 && (gpus.n_items > 0) == none)
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
	char *colon = strchr(text, ':'), *uuid = NULL, *next = text;
	SmiNvlink gpu = { 0 };
	size_t n;

	/* The last match counts: a board's name may have anything in it. */
	while ((next = strstr(next, before))) {
		next += strlen(before);
		uuid = next;
	}
	if (!colon || !uuid || into->n_items >= SMI_GPUS_MAX)
		return -EBADMSG;
	*colon = '\0';
	n = strlen(uuid);
	if (n == 0 || uuid[n - 1] != ')')
		return -EBADMSG;
	uuid[n - 1] = '\0';
	if (smi_number(text, SMI_GPUS_MAX - 1, &gpu.index) < 0 || read_uuid(uuid, gpu.uuid) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < into->n_items; i++)
		if (into->items[i].index == gpu.index || strcmp(into->items[i].uuid, gpu.uuid) == 0)
			return -EBADMSG;
	into->items[into->n_items++] = gpu;
	return 0;
}

/* "26.562 GB/s", in MB/s. */
static int read_rate(char *text, unsigned *ret)
{
	char *unit = strchr(text, ' '), *point;
	unsigned whole, part = 0;

	if (!unit || strcmp(unit, " GB/s") != 0)
		return -EBADMSG;
	*unit = '\0';
	point = strchr(text, '.');
	if (point) {
		size_t n = strspn(point + 1, "0123456789");

		if (n == 0 || n > 3 || point[1 + n])
			return -EBADMSG;
		for (size_t i = 0; i < 3; i++)
			part = part * 10 + (i < n ? (unsigned)(point[1 + i] - '0') : 0);
		*point = '\0';
	}
	if (smi_number(text, RATE_GBPS_MAX, &whole) < 0)
		return -EBADMSG;
	*ret = whole * 1000 + part;
	return 0;
}

/* "4: <inactive>" */
static int read_link(char *text, SmiNvlink *gpu, uint64_t *seen)
{
	char *colon = strchr(text, ':'), *value;
	unsigned link, mbps = 0;

	if (!gpu || !colon)
		return -EBADMSG;
	*colon = '\0';
	value = str_strip(colon + 1);
	if (smi_number(text, SMI_LINKS_MAX - 1, &link) < 0 || *seen & UINT64_C(1) << link)
		return -EBADMSG;
	*seen |= UINT64_C(1) << link;
	if (strcmp(value, "<inactive>") != 0 && read_rate(value, &mbps) < 0)
		return -EBADMSG;
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

int smi_parse_nvlinks(const char *text, size_t size, SmiNvlinks *ret)
{
	_cleanup_free_ char *copy = NULL;
	bool empty = true;
	SmiNvlinks links = { 0 };
	SmiNvlink *gpu = NULL;
	uint64_t seen = 0;
	char *rest, *line;
	int r;

	r = smi_clean(text, size, &copy);
	rest = copy;
	while (r == 0 && (line = smi_next_line(&rest))) {
		line = str_strip(line);
		if (str_starts_with(line, "GPU ")) {
			r = read_link_gpu(line + 4, &links);
			gpu = r == 0 ? &links.items[links.n_items - 1] : NULL;
			seen = 0;
		} else if (str_starts_with(line, "Link ")) {
			r = read_link(line + 5, gpu, &seen);
		} else if (strcasestr(line, "all links are inactive")) {
			*(gpu ? &gpu->all_inactive : &links.all_inactive) = true;
		}
		empty &= *line == '\0';
	}
	/* A text without any GPU does not mean a host without NVLink. */
	if (r == 0 && links.n_items == 0 && !links.all_inactive && !empty)
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
	int r;

	r = smi_clean(text, size, &copy);
	rest = copy;
	while (r == 0 && (line = smi_next_line(&rest))) {
		const char *index, *mode;
		unsigned i;

		line = str_strip(line);
		if (!isdigit((unsigned char)*line))
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
	int r;

	r = smi_clean(text, size, &copy);
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
