/* SPDX-License-Identifier: GPL-2.0-or-later */
/* p2pBandwidthLatencyTest, by its source in cuda-samples 12.9. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/verify/bandwidth-text.h"
#include "core/verify/nvidia-smi-text.h"
#include "util/text.h"
#include "util/xalloc.h"

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
	return bandwidth_add_gpu(
		into, &(Bdf){ .segment = domain, .bus = (uint8_t)bus, .device = (uint8_t)device });
}

/* "0 CANNOT Access Peer Device=1" */
static int read_p2p_access(char *text, Bandwidth *into)
{
	char *words[BANDWIDTH_WORDS_MAX];
	unsigned from, to;

	if (bandwidth_words(text, words) != 5 || into->n_gpus == 0 ||
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
	if (p->in == P2P_NO_TABLE || p->in == P2P_OTHER || !bandwidth_is_row(line, "D\\D"))
		return 0;
	return bandwidth_table_line(&p->tables[p->in], "D\\D", line);
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
	if (p->found.n_gpus == 0 || !bandwidth_table_whole(enabled) ||
	    !bandwidth_table_whole(disabled) || enabled->n_gpus != p->found.n_gpus ||
	    disabled->n_gpus != p->found.n_gpus)
		return -EBADMSG;
	for (size_t a = 0; a < p->found.n_gpus; a++)
		for (size_t b = 0; b < p->found.n_gpus; b++) {
			p->found.paths[a][b].mbps = a == b ? 0 : enabled->cells[a][b];
			p->found.paths[a][b].plain_mbps = a == b ? 0 : disabled->cells[a][b];
		}
	*ret = p->found;
	return 0;
}
