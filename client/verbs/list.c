/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/list.h"

#include "base/table.h"
#include "base/text.h"
#include "bus/bus.h"
#include "model/json.h"
#include "show/describe.h"
#include "verbs/verbs.h"

/* The bullet is part of the first cell, which saves two columns. */
static const Column wide_columns[] = {
	{ "  GROUP", COLUMN_COLOUR },
	{ "GPUS", 0 },
	{ "MODEL", 0 },
	{ "LINK", 0 },
	{ "NUMA", 0 },
	{ "IOMMU", 0 },
	{ "DRIVER", 0 },
	{ "STATE", COLUMN_COLOUR },
	{ "DOMAIN", 0 },
};

/* If that is wider than the terminal: one GPU a line. */
static const Column narrow_columns[] = {
	{ "  GROUP", COLUMN_COLOUR },
	{ "GPUS", COLUMN_LINES },
	{ "MODEL", 0 },
	{ "LINK", 0 },
	{ "NUMA", 0 },
	{ "IOMMU", 0 },
	{ "DRIVER", 0 },
	{ "STATE", COLUMN_COLOUR },
	{ "DOMAIN", 0 },
};

/*
 * How the table is made to fit a terminal. Cells that are cut end in an ellipsis. They are cut to
 * their minimum at most, so a row may still be wider than the terminal.
 */
typedef struct Layout {
	bool narrow; /* one GPU a line */
	size_t model_width, domain_width;
} Layout;

#define MODEL_WIDTH_MIN 5 /* its heading */
#define DOMAIN_WIDTH_MIN 8

static const char *domain_of(const Group *g)
{
	return *g->domain_name ? g->domain_name : or_dash(g->domain_uuid);
}

static int add_group(Table *table, const Terminal *t, const Group *g, const Layout *layout)
{
	_cleanup_free_ char *name = strf("%s %s", group_bullet(t, g), g->name);
	_cleanup_free_ char *gpus = strv_join(g->gpu_addresses, layout->narrow ? "\n" : ",");
	_cleanup_free_ char *numa = numbers_text(&g->numa_nodes);
	_cleanup_free_ char *iommu = numbers_text(&g->iommu_groups);
	const char *ellipsis = terminal_glyph(t, GLYPH_ELLIPSIS);
	_cleanup_free_ char *model = text_cut(or_dash(g->model), layout->model_width, ellipsis);
	_cleanup_free_ char *domain = text_cut(domain_of(g), layout->domain_width, ellipsis);

	if (!name || !gpus || !numa || !iommu || !model || !domain)
		return -ENOMEM;
	return table_row(table,
			 (const char *const[]){ name, or_dash(gpus), model, or_dash(g->link), numa,
						iommu, or_dash(g->driver), g->state, domain },
			 group_colour(g), NULL, NULL);
}

static int add_single_gpu(Table *table, const Terminal *t, const Gpu *g, const Layout *layout)
{
	_cleanup_free_ char *model =
		text_cut(or_dash(g->model), layout->model_width, terminal_glyph(t, GLYPH_ELLIPSIS));
	_cleanup_free_ char *numa = number_text(g->numa_node);
	_cleanup_free_ char *iommu = number_text(g->iommu_group);

	if (!numa || !iommu || !model)
		return -ENOMEM;
	return table_row(table,
			 (const char *const[]){ "  -", g->address, model, "-", numa, iommu,
						*g->driver ? g->driver : "none", gpu_exclusion(g),
						"-" },
			 COLOUR_NONE, NULL, NULL);
}

static int make_table(Client *c, const World *w, const Layout *layout, Table **ret)
{
	_cleanup_(table_freep) Table *table = NULL;
	int r;

	r = table_new(&c->out, layout->narrow ? narrow_columns : wide_columns,
		      ELEMENTS(wide_columns), c->options->legend, &table);
	for (size_t i = 0; r >= 0 && i < w->n_groups; i++)
		r = add_group(table, &c->out, &w->groups[i], layout);
	for (size_t i = 0; r >= 0 && i < w->n_gpus; i++)
		if (!world_find_group_path(w, w->gpus[i].group))
			r = add_single_gpu(table, &c->out, &w->gpus[i], layout);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(table);
	return 0;
}

