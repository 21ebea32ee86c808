/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/topology-json.h"

#include "core/pci/pcie-distance.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

/* What the picture shows, GPUs' leading functions first. Borrowed. */
typedef struct Devices {
	const PciFunction **items _owned_(free);
	MemberKind *kinds; /* of those behind the GPUs */
	size_t n_items, n_gpus;
} Devices;
LOCAL_CLEAR(Devices, devices_clear)

/* IOMMU groups and NUMA nodes: below 0 is "none". */
static json_t *number(int value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static json_t *hex(unsigned value, int digits)
{
	_cleanup_free_ char *text = strf("%0*x", digits, value);

	return json_text(text);
}

static json_t *pools_to_json(const HostNode *node)
{
	return JSON_ARRAY(node->pools, node->n_pools,
			  json_build("{s:I, s:I, s:I}", "page_bytes", (json_int_t)it->page_bytes,
				     "total", (json_int_t)it->total, "free", (json_int_t)it->free));
}

static json_t *nodes_to_json(const HostFacts *host)
{
	return JSON_ARRAY(host->nodes, host ? host->n_nodes : 0,
			  json_build("{s:i, s:o, s:I, s:o}", "node", (int)it->node, "cpus",
				     json_text(str_or_empty(it->cpus)), "memory_bytes",
				     (json_int_t)it->memory_bytes, "hugepages", pools_to_json(it)));
}

static size_t n_nodes(const TopologyFacts *facts)
{
	return facts->host ? facts->host->n_nodes : 0;
}

/* ---- links ---- */

/* What the function can do, whatever its link does now; NULL: it was not read. */
static const PcieConfig *find_config(const TopologyFacts *facts, const Bdf *bdf)
{
	for (size_t i = 0; i < facts->n_healths; i++) {
		const GpuHealth *health = &facts->healths[i];
		const HealthPort *port = BDF_FIND(health->ports, health->n_ports, bdf);

		if (port && port->config.speed_max > 0)
			return &port->config;
		if (bdf_equal(&health->bdf, bdf) && health->config.speed_max > 0)
			return &health->config;
	}
	return NULL;
}

static void add_link(json_t *object, const TopologyFacts *facts, const Bdf *bdf)
{
	const PcieConfig *config = find_config(facts, bdf);

	json_set(object, "max_link_speed",
		 json_string_or_null(config ? pcie_speed_name(config->speed_max) : NULL));
	json_set(object, "max_link_width", json_integer(config ? config->width_max : 0));
}

/* ---- bridges ---- */

/*
 * The kind of a bridge follows from its place: a root port is on the root bus, and a switch is one
 * upstream port with downstream ports behind it. The port type itself is in config space, which a
 * scan does not read.
 */
static const char *bridge_kind(const PciFunction *device, size_t depth)
{
	if (depth == 0)
		return "root-port";
	if (depth % 2 == 0)
		return "downstream-port";
	return depth + 1 < device->n_upstream ? "upstream-port" : "bridge";
}

static json_t *bridge_to_json(const TopologyFacts *facts, const PciFunction *device, size_t depth)
{
	const Bdf *bdf = &device->upstream[depth];
	const PciFunction *bridge = pci_snapshot_find(facts->snapshot, bdf);
	json_t *o;

	o = json_build("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "address", BDF_TEXT(bdf), "kind",
		       bridge_kind(device, depth), "parent",
		       depth > 0 ? json_text(BDF_TEXT(&device->upstream[depth - 1])) : json_null(),
		       "vendor_id", bridge ? hex(bridge->vendor, 4) : json_null(), "device_id",
		       bridge ? hex(bridge->device, 4) : json_null(), "driver",
		       json_string_or_null(bridge ? bridge->driver : NULL), "iommu_group",
		       number(bridge ? bridge->iommu_group : IOMMU_GROUP_NONE), "numa_node",
		       number(bridge ? bridge->numa_node : NUMA_NODE_NONE));
	add_link(o, facts, bdf);
	return o;
}

static json_t *bridges_to_json(const TopologyFacts *facts, const Devices *devices)
{
	json_t *a = json_array();

	for (size_t i = 0; i < devices->n_items; i++)
		for (size_t k = 0; k < devices->items[i]->n_upstream; k++)
			if (!SOME_OF(devices->items, i,
				     bdf_in(&devices->items[i]->upstream[k], it->upstream,
					    it->n_upstream)))
				json_append(a, bridge_to_json(facts, devices->items[i], k));
	return a;
}

/* ---- GPUs ---- */

static json_t *function_to_json(const PciFunction *f)
{
	return json_build("{s:s, s:o, s:o, s:o, s:o, s:o}", "address", BDF_TEXT(&f->bdf), "class",
			  hex(f->class_code, 6), "vendor_id", hex(f->vendor, 4), "device_id",
			  hex(f->device, 4), "driver", json_string_or_null(f->driver),
			  "iommu_group", number(f->iommu_group));
}

static json_t *path_to_json(const PciFunction *lead)
{
	return JSON_ARRAY(lead->upstream, lead->n_upstream, json_text(BDF_TEXT(it)));
}

static json_t *nvlink_to_json(const Board *board)
{
	const char *note = board_exclusion(board);

	return json_build("{s:s, s:s?, s:i, s:i, s:i}", "kind",
			  nvlink_kind_to_string(board ? board->kind : NVLINK_UNKNOWN), "note",
			  note	  ? note
			  : board ? board->note
				  : NULL,
			  "generation", board ? board->generation : 0, "links",
			  board ? board->links : 0, "group_size", board ? board->group_size : 0);
}

/* All domains that have one of the functions, with or without gpupass. */
static json_t *holders_to_json(const DomainUses *uses, const PciFunction *lead,
			       const PciFunction *const *functions, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; uses && i < uses->n_items; i++) {
		const DomainUse *use = &uses->items[i];
		const DomainHostdev *first = domain_use_hostdev(use, &lead->bdf);
		const char *path = first && *first->path ? first->path : NULL;

		if (SOME(functions, n, domain_use_hostdev(use, &(*it)->bdf)))
			json_append(a, json_build("{s:o, s:o, s:b, s:s?, s:s?}", "name",
						  json_string_or_null(use->name), "uuid",
						  json_string_or_null(use->uuid), "active",
						  use->active, "guest_address",
						  path && first->has_seen ? BDF_TEXT(&first->seen)
									  : NULL,
						  "guest_path", path));
	}
	return a;
}

