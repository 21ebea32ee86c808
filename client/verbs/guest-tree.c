/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a guest has of the host's PCI Express tree, from the document of GetTopology. */
#include <limits.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "util/grow.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

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

/* ---- links and switches ---- */

static PcieLink read_link(const json_t *function)
{
	long long width = json_number_of(function, "max_link_width");

	return (PcieLink){ pcie_speed_code(json_text_of(function, "max_link_speed")),
			   width > 0 && width <= 32 ? (unsigned)width : 0 };
}

/* Fills the member's link, too. */
static void read_switches(const Tree *t, const json_t *device, ExportMember *member)
{
	const json_t *above = NULL, *address;

	JSON_EACH (address, device, "upstream_path") {
		const char *text = str_or_empty(json_string_value(address));
		const json_t *bridge = find(t->document, "bridges", "address", text);
		ExportSwitch one;

		if (strcmp(json_text_of(bridge, "kind"), "upstream-port") == 0 &&
		    bdf_parse(text, &one.host) == 0) {
			one.link = pcie_link_least(read_link(bridge), read_link(above));
			*GROW(member->switches, member->n_switches) = one;
		}
		above = bridge;
	}
	member->link = pcie_link_least(read_link(device), read_link(above));
}

/* ---- members ---- */

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

static int read_hex(const json_t *from, const char *key, unsigned max, unsigned long long *ret)
{
	return str_to_unsigned(json_text_of(from, key), 16, max, ret);
}

static void add_member(const Tree *t, const char *list, const char *address)
{
	const json_t *device = find(t->document, list, "address", address);
	const json_t *node = json_object_get(device, "numa_node");
	const json_t *function = find(device, "functions", "address", address);
	ExportMember *member = GROW(t->guest->members, t->guest->n_members);

	if (read_hex(function ? function : device, "class", 0xffffff, &member->class_code) < 0 ||
	    read_hex(device, "vendor_id", UINT16_MAX, &member->vendor_id) < 0 ||
	    read_hex(device, "device_id", UINT16_MAX, &member->device_id) < 0)
		STRF_FIRST(t->guest->treeless, "what %s is, is not known", address);
	member->numa_node = -1;
	if (json_is_integer(node) && json_integer_value(node) >= 0 &&
	    json_integer_value(node) <= SHRT_MAX)
		member->numa_node = (int)json_integer_value(node);
	if (read_place(find(device, "domains", "uuid", t->guest->domain_uuid), member) < 0)
		STRF_FIRST(t->guest->treeless,
			   "which address the guest gives %s, is not known\n"
			   "Remedy: use machine type q35, and no bridges by <qemu:commandline>",
			   address);
	read_switches(t, device, member);
}

/* NCCL knows of GPUs and NICs. */
static void add_members(const Tree *t, const Group *group)
{
	for (size_t i = 0; group->gpu_addresses && group->gpu_addresses[i]; i++)
		add_member(t, "gpus", group->gpu_addresses[i]);
	EACH (const BusCompanion, companion, group->companions.items, group->companions.n_items)
		if (strcmp(companion->kind, "nvme") != 0)
			add_member(t, "companions", companion->address);
}

/* ---- what of the switches counts ---- */

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
				STRF_FIRST(guest->treeless,
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