/* How many columns the table is too wide by; 0: it fits. */
static int measure(Client *c, const World *w, const Layout *layout, size_t *ret_over)
{
	_cleanup_(table_freep) Table *table = NULL;
	size_t width = 0;
	int r;

	r = make_table(c, w, layout, &table);
	if (r >= 0)
		r = table_width(table, &width);
	if (r < 0)
		return r;
	*ret_over = width > c->out.width ? width - c->out.width : 0;
	return 0;
}

/* Takes up to *over columns off a width, but leaves at least `minimum`. */
static size_t shorten(size_t width, size_t minimum, size_t *over)
{
	size_t room = width > minimum ? width - minimum : 0;
	size_t cut = room < *over ? room : *over;

	*over -= cut;
	return width - cut;
}

static int choose_layout(Client *c, const World *w, Layout *layout)
{
	size_t over = 0, model = 0, domain = 0;
	int r;

	if (c->out.width == 0)
		return 0;
	r = measure(c, w, layout, &over);
	if (r < 0 || over == 0)
		return r;
	layout->narrow = true;
	r = measure(c, w, layout, &over);
	if (r < 0 || over == 0)
		return r;
	for (size_t i = 0; i < w->n_groups; i++)
		if (text_width(domain_of(&w->groups[i])) > domain)
			domain = text_width(domain_of(&w->groups[i]));
	for (size_t i = 0; i < w->n_gpus; i++)
		if (text_width(w->gpus[i].model) > model)
			model = text_width(w->gpus[i].model);
	layout->domain_width = shorten(domain, DOMAIN_WIDTH_MIN, &over);
	layout->model_width = shorten(model, MODEL_WIDTH_MIN, &over);
	return 0;
}

static int print_table(Client *c, const World *w)
{
	Layout layout = { .model_width = SIZE_MAX, .domain_width = SIZE_MAX };
	_cleanup_(table_freep) Table *table = NULL;
	int r;

	r = choose_layout(c, w, &layout);
	if (r >= 0)
		r = make_table(c, w, &layout, &table);
	return r < 0 ? r : table_print(table);
}

static int print_hints(Client *c, const World *w)
{
	bool first = true;

	for (size_t i = 0; i < w->n_groups; i++) {
		_cleanup_free_ char *hint = NULL;
		int r;

		r = group_hint(&w->groups[i], &hint);
		if (r < 0)
			return r;
		if (!hint)
			continue;
		fprintf(c->out.stream, "%s%s\n", first ? "\n" : "", hint);
		first = false;
	}
	return 0;
}

json_t *list_json(const World *w)
{
	_cleanup_(json_decrefp) json_t *single = json_array();

	for (size_t i = 0; i < w->n_gpus; i++)
		if (!world_find_group_path(w, w->gpus[i].group) &&
		    json_array_append_new(single, json_gpu(w, &w->gpus[i])) < 0)
			return NULL;
	return json_pack("{s:s, s:o, s:o, s:o}", "schema", GPUPASS_SCHEMA_LIST, "groups",
			 json_groups(w), "ungrouped_gpus", TAKE_PTR(single), "notes",
			 json_strings(w->manager.notes));
}

int list_print_json(Client *c, const World *w)
{
	return json_print(c, list_json(w));
}

int verb_list(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	_cleanup_(world_clear) World w = { 0 };
	int r;

	r = world_load(c, &w);
	if (r < 0)
		return r;
	if (c->options->json != JSON_OFF)
		return list_print_json(c, &w);
	if (w.n_groups == 0 && w.n_gpus == 0) {
		if (!c->options->quiet)
			fputs("There are no NVIDIA GPUs in this host.\n", c->err.stream);
	} else {
		r = print_table(c, &w);
	}
	if (r >= 0 && c->options->legend)
		r = print_hints(c, &w);
	print_notes(c, &w);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}
