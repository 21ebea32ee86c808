/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology-tree.h"

#include <inttypes.h>
#include <string.h>

#include "describe.h"
#include "table.h"
#include "text.h"

static const Column columns[] = {
	{ "DEVICE", COLUMN_TREE },  { "MODEL", 0 }, { "DRIVER", 0 }, { "IOMMU", 0 }, { "LINK", 0 },
	{ "GROUP", COLUMN_COLOUR },
};

/* A row that further devices can hang on: a NUMA node, or a bridge by its address. */
typedef struct Node {
	char *key; /* the whole path: addresses alone repeat where a daemon is confused */
	TableRow *row;
} Node;

typedef struct Nodes {
	Node *items;
	size_t n_items;
} Nodes;

static void nodes_clear(Nodes *nodes)
{
	for (size_t i = 0; i < nodes->n_items; i++)
		free(nodes->items[i].key);
	free(nodes->items);
	*nodes = (Nodes){ 0 };
}

/* The node of that key; made, with its row, where it is new. */
static int nodes_get(Nodes *nodes, Table *table, const char *key, const char *label,
		     TableRow *parent, TableRow **ret)
{
	Node *bigger, node = { 0 };
	int r;

	for (size_t i = 0; i < nodes->n_items; i++)
		if (strcmp(nodes->items[i].key, key) == 0) {
			*ret = nodes->items[i].row;
			return 0;
		}
	bigger = reallocarray(nodes->items, nodes->n_items + 1, sizeof(Node));
	if (!bigger)
		return -ENOMEM;
	nodes->items = bigger;
	r = table_row(table, (const char *const[]){ label, NULL, NULL, NULL, NULL, NULL },
		      COLOUR_NONE, parent, &node.row);
	if (r < 0)
		return r;
	node.key = strdup(key);
	if (!node.key)
		return -ENOMEM;
	nodes->items[nodes->n_items++] = node;
	*ret = node.row;
	return 0;
}

static int numa_row(Nodes *nodes, Table *table, const Gpu *gpu, char **ret_key, TableRow **ret)
{
	char *label;
	int r;

	if (gpu->numa_node < 0)
		label = strdup("no NUMA node");
	else
		label = strf("NUMA node %" PRId32, gpu->numa_node);
	if (!label)
		return -ENOMEM;
	r = nodes_get(nodes, table, label, label, NULL, ret);
	if (r < 0) {
		free(label);
		return r;
	}
	*ret_key = label;
	return 0;
}

/* The row of the bridge right above the GPU, with all the rows that lead to it. */
static int parent_row(Nodes *nodes, Table *table, const Gpu *gpu, TableRow **ret)
{
	_cleanup_free_ char *key = NULL;
	TableRow *row;
	int r;

	r = numa_row(nodes, table, gpu, &key, &row);
	for (size_t i = 0; r >= 0 && gpu->upstream_path && gpu->upstream_path[i]; i++) {
		char *longer = strf("%s/%s", key, gpu->upstream_path[i]);

		if (!longer)
			return -ENOMEM;
		free(key);
		key = longer;
		r = nodes_get(nodes, table, key, gpu->upstream_path[i], row, &row);
	}
	if (r >= 0)
		*ret = row;
	return r;
}

static int add_gpu(Nodes *nodes, Table *table, const World *w, const Gpu *gpu)
{
	const Group *group = world_find_group_path(w, gpu->group);
	_cleanup_free_ char *iommu = number_text(gpu->iommu_group);
	TableRow *parent = NULL;
	int r;

	if (!iommu)
		return -ENOMEM;
	r = parent_row(nodes, table, gpu, &parent);
	if (r < 0)
		return r;
	return table_row(table,
			 (const char *const[]){ gpu->address, or_dash(gpu->model),
						*gpu->driver ? gpu->driver : "none", iommu,
						group ? or_dash(group->link) : "-",
						group ? group->name : "-" },
			 group ? group_colour(group) : COLOUR_NONE, parent, NULL);
}

static int compare_numa(const void *a, const void *b)
{
	const Gpu *x = *(const Gpu *const *)a, *y = *(const Gpu *const *)b;

	if (x->numa_node != y->numa_node)
		return x->numa_node < y->numa_node ? -1 : 1;
	return x < y ? -1 : x > y; /* as they are: by address */
}

int topology_print_tree(Client *c, const World *w)
{
	Terminal whole = c->out;
	_cleanup_(table_freep) Table *table = NULL;
	_cleanup_(nodes_clear) Nodes nodes = { 0 };
	_cleanup_free_ const Gpu **gpus = NULL;
	int r;

	whole.width = 0; /* a branch that is cut leads nowhere */
	gpus = calloc(w->n_gpus + 1, sizeof(const Gpu *));
	if (!gpus)
		return -ENOMEM;
	for (size_t i = 0; i < w->n_gpus; i++)
		gpus[i] = &w->gpus[i];
	qsort(gpus, w->n_gpus, sizeof(const Gpu *), compare_numa);
	r = table_new(&whole, columns, ELEMENTS(columns), c->options->legend, &table);
	for (size_t i = 0; r >= 0 && i < w->n_gpus; i++)
		r = add_gpu(&nodes, table, w, gpus[i]);
	return r < 0 ? r : table_print(table);
}
