/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In text: the matrix of `nvidia-smi topo -m`, for drivers of every kind; and the tree of NUMA
 * nodes, the bridges below them, the GPUs below those, and which of them are linked.
 */

#include "base/text.h"
#include "base/table.h"
#include "topology/model.h"
#include "util/xalloc.h"

/* ---- the matrix ---- */

/* Columns besides the n of the matrix. */
static const Column before[] = { { "", 0 }, { "ADDRESS", 0 } };
static const Column behind[] = {
	{ "CPU AFFINITY", 0 },
	{ "NUMA", 0 },
	{ "IOMMU", 0 },
	{ "GROUP", COLUMN_COLOUR },
};

/* "GPU0", "NIC1": each kind counts for itself. */
static void add_label(const Topology *t, size_t device, char ***labels)
{
	const char *kind = t->devices[device].kind;
	size_t n = COUNT(t->devices, device, strcmp(it->kind, kind) == 0);

	strv_appendf(labels, "%s%zu", topology_noun(kind), n);
}

static void add_row(Table *table, const Topology *t, char *const *labels, size_t row)
{
	const TopologyDevice *gpu = &t->devices[row];
	const TopologyGroup *group = topology_group(t, gpu);
	const TopologyNode *node = topology_node(t, gpu->numa_node);
	_cleanup_free_ char *numa = number_text(gpu->numa_node);
	_cleanup_free_ char *iommu = number_text(gpu->iommu_group);
	_cleanup_free_ const char **cells =
		xcalloc(t->n_devices + ELEMENTS(before) + ELEMENTS(behind), sizeof(*cells));
	size_t n = 0;

	cells[n++] = labels[row];
	cells[n++] = gpu->address;
	for (size_t column = 0; column < t->n_devices; column++)
		cells[n++] = topology_cell(t, row, column);
	cells[n++] = node && *node->cpus ? node->cpus : "-";
	cells[n++] = numa;
	cells[n++] = iommu;
	cells[n++] = group ? group->name : "-";
	table_row(table, cells, topology_colour(gpu->look), NULL);
}

