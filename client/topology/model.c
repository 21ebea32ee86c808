/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/model.h"

#include <string.h>

#include "base/text.h"
#include "util/xalloc.h"

static void gpu_clear(TopologyGpu *gpu)
{
	free(gpu->address);
	free(gpu->model);
	free(gpu->driver);
	free(gpu->slot);
	free(gpu->nvlink);
	free(gpu->domain);
	free(gpu->state);
	strv_free(gpu->functions);
	strv_free(gpu->path);
}

static void group_clear(TopologyGroup *group)
{
	free(group->name);
	free(group->state);
	free(group->reason);
	free(group->reasoning);
	free(group->provenance);
	free(group->link);
	free(group->domain);
	free(group->gpus);
}

static void bridge_clear(TopologyBridge *bridge)
{
	free(bridge->address);
	free(bridge->kind);
	free(bridge->vendor);
	free(bridge->device);
}

static void topology_clear(Topology *t)
{
	for (size_t i = 0; t->distances && i < t->n_gpus * t->n_gpus; i++)
		free(t->distances[i]);
	free(t->distances);
	for (size_t i = 0; i < t->n_gpus; i++)
		gpu_clear(&t->gpus[i]);
	for (size_t i = 0; i < t->n_groups; i++)
		group_clear(&t->groups[i]);
	for (size_t i = 0; i < t->n_bridges; i++)
		bridge_clear(&t->bridges[i]);
	for (size_t i = 0; i < t->n_nodes; i++)
		free(t->nodes[i].cpus);
	free(t->gpus);
	free(t->groups);
	free(t->bridges);
	free(t->nodes);
	free(t->host);
	strv_free(t->domains);
}

DEFINE_FREE(Topology, topology_free, topology_clear)

const TopologyNode *topology_node(const Topology *t, int node)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].node == node)
			return &t->nodes[i];
	return NULL;
}

const TopologyBridge *topology_bridge(const Topology *t, const char *address)
{
	for (size_t i = 0; i < t->n_bridges; i++)
		if (strcmp(t->bridges[i].address, address) == 0)
			return &t->bridges[i];
	return NULL;
}

const TopologyGroup *topology_group(const Topology *t, const TopologyGpu *gpu)
{
	return gpu->group < 0 ? NULL : &t->groups[gpu->group];
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
	const TopologyGroup *group = topology_group(t, &t->gpus[a]);

	if (a == b || !group || group != topology_group(t, &t->gpus[b]))
		return NULL;
	return topology_group_linked(group) ? group : NULL;
}

const char *topology_cell(const Topology *t, size_t a, size_t b)
{
	const TopologyGroup *group = link_of(t, a, b);
	const char *distance = t->distances[a * t->n_gpus + b];

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

static int compare_paths(const TopologyGpu *a, const TopologyGpu *b)
{
	for (size_t i = 0;; i++) {
		const char *x = a->path && a->path[i] ? a->path[i] : NULL;
		const char *y = b->path && b->path[i] ? b->path[i] : NULL;

		if (!x || !y || strcmp(x, y) != 0)
			return strcmp(x ? x : a->address, y ? y : b->address);
		/* Both lists go on, and were equal so far. */
	}
}

static int compare_gpus(const TopologyGpu *a, const TopologyGpu *b)
{
	if (a->numa_node != b->numa_node)
		return a->numa_node < b->numa_node ? -1 : 1;
	return compare_paths(a, b);
}

size_t *topology_tree_order(const Topology *t)
{
	size_t *order = xcalloc(t->n_gpus + 1, sizeof(size_t));

	/* By insertion: qsort() has nowhere to pass the GPUs, and there are few. */
	for (size_t i = 0; i < t->n_gpus; i++) {
		size_t k = i;

		for (; k > 0 && compare_gpus(&t->gpus[i], &t->gpus[order[k - 1]]) < 0; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	return order;
}
