/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/matrix.h"

#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "util/xalloc.h"

/* Columns besides the n of the matrix. */
static const Column before[] = { { "", 0 }, { "ADDRESS", 0 } };
static const Column behind[] = {
	{ "CPU AFFINITY", 0 },
	{ "NUMA", 0 },
	{ "IOMMU", 0 },
	{ "GROUP", COLUMN_COLOUR },
};

Colour topology_colour(const TopologyGpu *gpu)
{
	static const Colour colours[LOOK_MAX_] = {
		[LOOK_HELD] = COLOUR_GOOD,     [LOOK_MOVING] = COLOUR_MOVING,
		[LOOK_UNSURE] = COLOUR_MOVING, [LOOK_BAD] = COLOUR_BAD,
		[LOOK_CLOSED] = COLOUR_BAD,
	};

	return colours[gpu->look];
}

char *topology_number(int number)
{
	return number < 0 ? xstrdup("-") : strf("%d", number);
}

static void add_row(Table *table, const Topology *t, char *const *labels, size_t row)
{
	const TopologyGpu *gpu = &t->gpus[row];
	const TopologyGroup *group = topology_group(t, gpu);
	const TopologyNode *node = topology_node(t, gpu->numa_node);
	_cleanup_free_ char *numa = topology_number(gpu->numa_node);
	_cleanup_free_ char *iommu = topology_number(gpu->iommu_group);
	_cleanup_free_ const char **cells =
		xcalloc(t->n_gpus + ELEMENTS(before) + ELEMENTS(behind), sizeof(*cells));
	size_t n = 0;

	cells[n++] = labels[row];
	cells[n++] = gpu->address;
	for (size_t column = 0; column < t->n_gpus; column++)
		cells[n++] = topology_cell(t, row, column);
	cells[n++] = node && *node->cpus ? node->cpus : "-";
	cells[n++] = numa;
	cells[n++] = iommu;
	cells[n++] = group ? group->name : "-";
	table_row(table, cells, topology_colour(gpu), NULL);
}

static void print_legend(const Terminal *t)
{
	fputs("\nLegend:\n"
	      "  X     the GPU itself\n"
	      "  NV#   # NVLinks; NV#? is what the board has, where nothing was observed\n"
	      "  PIX   at most one PCIe switch between the two\n"
	      "  PXB   several PCIe switches, no host bridge\n"
	      "  PHB   one PCIe host bridge\n"
	      "  NODE  several host bridges of one NUMA node\n"
	      "  SYS   across NUMA nodes\n",
	      t->stream);
}

void topology_print_matrix(const Terminal *t, const Topology *topology, bool legend)
{
	/* The matrix is never cut: half of it would mislead. */
	Terminal whole = *t;
	_cleanup_(table_freep) Table *table = NULL;
	_cleanup_strv_ char **labels = NULL;
	_cleanup_free_ Column *columns = NULL;
	size_t n = 0;

	whole.width = 0;
	for (size_t i = 0; i < topology->n_gpus; i++)
		strv_appendf(&labels, "GPU%zu", i);
	columns = xcalloc(topology->n_gpus + ELEMENTS(before) + ELEMENTS(behind), sizeof(*columns));
	for (size_t i = 0; i < ELEMENTS(before); i++)
		columns[n++] = before[i];
	for (size_t i = 0; i < topology->n_gpus; i++)
		columns[n++] = (Column){ labels[i], 0 };
	for (size_t i = 0; i < ELEMENTS(behind); i++)
		columns[n++] = behind[i];
	/* The headings are the second axis, not a legend. */
	table = table_new(&whole, columns, n, true);
	for (size_t i = 0; i < topology->n_gpus; i++)
		add_row(table, topology, labels, i);
	table_print(table);
	if (legend)
		print_legend(t);
}
