/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/model.h"

#include <limits.h>

#include "base/json.h"
#include "base/text.h"
#include "gpupass/states.h"
#include "util/grow.h"

#include "model.inc"

/*
 * ---- reading ----
 *
 * From the daemon's document. Refuses what makes no sense; an absent text is "".
 */

/* More than any host has; a higher number is refused. */
#define DEVICES_MAX 1024
#define BRIDGES_MAX 8192
#define GROUPS_MAX 1024
#define NODES_MAX 1024
#define PATH_MAX_BRIDGES 64
#define FUNCTIONS_MAX 64

static int wrong(char **ret_why, const char *what, const char *why)
{
	*ret_why = strf("its topology's \"%s\" %s", what, why);
	return -EBADMSG;
}

/* Lists are lists, none is too long, and each GPU has an address. */
static int check(const json_t *document, char **ret_why)
{
	static const struct {
		const char *key;
		size_t max;
	} lists[] = {
		{ "numa_nodes", NODES_MAX },   { "bridges", BRIDGES_MAX },
		{ "groups", GROUPS_MAX },      { "gpus", DEVICES_MAX },
		{ "companions", DEVICES_MAX },
	};
	const json_t *gpu;

	if (!json_is_array(json_object_get(document, "gpus")))
		return wrong(ret_why, "gpus", "is not there");
	for (size_t i = 0; i < ELEMENTS(lists); i++) {
		const json_t *list = json_object_get(document, lists[i].key);

		if (list && !json_is_array(list))
			return wrong(ret_why, lists[i].key, "is no list");
		if (json_array_size(list) > lists[i].max)
			return wrong(ret_why, lists[i].key, "has too many items");
	}
	for (size_t i = 0; i < 2; i++) {
		const char *key = i == 0 ? "gpus" : "companions";

		JSON_EACH (gpu, document, key) {
			if (json_array_size(json_object_get(gpu, "functions")) > FUNCTIONS_MAX)
				return wrong(ret_why, "functions", "has too many items");
			if (json_array_size(json_object_get(gpu, "upstream_path")) >
			    PATH_MAX_BRIDGES)
				return wrong(ret_why, "upstream_path", "has too many items");
			if (!*json_text_of(gpu, "address"))
				return wrong(ret_why, key, "has one without an address");
		}
	}
	return 0;
}

/* Cleaned; "" for null, for an absent member, and for another type. */
static char *text_of(const json_t *object, const char *key)
{
	return text_printable(json_text_of(object, key));
}

static int int_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	json_int_t n = json_integer_value(value);

	return !json_is_integer(value) || n < 0 || n > INT_MAX ? -1 : (int)n;
}

static unsigned unsigned_of(const json_t *object, const char *key)
{
	int n = int_of(object, key);

	return n < 0 ? 0 : (unsigned)n;
}

static void read_nodes(Topology *t, const json_t *document)
{
	const json_t *item;

	JSON_EACH (item, document, "numa_nodes")
		*GROW(t->nodes, t->n_nodes) = (TopologyNode){
			.node = int_of(item, "node"),
			.cpus = text_of(item, "cpus"),
			.memory_bytes = (uint64_t)json_number_of(item, "memory_bytes"),
		};
}

static void read_bridges(Topology *t, const json_t *document)
{
	const json_t *item;

	JSON_EACH (item, document, "bridges")
		*GROW(t->bridges, t->n_bridges) = (TopologyBridge){
			.address = text_of(item, "address"),
			.kind = text_of(item, "kind"),
			.vendor = text_of(item, "vendor_id"),
			.device = text_of(item, "device_id"),
		};
}

/* ---- states ---- */