static void print_legend(const Terminal *t)
{
	fputs("\nLegend:\n"
	      "  X     the device itself\n"
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
	for (size_t i = 0; i < topology->n_devices; i++)
		add_label(topology, i, &labels);
	columns = xcalloc(topology->n_devices + ELEMENTS(before) + ELEMENTS(behind),
			  sizeof(*columns));
	for (size_t i = 0; i < ELEMENTS(before); i++)
		columns[n++] = before[i];
	for (size_t i = 0; i < topology->n_devices; i++)
		columns[n++] = (Column){ labels[i], 0 };
	for (size_t i = 0; i < ELEMENTS(behind); i++)
		columns[n++] = behind[i];
	/* The headings are the second axis, not a legend. */
	table = table_new(&whole, columns, n, true);
	for (size_t i = 0; i < topology->n_devices; i++)
		add_row(table, topology, labels, i);
	table_print(table);
	if (legend)
		print_legend(t);
}

/* ---- the tree ---- */

static const Column tree_columns[] = {
	{ "DEVICE", COLUMN_TREE },
	{ "MODEL", COLUMN_LEAST(9) },
	{ "DRIVER", 0 },
	{ "IOMMU", 0 },
	{ "STATE", COLUMN_COLOUR | COLUMN_LEAST(8) },
	{ "LINK", 0 },
};

/* One line: a NUMA node, a bridge, or a device. */
typedef struct Line {
	size_t depth; /* 0: a NUMA node */
	int node;
	const char *bridge;	   /* address; NULL: none */
	const TopologyDevice *gpu; /* or a companion; NULL: none */
} Line;

typedef struct Lane {
	size_t first, last; /* lines */
	size_t group, lane;
} Lane;

typedef struct Tree {
	const Terminal *terminal;
	const Topology *topology;
	Line *lines;
	size_t n_lines;
	Lane *lanes; /* one a group with several GPUs and known links */
	size_t n_lanes, width;
} Tree;

LOCAL_CLEAR(Tree, tree_clear)
#include "text.inc"

/* ---- lines ---- */

static void add_lines(Tree *tree, const TopologyDevice *above, const TopologyDevice *gpu)
{
	size_t depth = strv_length(gpu->path);

	if (!above || above->numa_node != gpu->numa_node)
		tree->lines[tree->n_lines++] = (Line){ .node = gpu->numa_node };
	for (size_t i = above ? topology_shared(above, gpu) : 0; i < depth; i++)
		tree->lines[tree->n_lines++] = (Line){ .depth = i + 1, .bridge = gpu->path[i] };
	tree->lines[tree->n_lines++] = (Line){ .depth = depth + 1, .gpu = gpu };
}

static void make_lines(Tree *tree)
{
	const Topology *t = tree->topology;
	_cleanup_free_ size_t *order = topology_tree_order(t);
	size_t max = COUNT(t->devices, t->n_devices, strv_length(it->path) + 2);

	tree->lines = xcalloc(max + 1, sizeof(Line));
	for (size_t i = 0; i < t->n_devices; i++)
		add_lines(tree, i > 0 ? &t->devices[order[i - 1]] : NULL, &t->devices[order[i]]);
}

/* A link ends at GPUs only. */
static bool is_linked(const Line *line, size_t group)
{
	return line->gpu && topology_is_gpu(line->gpu) && line->gpu->group == (ssize_t)group;
}

/* ---- links: a bracket from the first to the last line of a group ---- */

static void find_span(const Tree *tree, size_t group, Lane *lane)
{
	lane->first = SIZE_MAX;
	for (size_t i = 0; i < tree->n_lines; i++)
		if (is_linked(&tree->lines[i], group)) {
			if (lane->first == SIZE_MAX)
				lane->first = i;
			lane->last = i;
		}
}

static void make_lanes(Tree *tree)
{
	const Topology *t = tree->topology;

	tree->lanes = xcalloc(t->n_groups + 1, sizeof(Lane));
	for (size_t group = 0; group < t->n_groups; group++) {
		Lane *lane = &tree->lanes[tree->n_lanes];

		if (t->groups[group].n_gpus < 2 || !topology_group_linked(&t->groups[group]))
			continue;
		*lane = (Lane){ .group = group };
		find_span(tree, group, lane);
		for (size_t i = 0; i < tree->n_lanes; i++) {
			const Lane *other = &tree->lanes[i];

			if (other->lane == lane->lane && other->first <= lane->last &&
			    lane->first <= other->last) {
				lane->lane++;
				i = SIZE_MAX; /* from the start, in the next lane */
			}
		}
		tree->n_lanes++;
		if (lane->lane + 1 > tree->width)
			tree->width = lane->lane + 1;
	}
}

typedef enum Stroke { STROKE_FIRST, STROKE_NEXT, STROKE_LAST, STROKE_PASS, STROKE_REACH } Stroke;

static const char *stroke_text(const Terminal *t, Stroke stroke)
{
	static const char *const utf8[] = { "┌", "├", "└", "│", "─" };
	static const char *const ascii[] = { ",", "+", "`", "|", "-" };

	return t->utf8 ? utf8[stroke] : ascii[stroke];
}

static const Lane *lane_at(const Tree *tree, size_t line, size_t lane)
{
	return FIND(tree->lanes, tree->n_lanes,
		    it->lane == lane && it->first <= line && line <= it->last);
}

static void print_lanes(const Tree *tree, size_t line, FILE *f)
{
	bool reached = false;

	for (size_t i = 0; i < tree->width; i++) {
		const Lane *lane = lane_at(tree, line, i);
		bool mine = lane && is_linked(&tree->lines[line], lane->group);

		if (mine)
			fputs(stroke_text(tree->terminal, line == lane->first  ? STROKE_FIRST
							  : line == lane->last ? STROKE_LAST
									       : STROKE_NEXT),
			      f);
		else if (lane)
			fputs(stroke_text(tree->terminal, STROKE_PASS), f);
		else
			fputs(reached ? stroke_text(tree->terminal, STROKE_REACH) : " ", f);
		reached |= mine;
	}
	if (reached)
		fputs(stroke_text(tree->terminal, STROKE_REACH), f);
}

static void print_label(const Tree *tree, size_t line, FILE *f)
{
	const TopologyDevice *gpu = tree->lines[line].gpu;
	const TopologyGroup *group = gpu ? topology_group(tree->topology, gpu) : NULL;
	_cleanup_free_ char *link = group ? topology_link_text(group) : NULL;

	if (!gpu)
		return;
	if (!group)
		fputs(tree->width > 0 ? " -" : "-", f);
	else if (!topology_is_gpu(gpu))
		fprintf(f, "%s%s", tree->width > 0 ? " " : "", group->name);
	else if (topology_group_linked(group) || topology_group_single(group))
		fprintf(f, " %s %s", link, group->name);
	else
		fprintf(f, "%s ? %s", tree->width > 0 ? " " : "", group->name);
}

static char *link_text(const Tree *tree, size_t line)
{
	char *text = NULL;
	size_t size;
	FILE *f = xmemstream(&text, &size);

	print_lanes(tree, line, f);
	print_label(tree, line, f);
	xmemstream_end(&f);
	return text;
}

/* ---- cells ---- */

static char *device_text(const Line *line)
{
	if (line->gpu)
		return xstrdup(line->gpu->address);
	if (line->bridge)
		return xstrdup(line->bridge);
	return line->node < 0 ? xstrdup("no NUMA node") : strf("NUMA node %d", line->node);
}

static const char *model_text(const Tree *tree, const Line *line)
{
	const TopologyBridge *bridge;
	const char *kind;

	if (line->gpu)
		return *line->gpu->model ? line->gpu->model : "-";
	bridge = line->bridge ? topology_bridge(tree->topology, line->bridge) : NULL;
	kind = bridge ? bridge->kind : line->bridge ? "bridge" : "";
	if (strcmp(kind, "upstream-port") == 0)
		return "switch";
	if (strcmp(kind, "root-port") == 0)
		return "root port";
	return strcmp(kind, "downstream-port") == 0 ? "port" : kind;
}

static char *state_text(const TopologyDevice *gpu)
{
	if (!gpu)
		return xstrdup("");
	if (!*gpu->domain)
		return xstrdup(gpu->state);
	return gpu->look == LOOK_HELD ? xstrdup(gpu->domain)
				      : strf("%s, %s", gpu->state, gpu->domain);
}

static TableRow *add_line(const Tree *tree, Table *table, size_t i, TableRow *parent)
{
	const Line *line = &tree->lines[i];
	_cleanup_free_ char *device = device_text(line);
	_cleanup_free_ char *state = state_text(line->gpu), *link = link_text(tree, i);
	_cleanup_free_ char *iommu = NULL;
	const char *driver = "";

	if (line->gpu) {
		driver = *line->gpu->driver ? line->gpu->driver : "none";
		iommu = number_text(line->gpu->iommu_group);
	} else {
		iommu = xstrdup("");
	}
	return table_row(
		table,
		(const char *const[]){ device, model_text(tree, line), driver, iommu, state, link },
		line->gpu ? topology_colour(line->gpu->look) : COLOUR_NONE, parent);
}

static Table *make_table(const Tree *tree, const Terminal *t, bool headings)
{
	Table *table = table_new(t, tree_columns, ELEMENTS(tree_columns), headings);
	_cleanup_free_ TableRow **parents = xcalloc(tree->n_lines + 1, sizeof(TableRow *));

	for (size_t i = 0; i < tree->n_lines; i++) {
		size_t depth = tree->lines[i].depth;

		parents[depth] = add_line(tree, table, i, depth > 0 ? parents[depth - 1] : NULL);
	}
	return table;
}

void topology_print_tree(const Terminal *t, const Topology *topology, bool headings)
{
	Terminal whole = *t;
	_cleanup_(tree_clear) Tree tree = { .terminal = t, .topology = topology };
	_cleanup_(table_freep) Table *table = NULL;

	whole.width = 0; /* a branch that is cut would lead nowhere */
	make_lines(&tree);
	make_lanes(&tree);
	table = make_table(&tree, &whole, headings);
	/* On a narrower terminal models and states are cut, devices and links never. */
	if (t->width > 0)
		table_fit(table, t->width);
	table_print(table);
}
