/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/layout.h"

#include "base/text.h"
#include "util/xalloc.h"

static void layout_clear(Layout *l)
{
	for (size_t i = 0; i < l->n_cards; i++)
		free(l->cards[i].chain);
	for (size_t i = 0; i < l->n_rails; i++)
		free(l->rails[i].stubs);
	free(l->panels);
	free(l->rows);
	free(l->cards);
	free(l->bars);
	free(l->wires);
	free(l->rails);
	free(l->trunks);
}

DEFINE_FREE(Layout, layout_free, layout_clear)

Layout *layout_new(const Topology *topology)
{
	Layout *l = xcalloc(1, sizeof(*l));
	size_t n = topology->n_gpus + 1, levels = 1;

	for (size_t i = 0; i < topology->n_gpus; i++)
		levels += strv_length(topology->gpus[i].path) + 1;
	l->topology = topology;
	l->panels = xcalloc(n, sizeof(*l->panels));
	l->rows = xcalloc(n, sizeof(*l->rows));
	l->cards = xcalloc(n, sizeof(*l->cards));
	l->rails = xcalloc(n, sizeof(*l->rails));
	l->trunks = xcalloc(topology->n_groups + 1, sizeof(*l->trunks));
	l->bars = xcalloc(levels, sizeof(*l->bars));
	l->wires = xcalloc(levels, sizeof(*l->wires));
	layout_place(l);
	layout_rails(l);
	layout_heights(l);
	layout_rail_heights(l);
	layout_bars(l);
	return l;
}