/* A newer daemon's state, and any that is not here, is unsure. */
TopologyLook topology_look(const char *state)
{
	static const TopologyLook looks[] = {
		[GROUP_FREE] = LOOK_FREE,	    [GROUP_BOUND] = LOOK_BOUND,
		[GROUP_ASSIGNED] = LOOK_HELD,	    [GROUP_DEGRADED] = LOOK_BAD,
		[GROUP_FOREIGN] = LOOK_BAD,	    [GROUP_QUARANTINED] = LOOK_CLOSED,
		[GROUP_BINDING] = LOOK_MOVING,	    [GROUP_ATTACHING] = LOOK_MOVING,
		[GROUP_DETACHING] = LOOK_MOVING,    [GROUP_RELEASING] = LOOK_MOVING,
		[GROUP_ROLLING_BACK] = LOOK_MOVING, [GROUP_UNREADY] = LOOK_MOVING,
		[GROUP_STATE_MAX_] = LOOK_NONE,
	};

#define X(enumerator, text)                                                                        \
	if (strcmp(state, text) == 0 && looks[enumerator] != LOOK_NONE)                            \
		return looks[enumerator];
	GPUPASS_GROUP_STATES(X)
#undef X
	return LOOK_UNSURE;
}

static char *domain_of(const json_t *domain)
{
	_cleanup_free_ char *name = text_of(domain, "name");

	return *name ? TAKE_PTR(name) : text_of(domain, "uuid");
}

static void read_group(TopologyGroup *group, const json_t *item)
{
	group->name = text_of(item, "name");
	group->state = text_of(item, "state");
	group->reason = text_of(item, "reason");
	group->reasoning = text_of(item, "reasoning");
	group->provenance = text_of(item, "provenance");
	group->link = text_of(item, "link");
	group->domain = domain_of(json_object_get(item, "domain"));
	group->links = unsigned_of(item, "links");
	group->links_expected = unsigned_of(item, "links_expected");
	group->look = topology_look(group->state);
}

static void read_groups(Topology *t, const json_t *document)
{
	const json_t *item;

	JSON_EACH (item, document, "groups")
		read_group(GROW(t->groups, t->n_groups), item);
}

/* ---- GPUs ---- */

static ssize_t find_group(const Topology *t, const char *name)
{
	for (size_t i = 0; name && i < t->n_groups; i++)
		if (strcmp(t->groups[i].name, name) == 0)
			return (ssize_t)i;
	return -1;
}

static void read_functions(TopologyDevice *gpu, const json_t *document)
{
	const json_t *item;

	JSON_EACH (item, document, "functions") {
		_cleanup_free_ char *address = text_of(item, "address");
		_cleanup_free_ char *driver = text_of(item, "driver");

		strv_appendf(&gpu->functions, "%s %s", address, *driver ? driver : "none");
	}
}

static char *state_of(const Topology *t, const TopologyDevice *gpu)
{
	const TopologyGroup *group = topology_group(t, gpu);

	if (group)
		return xstrdup(group->state);
	if (strcmp(gpu->nvlink, "none") == 0)
		return xstrdup("no NVLink");
	if (strcmp(gpu->nvlink, "sxm") == 0)
		return xstrdup("SXM board");
	return xstrdup(strcmp(gpu->nvlink, "unknown") == 0 ? "unknown board" : "no group");
}

/* The domain that has it: the group's, or one that took it without gpupass. */
static void read_holder(const Topology *t, TopologyDevice *gpu, const json_t *item)
{
	const TopologyGroup *group = topology_group(t, gpu);

	if (group && *group->domain)
		gpu->domain = xstrdup(group->domain);
	else
		gpu->domain = domain_of(json_array_get(json_object_get(item, "domains"), 0));
	gpu->state = state_of(t, gpu);
	if (group)
		gpu->look = group->look;
	else
		gpu->look = *gpu->domain ? LOOK_HELD : LOOK_NONE;
}

static char *model_of(const TopologyDevice *device, const json_t *item)
{
	_cleanup_free_ char *vendor = text_of(item, "vendor_id"), *id = text_of(item, "device_id");

	return topology_is_gpu(device) ? text_of(item, "model")
				       : strf("%s %s:%s", topology_noun(device->kind), vendor, id);
}

/* Of a GPU or, with a kind, of a companion, which has some of the members. */
static void read_device(Topology *t, TopologyDevice *gpu, const json_t *item, bool is_gpu)
{
	const json_t *bridge;

	gpu->kind = is_gpu ? xstrdup("gpu") : text_of(item, "kind");
	gpu->group = find_group(t, json_string_value(json_object_get(item, "group")));
	gpu->address = text_of(item, "address");
	gpu->model = model_of(gpu, item);
	gpu->driver = text_of(item, "driver");
	gpu->slot = text_of(item, "physical_slot");
	gpu->nvlink = text_of(json_object_get(item, "nvlink"), "kind");
	gpu->iommu_group = int_of(item, "iommu_group");
	gpu->numa_node = int_of(item, "numa_node");
	read_functions(gpu, item);
	JSON_EACH (bridge, item, "upstream_path")
		strv_append_take(&gpu->path,
				 text_printable(str_or_empty(json_string_value(bridge))));
	read_holder(t, gpu, item);
}