static json_t *gpu_to_json(const TopologyFacts *facts, const Gpu *gpu)
{
	const PciFunction *lead = gpu->lead;
	const Group *group = group_set_find_gpu(facts->groups, &lead->bdf);
	_cleanup_free_ char *model = gpu_model(gpu);
	json_t *o;

	o = json_build(
		"{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o,"
		" s:o, s:o, s:o}",
		"address", BDF_TEXT(&lead->bdf), "model", model, "vendor_id", hex(lead->vendor, 4),
		"device_id", hex(lead->device, 4), "uuid", json_string_or_null(gpu->uuid), "driver",
		json_string_or_null(lead->driver), "iommu_group", number(lead->iommu_group),
		"numa_node", number(lead->numa_node), "physical_slot",
		json_string_or_null(lead->physical_slot), "power_state",
		json_string_or_null(lead->power_state), "boot_vga", lead->boot_vga, "functions",
		JSON_ARRAY(gpu->functions, gpu->n_functions, function_to_json(*it)),
		"upstream_path", path_to_json(lead), "nvlink", nvlink_to_json(gpu->board),
		"domains", holders_to_json(facts->uses, lead, gpu->functions, gpu->n_functions),
		"group", json_string_or_null(group ? group->name : NULL));
	add_link(o, facts, &lead->bdf);
	return o;
}

/* ---- companions ---- */

/* The smallest to any GPU. */
static PcieDistance distance_to_gpus(const TopologyFacts *facts, const PciFunction *function)
{
	PcieDistance nearest = PCIE_SYS;

	for (size_t i = 0; i < facts->gpus->n_gpus; i++) {
		PcieDistance distance =
			pcie_distance(function, facts->gpus->gpus[i].lead, n_nodes(facts));

		nearest = distance < nearest ? distance : nearest;
	}
	return nearest;
}

/*
 * All NICs may be chosen for a group. A host may have dozens of NVMes, and hundreds of VFs: they
 * are shown below a GPU's switch, and in a group.
 */
