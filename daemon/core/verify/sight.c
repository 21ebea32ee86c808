/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/sight.h"

#include "core/domain/xml-tree.h"
#include "util/grow.h"
#include "util/text.h"

/* Bridges above a function. */
#define DEPTH_MAX 32
#define LANES_MAX 32
/* Of sysfs. */
#define LINE_MAX_ 1024

/*
 * One line for each display, NIC and NVMe: what the shell itself can read of it, of its port, and
 * of the port above that, which leads up from a switch. Of two that are joined NCCL takes the lesser speed and width (ncclTopoGetXmlFromSys() in its src/graph/xml.cc). The
 * last line says that all of it is there.
 */
static const char *const read_sysfs[] = {
	"sh", "-c",
	"for d in /sys/bus/pci/devices/*; do\n"
	"c= n= w= s= W= S= U= T=\n"
	"cd -P $d && read -r c <class\n"
	"case $c in 0x02*|0x03*|0x0108*) ;; *) continue ;; esac\n"
	"read -r n <numa_node; read -r w <max_link_width; read -r W <../max_link_width\n"
	"read -r s u <max_link_speed; read -r S u <../max_link_speed\n"
	"read -r U <../../max_link_width; read -r T u <../../max_link_speed\n"
	"echo $(pwd) $c ${n:--1} ${w:-0} ${W:-0} ${s:-0} ${S:-0} ${U:-0} ${T:-0}\n"
	"done 2>/dev/null\n"
	"set -- /sys/devices/system/node/node[0-9]*\n"
	"[ -e $1 ] || shift\n"
	"echo nodes $#\n",
	NULL
};
/*
 * The first of a name in nccl.conf counts (setEnvFile() in src/misc/param.cc). Where none is named
 * NCCL looks at the last file of these (docs/userguide, NCCL_TOPO_FILE).
 */
static const char *const read_file[] = {
	"sh", "-c",
	"get() { sed -n \"/^$1=/{s///p;q}\" /etc/nccl.conf 2>/dev/null; }\n"
	"l=$(get NCCL_NET_GDR_LEVEL) f=$(get NCCL_TOPO_FILE) n=${f:+named}\n"
	"f=${f:-/var/run/nvidia-topologyd/virtualTopology.xml}\n"
	"[ -f \"$f\" ] && r=there || r=not\n"
	"echo ${n:-usual} $r ${l:+level}\n"
	"[ $r = not ] || cat \"$f\"\n",
	NULL
};
const char *const *const sight_commands[SIGHT_RUNS] = { read_sysfs, read_file };

#include "sight.inc"

/* Without bytes of 0, which would end it early. */
static bool is_whole(const GuestRun *run)
{
	return run->outcome == GUEST_RAN && !run->signalled && run->exit_code == 0 && run->out &&
	       strlen(run->out) == run->out_size;
}

/* "16.0" of "16.0 GT/s PCIe", or "16", as a code; 0: none */
static unsigned speed_of(const char *text)
{
	static const char *const speeds[] = { "2.5", "5", "8", "16", "32", "64" };
	size_t n = strcspn(text, " ");

	if (n > 2 && strncmp(text + n - 2, ".0", 2) == 0)
		n -= 2;
	for (unsigned i = 0; i < ELEMENTS(speeds); i++)
		if (strncmp(text, speeds[i], n) == 0 && !speeds[i][n])
			return i + 1;
	return 0;
}

static unsigned number_of(const char *text, unsigned max, unsigned otherwise)
{
	unsigned long long number;

	return str_to_unsigned(text, 10, max, &number) == 0 ? (unsigned)number : otherwise;
}

static int node_of(const char *text)
{
	return (int)number_of(text, UINT16_MAX, (unsigned)NUMA_NODE_NONE);
}

/* A port that is not known, such as a root bus, limits nothing. */
static unsigned lesser(unsigned own, unsigned port)
{
	return port > 0 && port < own ? port : own;
}

static void set_upstream(PciFunction *function, const Bdf *bridges, size_t n)
{
	function->n_upstream = n;
	function->upstream = xcalloc(n + 1, sizeof(Bdf));
	memcpy(function->upstream, bridges, n * sizeof(Bdf));
}

/* ---- sysfs ---- */

/* "/sys/devices/pci0000:e7/0000:e7:00.0/0000:e8:00.0" */
static int read_path(const char *path, PciFunction *function)
{
	_cleanup_strv_ char **parts = NULL;
	Bdf chain[DEPTH_MAX];
	size_t n = 0;

	strv_split(path, "/", &parts);
	for (char **part = parts; part && *part; part++) {
		if (n < DEPTH_MAX && bdf_parse(*part, &chain[n]) == 0)
			n++;
		else if (n > 0)
			return -EBADMSG;
	}
	if (n == 0)
		return -EBADMSG;
	function->bdf = chain[n - 1];
	set_upstream(function, chain, n - 1);
	return 0;
}

static int read_function(char *const *words, Sight *sight)
{
	SightFunction *seen = GROW(sight->items, sight->n_items);
	unsigned long long class;

	if (str_to_unsigned(words[1], 0, 0xffffff, &class) < 0 ||
	    read_path(words[0], &seen->function) < 0)
		return -EBADMSG;
	seen->function.class_code = (uint32_t) class;
	seen->function.numa_node = node_of(words[2]);
	seen->width = lesser(number_of(words[3], LANES_MAX, 0), number_of(words[4], LANES_MAX, 0));
	seen->speed = lesser(speed_of(words[5]), speed_of(words[6]));
	seen->up_width = number_of(words[7], LANES_MAX, 0);
	seen->up_speed = speed_of(words[8]);
	return 0;
}

