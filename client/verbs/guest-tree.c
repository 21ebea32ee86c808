/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a guest has of the host's PCI Express tree, from the document of GetTopology. */
#include <limits.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "util/grow.h"
#include "util/pcie-speed.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

#define DEPTH_MAX 64

typedef struct Tree {
	const json_t *document;
	ExportGuest *guest;
} Tree;

static const json_t *find(const json_t *document, const char *list, const char *key,
			  const char *value)
{
	const json_t *item;

	JSON_EACH (item, document, list)
		if (strcmp(json_text_of(item, key), value) == 0)
			return item;
	return NULL;
}

/* The first reason counts. */
#define treeless(guest, ...)                                                                       \
	do {                                                                                       \
		if (!(guest)->treeless)                                                            \
			(guest)->treeless = strf(__VA_ARGS__);                                     \
	} while (0)

/* ---- links ---- */

static ExportLink read_link(const json_t *function)
{
	long long width = json_number_of(function, "max_link_width");

	return (ExportLink){ pcie_speed_code(json_text_of(function, "max_link_speed")),
			     width > 0 && width <= 32 ? (unsigned)width : 0 };
}

static unsigned lower(unsigned a, unsigned b)
{
	return b > 0 && b < a ? b : a;
}

/* The most that a function and the port above it can do. */
static ExportLink find_link(const Tree *t, const json_t *function, const char *port)
{
	ExportLink link = read_link(function),
		   above = read_link(port ? find(t->document, "bridges", "address", port) : NULL);

	return (ExportLink){ lower(link.speed, above.speed), lower(link.width, above.width) };
}

/* ---- members ---- */

static void read_switches(const Tree *t, const json_t *path, ExportMember *member)
{
	for (size_t i = 1; i < json_array_size(path) && i < DEPTH_MAX; i++) {
		const char *address = json_string_value(json_array_get(path, i));
		const json_t *bridge =
			find(t->document, "bridges", "address", str_or_empty(address));
		ExportSwitch one = { 0 };

		if (strcmp(json_text_of(bridge, "kind"), "upstream-port") != 0 ||
		    bdf_parse(address, &one.host) < 0)
			continue;
		one.link = find_link(t, bridge, json_string_value(json_array_get(path, i - 1)));
		*GROW(member->switches, member->n_switches) = one;
	}
}

/* The path stands in a file that a guest's shell reads. */
static int read_place(const json_t *holder, ExportMember *member)
{
	const char *path = json_text_of(holder, "guest_path");

	if (!*path || path[strspn(path, "0123456789abcdef./")] ||
	    bdf_parse(json_text_of(holder, "guest_address"), &member->guest) < 0)
		return -ENOENT;
	member->path = xstrdup(path);
	return 0;
}

/* As PCI counts it; -EBADMSG: it is none. */
static int read_hex(const json_t *from, const char *key, unsigned max, unsigned *ret)
{
	unsigned long long value;

	if (str_to_unsigned(json_text_of(from, key), 16, max, &value) < 0)
		return -EBADMSG;
	*ret = (unsigned)value;
	return 0;
}

static void add_member(const Tree *t, const json_t *device)
{
	const json_t *upstream = json_object_get(device, "upstream_path");
	const json_t *node = json_object_get(device, "numa_node");
	const json_t *functions = json_object_get(device, "functions"), *function;
	const char *address = json_text_of(device, "address");
	size_t depth = json_array_size(upstream);
	ExportMember *member = GROW(t->guest->members, t->guest->n_members);

	function = functions ? find(device, "functions", "address", address) : device;
	*member = (ExportMember){ .numa_node = -1 };
	if (bdf_parse(address, &member->host) < 0 ||
	    read_hex(function, "class", 0xffffff, &member->class_code) < 0 ||
	    read_hex(device, "vendor_id", UINT16_MAX, &member->vendor_id) < 0 ||
	    read_hex(device, "device_id", UINT16_MAX, &member->device_id) < 0)
		treeless(t->guest, "what %s is, is not known", address);
	if (json_is_integer(node) && json_integer_value(node) >= 0 &&
	    json_integer_value(node) <= SHRT_MAX)
		member->numa_node = (int)json_integer_value(node);
	if (read_place(find(device, "domains", "uuid", t->guest->domain_uuid), member) < 0)
		treeless(t->guest,
			 "which address the guest gives %s, is not known\n"
			 "Remedy: use machine type q35, and no bridges by <qemu:commandline>",
			 address);
	read_switches(t, upstream, member);
	member->link = find_link(t, device,
				 depth > 0 ? json_string_value(json_array_get(upstream, depth - 1))
					   : NULL);
}

static void add_device(const Tree *t, const char *address)
{
	const json_t *gpu = find(t->document, "gpus", "address", address);
	const json_t *device = gpu ? gpu : find(t->document, "companions", "address", address);

	if (device)
		add_member(t, device);
	else
		treeless(t->guest, "%s is not there", address);
}

/* NCCL knows of GPUs and NICs. */
static void add_members(const Tree *t, const Group *group)
{
	for (char **gpu = group->gpu_addresses; gpu && *gpu; gpu++)
		add_device(t, *gpu);
	for (size_t i = 0; i < group->companions.n_items; i++)
		if (strcmp(group->companions.items[i].kind, "nvme") != 0)
			add_device(t, group->companions.items[i].address);
}

/* ---- switches ---- */

static bool has_neighbour(const ExportGuest *guest, const ExportMember *member)
{
	return SOME(guest->members, guest->n_members,
		    it != member && it->n_switches > 0 &&
			    bdf_equal(&it->switches[0].host, &member->switches[0].host));
}

/*
 * What has no other member below its uppermost switch, is as far from all as without switches. Of
 * the other switches NCCL must be told the speed: else it takes one of its own choice.
 */
static void check_switches(ExportGuest *guest)
{
	EACH (ExportMember, member, guest->members, guest->n_members) {
		if (member->n_switches > 0 && !has_neighbour(guest, member))
			member->n_switches = 0;
		EACH (const ExportSwitch, one, member->switches, member->n_switches)
			if (one->link.speed == 0 || one->link.width == 0)
				treeless(guest,
					 "the speed of the switch at %s is not known\n"
					 "Remedy: its ports are read while a GPU below is awake: "
					 "start the domain, and export again a minute later",
					 BDF_TEXT(&one->host));
	}
}

int guest_tree_load(Client *c, const World *w, ExportGuest *guest)
{
	static const DocumentKind kind = DOCUMENT_KIND("the topology", TOPOLOGY, .list = "gpus");
	_cleanup_(json_decrefp) json_t *document = NULL;
	Tree t = { .guest = guest };
	int r = document_get(c, "GetTopology", BUS_TIMEOUT_READ_USEC, &kind, &document);

	if (r != 0)
		return r;
	t.document = document;
	EACH (const Group, group, w->groups, w->n_groups)
		if (strcmp(group->domain_uuid, guest->domain_uuid) == 0)
			add_members(&t, group);
	check_switches(guest);
	export_sort_members(guest);
	return 0;
}
