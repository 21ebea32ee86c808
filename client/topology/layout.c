/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/layout.h"

#include "base/text.h"

Layout *layout_free(Layout *l)
{
	if (!l)
		return NULL;
	for (size_t i = 0; l->cards && i < l->n_cards; i++)
		free(l->cards[i].chain);
	for (size_t i = 0; l->rails && i < l->n_rails; i++)
		free(l->rails[i].stubs);
	free(l->panels);
	free(l->rows);
	free(l->cards);
	free(l->bars);
	free(l->wires);
	free(l->rails);
	free(l->trunks);
	free(l);
	return NULL;
}

int layout_new(const Topology *topology, Layout **ret)
{
	_cleanup_(layout_freep) Layout *l = calloc(1, sizeof(*l));
	size_t n = topology->n_gpus + 1, levels = 1;
	int r;

	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < topology->n_gpus; i++)
		levels += strv_length(topology->gpus[i].path) + 1;
	l->topology = topology;
	l->panels = calloc(n, sizeof(*l->panels));
	l->rows = calloc(n, sizeof(*l->rows));
	l->cards = calloc(n, sizeof(*l->cards));
	l->rails = calloc(n, sizeof(*l->rails));
	l->trunks = calloc(topology->n_groups + 1, sizeof(*l->trunks));
	l->bars = calloc(levels, sizeof(*l->bars));
	l->wires = calloc(levels, sizeof(*l->wires));
	if (!l->panels || !l->rows || !l->cards || !l->rails || !l->trunks || !l->bars || !l->wires)
		return -ENOMEM;
	r = layout_place(l);
	if (r == 0)
		r = layout_rails(l);
	if (r < 0)
		return r;
	layout_heights(l);
	layout_rail_heights(l);
	r = layout_bars(l);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(l);
	return 0;
}
