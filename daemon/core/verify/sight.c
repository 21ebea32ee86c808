/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/sight.h"

#include "core/domain/xml-tree.h"
#include "util/grow.h"
#include "util/text.h"

/* Bridges above a function. */
#define DEPTH_MAX 32
#define LANES_MAX 32

/*
 * Each display, NIC and NVMe: what the shell itself can read of it, of its port, and of the port
 * above that, which leads up from a switch. Of two that are joined NCCL takes the lesser speed and
 * width (ncclTopoGetXmlFromSys() in its src/graph/xml.cc), but since 2.30 of a GPU what NVML has
 * now.
 */
static const char *const read_sysfs[] = {
	"sh", "-c",
	"set -- /sys/devices/system/node/node[0-9]*\n"
	"[ -e $1 ] || shift\n"
	"echo \"<sysfs nodes='$#'>\"\n"
	"for d in /sys/bus/pci/devices/*; do\n"
	"c= n= w= s= W= S= U= T=\n"
	"cd -P $d && read -r c <class\n"
	"case $c in 0x02*|0x03*|0x0108*) ;; *) continue ;; esac\n"
	"read -r n <numa_node\n"
	"read -r w <max_link_width; read -r W <../max_link_width; read -r U <../../max_link_width\n"
	"read -r s <max_link_speed; read -r S <../max_link_speed; read -r T <../../max_link_speed\n"
	"echo \"<pci path='$(pwd)' class='$c' node='$n' width='$w' speed='$s'\"\n"
	"echo \"port_width='$W' port_speed='$S' up_width='$U' up_speed='$T'/>\"\n"
	"done 2>/dev/null\n"
	"echo '</sysfs>'\n",
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
	"[ $r = not ] || head -c 65537 \"$f\"\n",
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

/* NULL: it is no document whose root has this name. */
static xmlDoc *parse(const char *text, const char *name, const xmlNode **ret_root)
{
	_cleanup_free_ char *message = NULL;
	_cleanup_(xml_doc_freep) xmlDoc *doc = xml_parse(text, 0, &message);

	*ret_root = doc ? xmlDocGetRootElement(doc) : NULL;
	return *ret_root && xml_is(*ret_root, name) ? TAKE_PTR(doc) : NULL;
}

/* What is not known, is otherwise. */
static unsigned number_of(const xmlNode *node, const char *name, unsigned max, unsigned otherwise)
{
	xml_number(node, name, max, &otherwise);
	return otherwise;
}

static int node_of(const xmlNode *node, const char *name)
{
	return (int)number_of(node, name, UINT16_MAX, (unsigned)NUMA_NODE_NONE);
}

static PcieLink link_of(const xmlNode *node, const char *speed, const char *width)
{
	return (PcieLink){ pcie_speed_code(str_or_empty(xml_attribute(node, speed))),
			   number_of(node, width, LANES_MAX, 0) };
}

static void set_upstream(PciFunction *function, const Bdf *bridges, size_t n)
{
	function->n_upstream = n;
	function->upstream = xcalloc(n + 1, sizeof(Bdf));
	memcpy(function->upstream, bridges, n * sizeof(Bdf));
}

/* ---- sysfs ---- */

/* "/sys/devices/pci0000:e7/0000:e7:00.0/0000:e8:00.0" */
static int read_path(const char *path, SightFunction *seen)
{
	_cleanup_strv_ char **parts = NULL, **places = NULL;
	Bdf chain[DEPTH_MAX];
	size_t n = 0;

	strv_split(path, "/", &parts);
	for (char **part = parts; part && *part; part++) {
		if (n == DEPTH_MAX || bdf_parse(*part, &chain[n]) < 0) {
			if (n > 0)
				return -EBADMSG;
			continue;
		}
		if (n == 0)
			strv_appendf(&places, "%02x", chain[0].bus);
		strv_appendf(&places, "%02x.%x", chain[n].device, chain[n].function);
		n++;
	}
	/* QEMU's machines have no other segment. */
	if (n == 0 || chain[0].segment > 0)
		return -EBADMSG;
	seen->path = strv_join(places, "/");
	seen->function.bdf = chain[n - 1];
	set_upstream(&seen->function, chain, n - 1);
	return 0;
}

static int read_function(const xmlNode *node, Sight *sight)
{
	SightFunction *seen = GROW(sight->items, sight->n_items);

	seen->function.numa_node = node_of(node, "node");
	seen->link = pcie_link_least(link_of(node, "speed", "width"),
				     link_of(node, "port_speed", "port_width"));
	seen->up = link_of(node, "up_speed", "up_width");
	if (xml_number(node, "class", 0xffffff, &seen->function.class_code) < 0)
		return -EBADMSG;
	return read_path(str_or_empty(xml_attribute(node, "path")), seen);
}

int sight_read(const GuestRun *run, Sight *ret)
{
	const xmlNode *sysfs;
	_cleanup_(xml_doc_freep) xmlDoc *doc =
		is_whole(run) ? parse(run->out, "sysfs", &sysfs) : NULL;
	_cleanup_(sight_clear) Sight sight = { 0 };
	unsigned nodes;

	if (!doc || xml_number(sysfs, "nodes", UINT16_MAX, &nodes) < 0)
		return -EBADMSG;
	sight.n_nodes = nodes;
	for (const xmlNode *i = xml_first(sysfs); i; i = xml_next(i))
		if (read_function(i, &sight) < 0)
			return -EBADMSG;
	*ret = sight;
	sight = (Sight){ 0 };
	return 0;
}

/* ---- NCCL's file ---- */

/* A <pci> around others is a switch: a port upwards, and one downwards. `above` has n bridges. */
static void read_pci(const xmlNode *parent, Bdf above[DEPTH_MAX], size_t n, int node, Sight *sight)
{
	for (const xmlNode *i = xml_first(parent); i; i = xml_next(i)) {
		const char *busid = xml_attribute(i, "busid");
		SightFunction *seen;

		if (!xml_is(i, "pci") || n + 2 > DEPTH_MAX ||
		    bdf_parse(str_or_empty(busid), &above[n]) < 0)
			continue;
		above[n + 1] = above[n];
		seen = GROW(sight->items, sight->n_items);
		seen->path = xstrdup(busid);
		seen->function.bdf = above[n];
		seen->function.numa_node = node;
		set_upstream(&seen->function, above, n);
		seen->link = link_of(i, "link_speed", "link_width");
		read_pci(i, above, n + 2, node, sight);
	}
}

/* Its reader knows no declaration, and blanks only: xmlGetNode() in src/graph/xml.cc. */
static bool is_plain(const char *text)
{
	bool inside = false;

	for (; *text; text++) {
		const char *end = str_starts_with(text, "<!--") ? strstr(text, "-->") : NULL;

		text = end ? end + 2 : text;
		if (*text == '\t' || str_starts_with(text, "<?") ||
		    (inside && (*text == '\n' || *text == '\r')))
			return false;
		inside = *text == '<' || (inside && *text != '>');
	}
	return true;
}

/* <system version="1"><cpu numaid="0"><pci busid="…">: NCCL knows no other version. */
static bool read_system(const char *text, Sight *sight)
{
	const xmlNode *system;
	_cleanup_(xml_doc_freep) xmlDoc *doc =
		is_plain(text) ? parse(text, "system", &system) : NULL;
	Bdf above[DEPTH_MAX];

	if (!doc || !xml_attribute_is(system, "version", "1"))
		return false;
	for (const xmlNode *i = xml_first(system); i; i = xml_next(i))
		if (xml_is(i, "cpu"))
			read_pci(i, above, 0, node_of(i, "numaid"), sight);
	return true;
}

void nccl_file_read(const GuestRun *run, NcclFile *ret)
{
	size_t length = run->out ? strcspn(run->out, "\n") : 0;
	_cleanup_free_ char *first = run->out ? xstrndup(run->out, length) : xstrdup("");

	*ret = (NcclFile){ .state = NCCL_FILE_UNKNOWN,
			   .too_large = run->outcome == GUEST_TOO_MUCH };
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

const SightFunction *sight_find(const Sight *sight, const char *path)
{
	return FIND(sight->items, sight->n_items, str_equal(it->path, path));
}

PcieDistance nccl_distance(const PciFunction *a, const PciFunction *b)
{
	PcieDistance distance = pcie_distance(a, b, 0);

	if (distance < PCIE_PHB)
		return distance;
	return a->numa_node == b->numa_node ? PCIE_PHB : PCIE_SYS;
}