static bool is_shown(const TopologyFacts *facts, const PciFunction *function, MemberKind *ret)
{
	for (int kind = 0; kind < MEMBER_KIND_MAX_; kind++) {
		if (!member_kind_is((MemberKind)kind, function))
			continue;
		*ret = (MemberKind)kind;
		return kind == MEMBER_NIC || group_set_find_gpu(facts->groups, &function->bdf) ||
		       (kind == MEMBER_NVME && distance_to_gpus(facts, function) <= PCIE_PXB);
	}
	return false;
}

static Devices list_devices(const TopologyFacts *facts)
{
	const PciSnapshot *snapshot = facts->snapshot;
	size_t n = facts->gpus->n_gpus, max = n + snapshot->n_functions + 1;
	Devices devices = { .items = xcalloc(max, sizeof(*devices.items)),
			    .kinds = xcalloc(max, sizeof(*devices.kinds)),
			    .n_items = n,
			    .n_gpus = n };

	for (size_t i = 0; i < n; i++)
		devices.items[i] = facts->gpus->gpus[i].lead;
	for (size_t i = 0; i < snapshot->n_functions; i++)
		if (is_shown(facts, snapshot->functions[i], &devices.kinds[devices.n_items]))
			devices.items[devices.n_items++] = snapshot->functions[i];
	return devices;
}

/* To all that stand before it, so that each pair is there once. */
static json_t *distances_to_json(const TopologyFacts *facts, const Devices *devices, size_t device)
{
	return JSON_ARRAY(devices->items, device,
			  json_build("{s:s, s:s}", "to", BDF_TEXT(&(*it)->bdf), "pcie",
				     pcie_distance_to_string(pcie_distance(
					     *it, devices->items[device], n_nodes(facts)))));
}

static json_t *companions_to_json(const TopologyFacts *facts, const Devices *devices)
{
	json_t *a = json_array();

	for (size_t i = devices->n_gpus; i < devices->n_items; i++) {
		const PciFunction *f = devices->items[i];
		const Group *group = group_set_find_gpu(facts->groups, &f->bdf);

		json_t *o = json_build(
			"{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "address",
			BDF_TEXT(&f->bdf), "kind", member_kind_to_string(devices->kinds[i]),
			"vendor_id", hex(f->vendor, 4), "device_id", hex(f->device, 4), "class",
			hex(f->class_code, 6), "driver", json_string_or_null(f->driver),
			"iommu_group", number(f->iommu_group), "numa_node", number(f->numa_node),
			"upstream_path", path_to_json(f), "domains",
			holders_to_json(facts->uses, f, &f, 1), "group",
			json_string_or_null(group ? group->name : NULL), "distances",
			distances_to_json(facts, devices, i));

		add_link(o, facts, &f->bdf);
		json_append(a, o);
	}
	return a;
}

/* ---- groups ---- */

static json_t *domain_to_json(const Group *group)
{
	if (!group->domain_name && !group->domain_uuid)
		return json_null();
	return json_build("{s:o, s:o}", "name", json_string_or_null(group->domain_name), "uuid",
			  json_string_or_null(group->domain_uuid));
}

static json_t *group_to_json(const Group *group)
{
	_cleanup_free_ char *model = group->n_gpus > 0 ? gpu_model(group->gpus[0]) : NULL;
	_cleanup_free_ char *link = group_link_text(group);

	return json_build(
		"{s:o, s:s, s:o, s:s, s:o, s:o, s:s?, s:s, s:i, s:i, s:o, s:o, s:o,"
		" s:b}",
		"name", json_text(group->name), "state", group_state_to_string(group->state),
		"reason", json_string_or_null(group->reason), "provenance",
		provenance_to_string(group->provenance), "source",
		json_string_or_null(group->source), "reasoning",
		json_string_or_null(group->reasoning), "model", model, "link", link, "links",
		(int)group_links(group), "links_expected", (int)group->links_expected, "gpus",
		JSON_ARRAY(group->gpus, group->n_gpus, json_text(BDF_TEXT(&(*it)->lead->bdf))),
		"driver", json_text(group_driver(group)), "domain", domain_to_json(group),
		"assignable", group->assignable);
}

