/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/layout-parts.h"

#include <string.h>

#include "base/text.h"
#include "util/xalloc.h"

#define PANELS_A_BAND 4

/* ---- panels ---- */

/* By number; GPUs whose node is not known come last. */
static bool node_before(int a, int b)
{
	return a >= 0 && (b < 0 || a < b);
}

static size_t panel_of(const Layout *l, int node)
{
	size_t i = 0;

	while (i < l->n_panels && l->panels[i].node != node)
		i++;
	return i;
}

static void add_panels(Layout *l)
{
	const Topology *t = l->topology;

	for (size_t i = 0; i < t->n_gpus; i++) {
		int node = t->gpus[i].numa_node;
		size_t at = l->n_panels;

		if (panel_of(l, node) < l->n_panels)
			continue;
		for (; at > 0 && node_before(node, l->panels[at - 1].node); at--)
			l->panels[at] = l->panels[at - 1];
		l->panels[at] = (LayoutPanel){ .node = node };
		l->n_panels++;
	}
}

/* ---- cards ---- */

static bool group_crosses(const Topology *t, const TopologyGroup *group)
{
	for (size_t i = 1; i < group->n_gpus; i++)
		if (t->gpus[group->gpus[i]].numa_node != t->gpus[group->gpus[0]].numa_node)
			return true;
	return false;
}

/* The sort key of a card in its panel. */
typedef struct CardKey {
	bool alone; /* its group, if any, is in this panel only; the others come first */
	size_t first, gpu;
} CardKey;

static CardKey key_of(const Topology *t, size_t gpu)
{
	const TopologyGroup *group = topology_group(t, &t->gpus[gpu]);
	CardKey key = { .alone = !group || !group_crosses(t, group), .first = gpu, .gpu = gpu };

	for (size_t i = 0; group && i < group->n_gpus; i++)
		if (t->gpus[group->gpus[i]].numa_node == t->gpus[gpu].numa_node &&
		    group->gpus[i] < key.first)
			key.first = group->gpus[i];
	return key;
}

static bool card_before(const Layout *l, const LayoutCard *a, const LayoutCard *b)
{
	CardKey x = key_of(l->topology, a->gpu), y = key_of(l->topology, b->gpu);

	if (a->panel != b->panel)
		return a->panel < b->panel;
	if (x.alone != y.alone)
		return !x.alone;
	return x.first != y.first ? x.first < y.first : x.gpu < y.gpu;
}

static void find_chain(const Layout *l, LayoutCard *card)
{
	char **path = l->topology->gpus[card->gpu].path;
	size_t n = strv_length(path);

	card->chain = xcalloc(n + 1, sizeof(*card->chain));
	for (size_t i = 0; i < n; i++) {
		const TopologyBridge *bridge = topology_bridge(l->topology, path[i]);

		/* A switch is one bar, that of its upstream port. */
		if (!bridge || strcmp(bridge->kind, "downstream-port") != 0)
			card->chain[card->n_chain++] = path[i];
	}
}

static void add_cards(Layout *l)
{
	const Topology *t = l->topology;

	for (size_t i = 0; i < t->n_gpus; i++) {
		LayoutCard card = { .gpu = i, .panel = panel_of(l, t->gpus[i].numa_node) };
		size_t at = l->n_cards;

		find_chain(l, &card);
		for (; at > 0 && card_before(l, &card, &l->cards[at - 1]); at--)
			l->cards[at] = l->cards[at - 1];
		l->cards[at] = card;
		l->n_cards++;
	}
}

static size_t columns_for(const Layout *l)
{
	return l->n_panels <= 2 ? 4 : 2;
}

/* The number of cards from this one on that are of one group and in one panel. */
static size_t run_length(const Layout *l, size_t card)
{
	const Topology *t = l->topology;
	ssize_t group = t->gpus[l->cards[card].gpu].group;
	size_t n = 1;

	while (group >= 0 && card + n < l->n_cards &&
	       l->cards[card + n].panel == l->cards[card].panel &&
	       t->gpus[l->cards[card + n].gpu].group == group)
		n++;
	return n;
}

