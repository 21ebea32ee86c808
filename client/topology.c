/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "bus.h"
#include "describe.h"
#include "json.h"
#include "table.h"
#include "text.h"
#include "topology-tree.h"
#include "verbs.h"

/* PCIe distances by index of GPU; NULL where the daemon told none. */
typedef struct Matrix {
	size_t n;
	char **cells; /* n × n */
} Matrix;

static void matrix_clear(Matrix *m)
{
	for (size_t i = 0; m->cells && i < m->n * m->n; i++)
		free(m->cells[i]);
	free(m->cells);
	*m = (Matrix){ 0 };
}

static int matrix_set(Matrix *m, size_t row, size_t column, const char *distance)
{
	char *copy = text_printable(distance);

	if (!copy)
		return -ENOMEM;
	free(m->cells[row * m->n + column]);
	m->cells[row * m->n + column] = copy;
	return 0;
}

static const char *matrix_get(const Matrix *m, size_t row, size_t column)
{
	const char *s = m->cells[row * m->n + column];

	return s ? s : "-";
}

static int read_distances(sd_bus_message *reply, const World *w, Matrix *m)
{
	const char *a, *b, *distance;
	int r;

	r = sd_bus_message_enter_container(reply, SD_BUS_TYPE_ARRAY, "(sss)");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_read(reply, "(sss)", &a, &b, &distance)) > 0) {
		const Gpu *x = world_find_gpu(w, a), *y = world_find_gpu(w, b);

		if (!x || !y) /* it came or went since the objects were read */
			continue;
		r = matrix_set(m, (size_t)(x - w->gpus), (size_t)(y - w->gpus), distance);
		if (r >= 0)
			r = matrix_set(m, (size_t)(y - w->gpus), (size_t)(x - w->gpus), distance);
		if (r < 0)
			return r;
	}
	return r;
}

static int load_distances(Client *c, const World *w, Matrix *ret)
{
	_cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
	_cleanup_(matrix_clear) Matrix m = { .n = w->n_gpus };
	int r;

	m.cells = calloc(m.n * m.n + 1, sizeof(*m.cells));
	if (!m.cells)
		return -ENOMEM;
	r = bus_new_manager_call(c, "GetTopology", &call);
	if (r < 0)
		return r;
	r = sd_bus_message_append(call, "a{sv}", 0);
	if (r < 0)
		return bus_build_failed(c, r);
	r = bus_call(c, call, BUS_TIMEOUT_READ_USEC, "a(sss)", &reply);
	if (r < 0)
		return r;
	r = read_distances(reply, w, &m);
	if (r < 0)
		return r == -ENOMEM ? r : bus_bad_reply(c, strerror(-r));
	*ret = m;
	m = (Matrix){ 0 };
	return 0;
}

/* The group whose links join the two; NULL where none is known to. */
static const Group *linking_group(const World *w, const Gpu *a, const Gpu *b)
{
	const Group *group = world_find_group_path(w, a->group);

	if (a == b || !group || strcmp(a->group, b->group) != 0)
		return NULL;
	return *group->provenance && strcmp(group->provenance, "none") != 0 ? group : NULL;
}

static const char *cell_text(const World *w, const Matrix *m, size_t row, size_t column)
{
	const Group *group;

	if (row == column)
		return "X";
	group = linking_group(w, &w->gpus[row], &w->gpus[column]);
	if (group && *group->link)
		return group->link;
	return matrix_get(m, row, column);
}

/* Columns beside the n of the matrix: label and address before, NUMA, IOMMU and GROUP behind. */
#define COLUMNS_BEFORE 2
#define COLUMNS_BEHIND 3

static int add_gpu_row(Table *table, const World *w, const Matrix *m, char *const *labels,
		       size_t row)
{
	const Gpu *gpu = &w->gpus[row];
	const Group *group = world_find_group_path(w, gpu->group);
	_cleanup_free_ char *numa = number_text(gpu->numa_node);
	_cleanup_free_ char *iommu = number_text(gpu->iommu_group);
	_cleanup_free_ const char **cells = NULL;
	size_t n = 0;

	cells = calloc(m->n + COLUMNS_BEFORE + COLUMNS_BEHIND, sizeof(*cells));
	if (!numa || !iommu || !cells)
		return -ENOMEM;
	cells[n++] = labels[row];
	cells[n++] = gpu->address;
	for (size_t column = 0; column < m->n; column++)
		cells[n++] = cell_text(w, m, row, column);
	cells[n++] = numa;
	cells[n++] = iommu;
	cells[n++] = group ? group->name : "-";
	return table_row(table, cells, group ? group_colour(group) : COLOUR_NONE, NULL, NULL);
}