/* ---- IOMMU groups ---- */

static bool gpu_in_iommu_group(const GpuSet *gpus, int iommu_group)
{
	for (size_t i = 0; i < gpus->n_gpus; i++)
		if (SOME_OF(gpus->gpus[i].functions, gpus->gpus[i].n_functions,
			    it->iommu_group == iommu_group))
			return true;
	return false;
}

/* Everything in the IOMMU group, not only GPUs: the rest has to be moved, too. */
static json_t *iommu_group_to_json(const PciSnapshot *snapshot, int iommu_group)
{
	return json_build(
		"{s:i, s:o}", "group", iommu_group, "functions",
		JSON_ARRAY(snapshot->functions, snapshot->n_functions,
			   (*it)->iommu_group == iommu_group ? function_to_json(*it) : NULL));
}

static json_t *iommu_groups_to_json(const TopologyFacts *facts)
{
	const PciSnapshot *snapshot = facts->snapshot;
	json_t *a = json_array();

	for (size_t i = 0; i < snapshot->n_functions; i++) {
		int group = snapshot->functions[i]->iommu_group;

		if (group != IOMMU_GROUP_NONE && gpu_in_iommu_group(facts->gpus, group) &&
		    !SOME_OF(snapshot->functions, i,
			     it->iommu_group == snapshot->functions[i]->iommu_group))
			json_append(a, iommu_group_to_json(snapshot, group));
	}
	return a;
}

/* ---- pairs ---- */

/* The group whose links join the two; NULL: no known link does. */
static const Group *joining_group(const GroupSet *groups, const Gpu *a, const Gpu *b)
{
	const Group *group = group_set_find_gpu(groups, &a->lead->bdf);

	if (!group || group->provenance == PROVENANCE_NONE)
		return NULL;
	return group == group_set_find_gpu(groups, &b->lead->bdf) ? group : NULL;
}

static json_t *pair_to_json(const TopologyFacts *facts, const Gpu *a, const Gpu *b)
{
	const Group *group = joining_group(facts->groups, a, b);
	_cleanup_free_ char *link = group ? group_link_text(group) : NULL;

	return json_build("{s:[ss], s:s, s:s?, s:i, s:s}", "gpus", BDF_TEXT(&a->lead->bdf),
			  BDF_TEXT(&b->lead->bdf), "pcie",
			  pcie_distance_to_string(pcie_distance(a->lead, b->lead, n_nodes(facts))),
			  "nvlink", link, "links", group ? (int)group_links(group) : 0,
			  "provenance",
			  provenance_to_string(group ? group->provenance : PROVENANCE_NONE));
}

static json_t *pairs_to_json(const TopologyFacts *facts)
{
	const GpuSet *set = facts->gpus;
	json_t *a = json_array();

	for (size_t i = 0; i < set->n_gpus; i++)
		for (size_t k = i + 1; k < set->n_gpus; k++)
			json_append(a, pair_to_json(facts, &set->gpus[i], &set->gpus[k]));
	return a;
}

#include "topology-json.inc"

char *topology_to_json(const TopologyFacts *facts)
{
	_cleanup_(devices_clear) Devices devices = list_devices(facts);
	_cleanup_json_ json_t *document = json_build(
		"{s:s, s:o, s:b, s:I, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
		GPUPASS_SCHEMA_TOPOLOGY, "host",
		json_string_or_null(facts->host ? facts->host->name : NULL), "iommu",
		facts->snapshot->iommu, "taken_usec", (json_int_t)facts->snapshot->taken_usec,
		"nvswitches", (int)facts->gpus->n_nvswitches, "numa_nodes",
		nodes_to_json(facts->host), "bridges", bridges_to_json(facts, &devices), "gpus",
		JSON_ARRAY(facts->gpus->gpus, facts->gpus->n_gpus, gpu_to_json(facts, it)),
		"companions", companions_to_json(facts, &devices), "groups",
		JSON_ARRAY(facts->groups->items, facts->groups->n_items, group_to_json(it)),
		"iommu_groups", iommu_groups_to_json(facts), "pairs", pairs_to_json(facts));

	return json_dumps(document, JSON_INDENT(2));
}