/* *ret_complete: it is the last line. */
static int read_line(const char *line, Sight *sight, bool *ret_complete)
{
	_cleanup_strv_ char **words = NULL;
	unsigned long long nodes;

	strv_split(line, " ", &words);
	if (strv_length(words) == 9)
		return read_function(words, sight);
	if (strv_length(words) != 2 || !str_equal(words[0], "nodes") ||
	    str_to_unsigned(words[1], 10, UINT16_MAX, &nodes) < 0)
		return -EBADMSG;
	sight->n_nodes = (size_t)nodes;
	*ret_complete = true;
	return 0;
}

int sight_read(const GuestRun *run, Sight *ret)
{
	_cleanup_(sight_clear) Sight sight = { 0 };
	bool complete = false;
	size_t length;

	if (!is_whole(run))
		return -EBADMSG;
	for (const char *at = run->out; *at; at += length + (at[length] == '\n')) {
		_cleanup_free_ char *line = NULL;

		length = strcspn(at, "\n");
		line = xstrndup(at, length);
		if (complete || length > LINE_MAX_ || read_line(line, &sight, &complete) < 0)
			return -EBADMSG;
	}
	if (!complete)
		return -EBADMSG;
	*ret = sight;
	sight = (Sight){ 0 };
	return 0;
}

/* ---- NCCL's file ---- */

/* A <pci> around others is a switch: a port upwards, and one downwards. */
static void read_pci(const xmlNode *parent, const Bdf *above, size_t n, int node, Sight *sight)
{
	for (const xmlNode *i = xml_first(parent); i; i = xml_next(i)) {
		SightFunction *seen;
		Bdf chain[DEPTH_MAX];

		if (!xml_is(i, "pci") || n + 2 > DEPTH_MAX ||
		    bdf_parse(str_or_empty(xml_attribute(i, "busid")), &chain[n]) < 0)
			continue;
		if (n > 0)
			memcpy(chain, above, n * sizeof(Bdf));
		chain[n + 1] = chain[n];
		seen = GROW(sight->items, sight->n_items);
		seen->function.bdf = chain[n];
		seen->function.numa_node = node;
		set_upstream(&seen->function, chain, n);
		seen->speed = speed_of(str_or_empty(xml_attribute(i, "link_speed")));
		seen->width = number_of(str_or_empty(xml_attribute(i, "link_width")), LANES_MAX, 0);
		read_pci(i, chain, n + 2, node, sight);
	}
}

/* <system version="1"><cpu numaid="0"><pci busid="…">: NCCL knows no other version. */
static bool read_system(const char *text, Sight *sight)
{
	_cleanup_free_ char *message = NULL;
	_cleanup_(xml_doc_freep) xmlDoc *doc = xml_parse(text, 0, &message);
	const xmlNode *system = doc ? xmlDocGetRootElement(doc) : NULL;

	if (!system || !xml_is(system, "system") || !xml_attribute_is(system, "version", "1"))
		return false;
	for (const xmlNode *i = xml_first(system); i; i = xml_next(i))
		if (xml_is(i, "cpu"))
			read_pci(i, NULL, 0, node_of(str_or_empty(xml_attribute(i, "numaid"))),
				 sight);
	return true;
}

void nccl_file_read(const GuestRun *run, NcclFile *ret)
{
	size_t length = run->out ? strcspn(run->out, "\n") : 0;
	_cleanup_free_ char *first = run->out ? xstrndup(run->out, length) : xstrdup("");

	*ret = (NcclFile){ .state = NCCL_FILE_UNKNOWN };
	if (run->outcome == GUEST_TOO_MUCH)
		ret->state = NCCL_FILE_UNREADABLE;
	if (!is_whole(run))
		return;
	ret->sets_level = str_ends_with(first, " level");
	if (str_starts_with(first, "usual not"))
		ret->state = NCCL_FILE_NONE;
	else if (str_starts_with(first, "named not"))
		ret->state = NCCL_FILE_MISSING;
	else if (run->out[length] && read_system(run->out + length + 1, &ret->sight))
		ret->state = NCCL_FILE_TRUE;
	else
		ret->state = NCCL_FILE_UNREADABLE;
}

/* ---- what they say ---- */

const SightFunction *sight_find(const Sight *sight, const Bdf *bdf)
{
	return FIND(sight->items, sight->n_items, bdf_equal(&it->function.bdf, bdf));
}

const SightFunction *sight_find_path(const Sight *sight, const char *path)
{
	EACH (const SightFunction, seen, sight->items, sight->n_items) {
		_cleanup_free_ char *its = pci_function_path(&seen->function);

		if (path && str_equal(its ? its : BDF_TEXT(&seen->function.bdf), path))
			return seen;
	}
	return NULL;
}

PcieDistance nccl_file_distance(const SightFunction *a, const SightFunction *b)
{
	PcieDistance distance = pcie_distance(&a->function, &b->function, 0);

	if (distance < PCIE_PHB)
		return distance;
	return a->function.numa_node == b->function.numa_node ? PCIE_PHB : PCIE_SYS;
}