static void read_gpus(Topology *t, const json_t *document)
{
	const json_t *item;

	JSON_EACH (item, document, "gpus") {
		TopologyDevice *gpu = GROW(t->devices, t->n_devices);

		read_device(t, gpu, item, true);
		if (gpu->group >= 0) {
			TopologyGroup *group = &t->groups[gpu->group];

			*GROW(group->gpus, group->n_gpus) = t->n_gpus;
		}
		t->n_gpus++;
		if (*gpu->domain && !strv_contains(t->domains, gpu->domain))
			strv_append(&t->domains, gpu->domain);
	}
	JSON_EACH (item, document, "companions")
		read_device(t, GROW(t->devices, t->n_devices), item, false);
}

/* ---- pairs ---- */

static ssize_t find_device(const Topology *t, const json_t *address)
{
	const char *s = json_string_value(address);

	for (size_t i = 0; s && i < t->n_devices; i++)
		if (strcmp(t->devices[i].address, s) == 0)
			return (ssize_t)i;
	return -1;
}

static char **cell_of(Topology *t, ssize_t a, ssize_t b)
{
	return &t->pairs[(size_t)a * t->n_devices + (size_t)b].pcie;
}

static void set_distance(Topology *t, ssize_t a, ssize_t b, const json_t *pair)
{
	if (a < 0 || b < 0 || a == b)
		return;
	free(*cell_of(t, a, b));
	free(*cell_of(t, b, a));
	*cell_of(t, a, b) = text_of(pair, "pcie");
	*cell_of(t, b, a) = text_of(pair, "pcie");
}

static void read_pairs(Topology *t, const json_t *document)
{
	const json_t *item;

	t->n_pairs = t->n_devices * t->n_devices;
	t->pairs = xcalloc(t->n_pairs + 1, sizeof(*t->pairs));
	JSON_EACH (item, document, "pairs") {
		const json_t *gpus = json_object_get(item, "gpus");

		set_distance(t, find_device(t, json_array_get(gpus, 0)),
			     find_device(t, json_array_get(gpus, 1)), item);
	}
	JSON_EACH (item, document, "companions") {
		ssize_t device = find_device(t, json_object_get(item, "address"));
		const json_t *distance;

		JSON_EACH (distance, item, "distances")
			set_distance(t, device, find_device(t, json_object_get(distance, "to")),
				     distance);
	}
}

int topology_parse(const json_t *document, Topology **ret, char **ret_why)
{
	Topology *t;
	int r = check(document, ret_why);

	if (r < 0)
		return r;
	t = xcalloc(1, sizeof(*t));
	t->host = text_of(document, "host");
	t->iommu = json_is_set(document, "iommu");
	t->n_nvswitches = unsigned_of(document, "nvswitches");
	read_nodes(t, document);
	read_bridges(t, document);
	read_groups(t, document);
	read_gpus(t, document);
	read_pairs(t, document);
	*ret = t;
	return 0;
}

/* ---- asking ---- */

bool topology_is_gpu(const TopologyDevice *device)
{
	return strcmp(device->kind, "gpu") == 0;
}

const char *topology_noun(const char *kind)
{
	static const struct {
		const char *kind, *noun;
	} nouns[] = { { "gpu", "GPU" }, { "nic", "NIC" }, { "vf", "VF" }, { "nvme", "NVMe" } };

	for (size_t i = 0; i < ELEMENTS(nouns); i++)
		if (strcmp(nouns[i].kind, kind) == 0)
			return nouns[i].noun;
	return kind;
}

size_t topology_shared(const TopologyDevice *a, const TopologyDevice *b)
{
	size_t n = 0;

	if (a->numa_node != b->numa_node)
		return 0;
	while (a->path && b->path && a->path[n] && b->path[n] &&
	       strcmp(a->path[n], b->path[n]) == 0)
		n++;
	return n;
}

