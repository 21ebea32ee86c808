/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the daemon's document to structs. Refuses what makes no sense; an absent text is "". */
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "gpupass/states.h"
#include "topology/model.h"
#include "util/xalloc.h"

/* More than any host has; a higher number is refused. */
#define GPUS_MAX 1024
#define BRIDGES_MAX 8192
#define GROUPS_MAX 1024
#define NODES_MAX 1024
#define PATH_MAX_BRIDGES 64
#define FUNCTIONS_MAX 64

typedef struct Reader {
	char **ret_why;
	int error;
} Reader;

static void wrong(Reader *r, const char *what, const char *why)
{
	if (r->error < 0)
		return;
	*r->ret_why = strf("its topology's \"%s\" %s", what, why);
	r->error = -EBADMSG;
}

/* Cleaned; "" for null, for an absent member, and for another type. */
static char *text_of(Reader *r, const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));
	char *copy = text_printable(s ? s : "");

	return copy;
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

/* A zeroed list for the array's items; NULL with the error kept. */
static void *list_of(Reader *r, const json_t *document, const char *key, size_t max, size_t size,
		     const json_t **ret_array)
{
	const json_t *array = json_object_get(document, key);
	void *list;

	*ret_array = array;
	if (array && !json_is_array(array))
		wrong(r, key, "is no list");
	if (json_array_size(array) > max)
		wrong(r, key, "has too many items");
	if (r->error < 0)
		return NULL;
	list = xcalloc(json_array_size(array) + 1, size);
	return list;
}

static void read_texts(Reader *r, const json_t *array, size_t max, char ***to)
{
	const json_t *item;
	size_t i;

	if (json_array_size(array) > max)
		wrong(r, "upstream_path", "has too many items");
	json_array_foreach (array, i, item) {
		_cleanup_free_ char *copy = NULL;

		if (r->error < 0)
			return;
		copy = text_printable(json_string_value(item) ? json_string_value(item) : "");
		strv_append(to, copy);
	}
}

static void read_nodes(Reader *r, Topology *t, const json_t *document)
{
	const json_t *array, *item;
	size_t i;

	t->nodes = list_of(r, document, "numa_nodes", NODES_MAX, sizeof(*t->nodes), &array);
	json_array_foreach (array, i, item) {
		if (r->error < 0)
			return;
		t->nodes[t->n_nodes++] = (TopologyNode){
			.node = int_of(item, "node"),
			.cpus = text_of(r, item, "cpus"),
			.memory_bytes =
				(uint64_t)json_integer_value(json_object_get(item, "memory_bytes")),
		};
	}
}

static void read_bridges(Reader *r, Topology *t, const json_t *document)
{
	const json_t *array, *item;
	size_t i;

	t->bridges = list_of(r, document, "bridges", BRIDGES_MAX, sizeof(*t->bridges), &array);
	json_array_foreach (array, i, item) {
		if (r->error < 0)
			return;
		t->bridges[t->n_bridges++] = (TopologyBridge){
			.address = text_of(r, item, "address"),
			.kind = text_of(r, item, "kind"),
			.vendor = text_of(r, item, "vendor_id"),
			.device = text_of(r, item, "device_id"),
		};
	}
}

/* ---- states ---- */

static TopologyLook look_of(GroupState state)
{
	switch (state) {
	case GROUP_FREE:
		return LOOK_FREE;
	case GROUP_BOUND:
		return LOOK_BOUND;
	case GROUP_ASSIGNED:
		return LOOK_HELD;
	case GROUP_DEGRADED:
	case GROUP_FOREIGN:
		return LOOK_BAD;
	case GROUP_QUARANTINED:
		return LOOK_CLOSED;
	case GROUP_BINDING:
	case GROUP_ATTACHING:
	case GROUP_DETACHING:
	case GROUP_RELEASING:
	case GROUP_ROLLING_BACK:
		return LOOK_MOVING;
	case GROUP_UNKNOWN:
	case GROUP_INFERRED:
	case GROUP_STATE_MAX_:
		break;
	}
	return LOOK_UNSURE; /* also accepts a newer daemon's state */
}

static TopologyLook look_of_name(const char *state)
{
	static const struct {
		GroupState state;
		const char *name;
	} states[] = {
#define X(enumerator, text) { enumerator, text },
		GPUPASS_GROUP_STATES(X)
#undef X
	};

	for (size_t i = 0; i < ELEMENTS(states); i++)
		if (strcmp(states[i].name, state) == 0)
			return look_of(states[i].state);
	return look_of(GROUP_STATE_MAX_);
}

static char *domain_of(Reader *r, const json_t *domain)
{
	_cleanup_free_ char *name = text_of(r, domain, "name");

	return name && *name ? TAKE_PTR(name) : text_of(r, domain, "uuid");
}

static void read_group(Reader *r, TopologyGroup *group, const json_t *item)
{
	group->name = text_of(r, item, "name");
	group->state = text_of(r, item, "state");
	group->reason = text_of(r, item, "reason");
	group->reasoning = text_of(r, item, "reasoning");
	group->provenance = text_of(r, item, "provenance");
	group->link = text_of(r, item, "link");
	group->domain = domain_of(r, json_object_get(item, "domain"));
	group->links = unsigned_of(item, "links");
	group->links_expected = unsigned_of(item, "links_expected");
	if (r->error == 0)
		group->look = look_of_name(group->state);
}

static void read_groups(Reader *r, Topology *t, const json_t *document)
{
	const json_t *array, *item;
	size_t i;

	t->groups = list_of(r, document, "groups", GROUPS_MAX, sizeof(*t->groups), &array);
	json_array_foreach (array, i, item) {
		if (r->error < 0)
			return;
		read_group(r, &t->groups[t->n_groups++], item);
	}
}