/* Fills row by row. A group that would break over two rows begins a new one, if it fits in one. */
static void flow_cards(Layout *l)
{
	size_t limit = columns_for(l), row = 0, column = 0;

	for (size_t i = 0; i < l->n_cards; i++) {
		LayoutPanel *panel = &l->panels[l->cards[i].panel];
		bool first = i == 0 || l->cards[i - 1].panel != l->cards[i].panel;
		bool begins = first || l->topology->gpus[l->cards[i - 1].gpu].group < 0 ||
			      l->topology->gpus[l->cards[i - 1].gpu].group !=
				      l->topology->gpus[l->cards[i].gpu].group;
		size_t run = begins ? run_length(l, i) : 1;

		if (first)
			row = column = 0;
		if (column == limit || (column > 0 && run <= limit && column + run > limit)) {
			row++;
			column = 0;
		}
		l->cards[i].row = row;
		l->cards[i].column = column++;
		if (column > panel->n_columns)
			panel->n_columns = column;
		panel->n_rows = row + 1;
	}
}

/* ---- bands, rows, x ---- */

/* Panels side by side share their rows; `row` of a card becomes the index of that shared row. */
static void share_rows(Layout *l)
{
	size_t first = 0;

	for (size_t band = 0; band * PANELS_A_BAND < l->n_panels; band++) {
		size_t begin = band * PANELS_A_BAND, rows = 0;

		for (size_t i = begin; i < l->n_panels && i < begin + PANELS_A_BAND; i++) {
			l->panels[i].band = band;
			if (l->panels[i].n_rows > rows)
				rows = l->panels[i].n_rows;
		}
		for (size_t i = 0; i < l->n_cards; i++)
			if (l->panels[l->cards[i].panel].band == band)
				l->cards[i].row += first;
		for (size_t i = 0; i < rows; i++)
			l->rows[first + i] = (LayoutRow){ .band = band };
		first += rows;
	}
	l->n_rows = first;
}

static int panel_width(const LayoutPanel *panel)
{
	int n = (int)panel->n_columns;

	return n * LAYOUT_CARD_W + (n - 1) * LAYOUT_GAP + 2 * LAYOUT_PAD;
}

void layout_place(Layout *l)
{
	int x = LAYOUT_MARGIN;

	add_panels(l);
	add_cards(l);
	flow_cards(l);
	share_rows(l);
	for (size_t i = 0; i < l->n_panels; i++) {
		LayoutPanel *panel = &l->panels[i];

		if (i > 0 && panel->band != l->panels[i - 1].band)
			x = LAYOUT_MARGIN;
		panel->x = x;
		panel->w = panel_width(panel);
		x += panel->w + LAYOUT_GAP;
		if (x - LAYOUT_GAP + LAYOUT_MARGIN > l->width)
			l->width = x - LAYOUT_GAP + LAYOUT_MARGIN;
	}
	for (size_t i = 0; i < l->n_cards; i++) {
		LayoutCard *card = &l->cards[i];
		LayoutRow *row = &l->rows[card->row];

		card->x = l->panels[card->panel].x + LAYOUT_PAD +
			  (int)card->column * (LAYOUT_CARD_W + LAYOUT_GAP);
		if (card->n_chain > row->levels)
			row->levels = card->n_chain;
	}
}

/* ---- y ---- */

static int row_height(const LayoutRow *row)
{
	return (int)row->levels * LAYOUT_LEVEL + LAYOUT_CARD_H +
	       (row->lanes > 0 ? LAYOUT_STUB + (int)row->lanes * LAYOUT_LANE : LAYOUT_PAD);
}

static void band_height(Layout *l, size_t band, int top, int bottom)
{
	for (size_t i = 0; i < l->n_panels; i++)
		if (l->panels[i].band == band) {
			l->panels[i].y = top;
			l->panels[i].h = bottom - top;
		}
}

void layout_heights(Layout *l)
{
	int y = LAYOUT_TOP, top = y;

	for (size_t i = 0; i < l->n_rows; i++) {
		LayoutRow *row = &l->rows[i];
		bool first = i == 0 || l->rows[i - 1].band != row->band;
		bool last = i + 1 == l->n_rows || l->rows[i + 1].band != row->band;

		if (first) {
			top = y;
			y += LAYOUT_HEADER;
		}
		row->y = y + 4;
		row->card_y = row->y + (int)row->levels * LAYOUT_LEVEL;
		y = row->y + row_height(row);
		if (last) {
			band_height(l, row->band, top, y);
			y += LAYOUT_GAP;
		}
	}
	for (size_t i = 0; i < l->n_cards; i++)
		l->cards[i].y = l->rows[l->cards[i].row].card_y;
	l->height = l->n_rows > 0 ? y - LAYOUT_GAP : y;
}