/* Less is nearer; a word that is not known is farther than all. */
static size_t rank_of(const char *distance)
{
	static const char *const words[] = { "PIX", "PXB", "PHB", "NODE", "SYS" };
	size_t i = 0;

	while (i < ELEMENTS(words) && strcmp(words[i], str_or_empty(distance)) != 0)
		i++;
	return i;
}

ssize_t topology_nearest_gpu(const Topology *t, size_t device)
{
	const TopologyPair *row = &t->pairs[device * t->n_devices];
	ssize_t best = -1;

	for (size_t i = 0; i < t->n_gpus; i++)
		if (i != device && row[i].pcie &&
		    (best < 0 || rank_of(row[i].pcie) < rank_of(row[best].pcie)))
			best = (ssize_t)i;
	return best;
}

Colour topology_colour(TopologyLook look)
{
	static const Colour colours[LOOK_MAX_] = {
		[LOOK_HELD] = COLOUR_GOOD,     [LOOK_MOVING] = COLOUR_MOVING,
		[LOOK_UNSURE] = COLOUR_MOVING, [LOOK_BAD] = COLOUR_BAD,
		[LOOK_CLOSED] = COLOUR_BAD,
	};

	return colours[look];
}

const TopologyNode *topology_node(const Topology *t, int node)
{
	return FIND(t->nodes, t->n_nodes, it->node == node);
}

const TopologyBridge *topology_bridge(const Topology *t, const char *address)
{
	return FIND(t->bridges, t->n_bridges, strcmp(it->address, address) == 0);
}

const TopologyGroup *topology_group(const Topology *t, const TopologyDevice *device)
{
	return device->group < 0 ? NULL : &t->groups[device->group];
}

bool topology_group_linked(const TopologyGroup *group)
{
	return group->n_gpus > 1 && *group->provenance && strcmp(group->provenance, "none") != 0;
}

bool topology_group_single(const TopologyGroup *group)
{
	return strcmp(group->link, "-") == 0;
}

/* The group whose links join the two; NULL: none is known to. */
static const TopologyGroup *link_of(const Topology *t, size_t a, size_t b)
{
	const TopologyGroup *group = topology_group(t, &t->devices[a]);

	if (a == b || a >= t->n_gpus || b >= t->n_gpus || !group ||
	    group != topology_group(t, &t->devices[b]))
		return NULL;
	return topology_group_linked(group) ? group : NULL;
}

const char *topology_cell(const Topology *t, size_t a, size_t b)
{
	const TopologyGroup *group = link_of(t, a, b);
	const char *distance = t->pairs[a * t->n_devices + b].pcie;

	if (a == b)
		return "X";
	if (group && *group->link)
		return group->link;
	return distance ? distance : "-";
}

char *topology_link_text(const TopologyGroup *group)
{
	if (group->links > 0 && group->links < group->links_expected)
		return strf("%s of %u", group->link, group->links_expected);
	return xstrdup(*group->link ? group->link : "?");
}

/* ---- order ---- */

static int compare_paths(const TopologyDevice *a, const TopologyDevice *b)
{
	for (size_t i = 0;; i++) {
		const char *x = a->path && a->path[i] ? a->path[i] : NULL;
		const char *y = b->path && b->path[i] ? b->path[i] : NULL;

		if (!x || !y || strcmp(x, y) != 0)
			return strcmp(x ? x : a->address, y ? y : b->address);
		/* Both lists go on, and were equal so far. */
	}
}

static int compare_devices(const TopologyDevice *a, const TopologyDevice *b)
{
	if (a->numa_node != b->numa_node)
		return a->numa_node < b->numa_node ? -1 : 1;
	return compare_paths(a, b);
}

size_t *topology_tree_order(const Topology *t)
{
	size_t *order = xcalloc(t->n_devices + 1, sizeof(size_t));

	/* By insertion: qsort() has nowhere to pass the devices, and there are few. */
	for (size_t i = 0; i < t->n_devices; i++) {
		size_t k = i;

		for (; k > 0 && compare_devices(&t->devices[i], &t->devices[order[k - 1]]) < 0; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	return order;
}