/* ---- GPUs ---- */

static ssize_t find_group(const Topology *t, const char *name)
{
	for (size_t i = 0; name && i < t->n_groups; i++)
		if (strcmp(t->groups[i].name, name) == 0)
			return (ssize_t)i;
	return -1;
}

static void read_functions(Reader *r, TopologyGpu *gpu, const json_t *functions)
{
	const json_t *item;
	size_t i;

	if (json_array_size(functions) > FUNCTIONS_MAX)
		wrong(r, "functions", "has too many items");
	json_array_foreach (functions, i, item) {
		_cleanup_free_ char *address = NULL, *driver = NULL, *line = NULL;

		if (r->error < 0)
			return;
		address = text_of(r, item, "address");
		driver = text_of(r, item, "driver");
		if (address && driver)
			line = strf("%s %s", address, *driver ? driver : "none");
		strv_append(&gpu->functions, line);
	}
}

static char *state_of(const Topology *t, const TopologyGpu *gpu)
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
static void read_holder(Reader *r, const Topology *t, TopologyGpu *gpu, const json_t *item)
{
	const TopologyGroup *group = topology_group(t, gpu);

	if (group && *group->domain)
		gpu->domain = xstrdup(group->domain);
	else
		gpu->domain = domain_of(r, json_array_get(json_object_get(item, "domains"), 0));
	gpu->state = gpu->domain ? state_of(t, gpu) : NULL;
	if (!gpu->state) {
		r->error = r->error;
		return;
	}
	if (group)
		gpu->look = group->look;
	else
		gpu->look = *gpu->domain ? LOOK_HELD : LOOK_NONE;
}

static void read_gpu(Reader *r, Topology *t, TopologyGpu *gpu, const json_t *item)
{
	gpu->group = find_group(t, json_string_value(json_object_get(item, "group")));
	gpu->address = text_of(r, item, "address");
	gpu->model = text_of(r, item, "model");
	gpu->driver = text_of(r, item, "driver");
	gpu->slot = text_of(r, item, "physical_slot");
	gpu->nvlink = text_of(r, json_object_get(item, "nvlink"), "kind");
	gpu->iommu_group = int_of(item, "iommu_group");
	gpu->numa_node = int_of(item, "numa_node");
	read_functions(r, gpu, json_object_get(item, "functions"));
	read_texts(r, json_object_get(item, "upstream_path"), PATH_MAX_BRIDGES, &gpu->path);
	if (r->error == 0 && !*gpu->address)
		wrong(r, "gpus", "has one without an address");
	if (r->error == 0)
		read_holder(r, t, gpu, item);
}

static void join_group(Reader *r, TopologyGroup *group, size_t gpu)
{
	size_t *bigger = xreallocarray(group->gpus, group->n_gpus + 1, sizeof(size_t));

	group->gpus = bigger;
	group->gpus[group->n_gpus++] = gpu;
}

static void read_gpus(Reader *r, Topology *t, const json_t *document)
{
	const json_t *array, *item;
	size_t i;

	t->gpus = list_of(r, document, "gpus", GPUS_MAX, sizeof(*t->gpus), &array);
	json_array_foreach (array, i, item) {
		TopologyGpu *gpu;

		if (r->error < 0)
			return;
		gpu = &t->gpus[t->n_gpus++];
		read_gpu(r, t, gpu, item);
		if (r->error == 0 && gpu->group >= 0)
			join_group(r, &t->groups[gpu->group], i);
		if (r->error == 0 && *gpu->domain && !strv_contains(t->domains, gpu->domain))
			strv_append(&t->domains, gpu->domain);
	}
}

/* ---- pairs ---- */

static ssize_t find_gpu(const Topology *t, const json_t *address)
{
	const char *s = json_string_value(address);

	for (size_t i = 0; s && i < t->n_gpus; i++)
		if (strcmp(t->gpus[i].address, s) == 0)
			return (ssize_t)i;
	return -1;
}

static void set_distance(Reader *r, Topology *t, size_t a, size_t b, const json_t *pair)
{
	char **cell = &t->distances[a * t->n_gpus + b];

	free(*cell);
	*cell = text_of(r, pair, "pcie");
}

static void read_pairs(Reader *r, Topology *t, const json_t *document)
{
	const json_t *array = json_object_get(document, "pairs"), *item;
	size_t i;

	if (r->error < 0)
		return;
	t->distances = xcalloc(t->n_gpus * t->n_gpus + 1, sizeof(char *));
	json_array_foreach (array, i, item) {
		const json_t *gpus = json_object_get(item, "gpus");
		ssize_t a = find_gpu(t, json_array_get(gpus, 0));
		ssize_t b = find_gpu(t, json_array_get(gpus, 1));

		if (r->error < 0)
			return;
		if (a < 0 || b < 0)
			continue;
		set_distance(r, t, (size_t)a, (size_t)b, item);
		set_distance(r, t, (size_t)b, (size_t)a, item);
	}
}

int topology_parse(const json_t *document, Topology **ret, char **ret_why)
{
	_cleanup_(topology_freep) Topology *t = xcalloc(1, sizeof(*t));
	Reader r = { .ret_why = ret_why };

	if (!json_is_array(json_object_get(document, "gpus")))
		wrong(&r, "gpus", "is not there");
	t->host = text_of(&r, document, "host");
	t->iommu = json_is_true(json_object_get(document, "iommu"));
	t->n_nvswitches = unsigned_of(document, "nvswitches");
	read_nodes(&r, t, document);
	read_bridges(&r, t, document);
	read_groups(&r, t, document);
	read_gpus(&r, t, document);
	read_pairs(&r, t, document);
	if (r.error < 0)
		return r.error;
	*ret = TAKE_PTR(t);
	return 0;
}