static int make_labels(size_t n, char ***ret)
{
	_cleanup_strv_ char **labels = NULL;

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *label = strf("GPU%zu", i);

		if (!label || strv_append(&labels, label) < 0)
			return -ENOMEM;
	}
	*ret = TAKE_PTR(labels);
	return 0;
}

static void print_legend(const Terminal *t)
{
	fputs("\nLegend:\n"
	      "  X     the GPU itself\n"
	      "  NV#   # NVLinks; NV#? is what the board has, where nothing was observed\n"
	      "  PIX   one PCIe switch between the two\n"
	      "  PXB   several PCIe switches, no host bridge\n"
	      "  PHB   one PCIe host bridge\n"
	      "  NODE  several host bridges of one NUMA node\n"
	      "  SYS   across NUMA nodes\n",
	      t->stream);
}

static int print_matrix(Client *c, const World *w, const Matrix *m)
{
	/* The matrix is not cut: half of it would mislead. */
	Terminal whole = c->out;
	_cleanup_(table_freep) Table *table = NULL;
	_cleanup_strv_ char **labels = NULL;
	_cleanup_free_ Column *columns = NULL;
	size_t n = 0;
	int r;

	whole.width = 0;
	r = make_labels(m->n, &labels);
	if (r < 0)
		return r;
	columns = calloc(m->n + COLUMNS_BEFORE + COLUMNS_BEHIND, sizeof(*columns));
	if (!columns)
		return -ENOMEM;
	columns[n++] = (Column){ "", 0 };
	columns[n++] = (Column){ "ADDRESS", 0 };
	for (size_t i = 0; i < m->n; i++)
		columns[n++] = (Column){ labels[i], 0 };
	columns[n++] = (Column){ "NUMA", 0 };
	columns[n++] = (Column){ "IOMMU", 0 };
	columns[n++] = (Column){ "GROUP", COLUMN_COLOUR };
	/* The headings are the second axis, not a legend. */
	r = table_new(&whole, columns, n, true, &table);
	for (size_t i = 0; r >= 0 && i < m->n; i++)
		r = add_gpu_row(table, w, m, labels, i);
	if (r >= 0)
		r = table_print(table);
	if (r >= 0 && c->options->legend)
		print_legend(&c->out);
	return r;
}

static json_t *pairs_json(const World *w, const Matrix *m)
{
	_cleanup_(json_decrefp) json_t *pairs = json_array();

	for (size_t i = 0; i < m->n; i++)
		for (size_t j = i + 1; j < m->n; j++) {
			const Group *group = linking_group(w, &w->gpus[i], &w->gpus[j]);
			json_t *pair =
				json_pack("{s:[ss], s:s?, s:s?}", "gpus", w->gpus[i].address,
					  w->gpus[j].address, "pcie", m->cells[i * m->n + j],
					  "nvlink", group && *group->link ? group->link : NULL);

			if (json_array_append_new(pairs, pair) < 0)
				return NULL;
		}
	return TAKE_PTR(pairs);
}

static int print_json(Client *c, const World *w, const Matrix *m)
{
	return json_print(c, json_pack("{s:s, s:o, s:o, s:o}", "schema", GPUPASS_SCHEMA_TOPOLOGY,
				       "gpus", json_gpus(w), "groups", json_groups(w), "pairs",
				       pairs_json(w, m)));
}

int verb_topology(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	_cleanup_(world_clear) World w = { 0 };
	_cleanup_(matrix_clear) Matrix m = { 0 };
	int r;

	r = world_load(c, &w);
	if (r < 0)
		return r;
	if (c->options->json == JSON_OFF && c->options->format == TOPOLOGY_TREE) {
		r = topology_print_tree(c, &w);
		return r < 0 ? r : GPUPASS_EXIT_DONE;
	}
	r = load_distances(c, &w, &m);
	if (r < 0)
		return r;
	if (c->options->json != JSON_OFF)
		r = print_json(c, &w, &m);
	else
		r = print_matrix(c, &w, &m);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}
