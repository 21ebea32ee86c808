/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/layout.h"

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

	for (size_t i = 0; i < t->n_devices; i++) {
		int node = t->devices[i].numa_node;
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
	return SOME_OF(group->gpus, group->n_gpus,
		       t->devices[it].numa_node != t->devices[group->gpus[0]].numa_node);
}

/*
 * A companion stands behind the last GPU with which it shares most bridges, so that one bar lies
 * over both; of its own group, if it can be.
 */
static size_t anchor_of(const Topology *t, size_t device)
{
	const TopologyDevice *d = &t->devices[device];
	size_t anchor = SIZE_MAX, best = 1;

	if (topology_is_gpu(d))
		return device;
	for (size_t i = 0; i < t->n_gpus; i++) {
		size_t shared = 2 * topology_shared(d, &t->devices[i]);

		if (shared > 0 && d->group >= 0 && t->devices[i].group == d->group)
			shared++;
		if (shared >= best) {
			anchor = i;
			best = shared;
		}
	}
	return anchor;
}

/* The group beside whose GPUs a card stands; -1: none. */
static ssize_t group_of(const Layout *l, size_t card)
{
	size_t anchor = l->cards[card].anchor;

	return anchor == SIZE_MAX ? -1 : l->topology->devices[anchor].group;
}

/* The sort key of a card in its panel. */
typedef struct CardKey {
	bool alone; /* its group, if any, is in this panel only; the others come first */
	size_t first, gpu;
} CardKey;

static CardKey key_of(const Topology *t, size_t gpu)
{
	const TopologyGroup *group = gpu < t->n_gpus ? topology_group(t, &t->devices[gpu]) : NULL;
	CardKey key = { .alone = !group || !group_crosses(t, group), .first = gpu, .gpu = gpu };

	for (size_t i = 0; group && i < group->n_gpus; i++)
		if (t->devices[group->gpus[i]].numa_node == t->devices[gpu].numa_node &&
		    group->gpus[i] < key.first)
			key.first = group->gpus[i];
	return key;
}

static bool card_before(const Layout *l, const LayoutCard *a, const LayoutCard *b)
{
	CardKey x = key_of(l->topology, a->anchor), y = key_of(l->topology, b->anchor);

	if (a->panel != b->panel)
		return a->panel < b->panel;
	if (x.alone != y.alone)
		return !x.alone;
	if (x.first != y.first)
		return x.first < y.first;
	return x.gpu != y.gpu ? x.gpu < y.gpu : a->device < b->device;
}

static void find_chain(const Layout *l, LayoutCard *card)
{
	char **path = l->topology->devices[card->device].path;
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

	for (size_t i = 0; i < t->n_devices; i++) {
		LayoutCard card = { .device = i,
				    .anchor = anchor_of(t, i),
				    .panel = panel_of(l, t->devices[i].numa_node) };
		size_t at = l->n_cards;

		find_chain(l, &card);
		for (; at > 0 && card_before(l, &card, &l->cards[at - 1]); at--)
			l->cards[at] = l->cards[at - 1];
		l->cards[at] = card;
		l->n_cards++;
	}
}

/* The number of GPUs' cards from this one on that are of one group and in one panel. */
static size_t run_length(const Layout *l, size_t card)
{
	const Topology *t = l->topology;
	ssize_t group = group_of(l, card);
	size_t n = 1;

	while (group >= 0 && card + n < l->n_cards &&
	       l->cards[card + n].panel == l->cards[card].panel &&
	       l->cards[card + n].device < t->n_gpus && group_of(l, card + n) == group)
		n++;
	return n;
}

/* Fills row by row. A group that would break over two rows begins a new one, if it fits in one. */
static void flow_cards(Layout *l)
{
	size_t limit = l->n_panels <= 2 ? 4 : 2, row = 0, column = 0;

	for (size_t i = 0; i < l->n_cards; i++) {
		LayoutPanel *panel = &l->panels[l->cards[i].panel];
		bool first = i == 0 || l->cards[i - 1].panel != l->cards[i].panel;
		bool begins =
			first || group_of(l, i - 1) < 0 || group_of(l, i - 1) != group_of(l, i);
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

/* Panels, rows and columns, and x of panels and cards. */
static void place(Layout *l)
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
	EACH (LayoutCard, card, l->cards, l->n_cards) {
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

/* With the rows' lanes, y of panels, rows and cards. */
static void set_heights(Layout *l)
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

/* ---- NVLinks ---- */

static void add_to_rail(Layout *l, size_t group, const LayoutCard *card)
{
	LayoutRail *rail = FIND(l->rails, l->n_rails, it->group == group && it->row == card->row);
	int x = card->x + LAYOUT_CARD_W / 2;

	if (!rail) {
		rail = &l->rails[l->n_rails++];
		*rail = (LayoutRail){ .group = group, .row = card->row, .x1 = x, .x2 = x };
		rail->stubs = xcalloc(l->n_cards + 1, sizeof(int));
	}
	rail->stubs[rail->n_stubs++] = x;
	if (x < rail->x1)
		rail->x1 = x;
	if (x > rail->x2)
		rail->x2 = x;
}

/* Each trunk has a margin of its own, right of all panels. */
static void add_trunks(Layout *l)
{
	int x = l->width - LAYOUT_MARGIN + LAYOUT_GAP;

	for (size_t group = 0; group < l->topology->n_groups; group++) {
		if (COUNT(l->rails, l->n_rails, it->group == group) < 2)
			continue;
		l->trunks[l->n_trunks++] = (LayoutTrunk){ .group = group, .x = x };
		for (size_t i = 0; i < l->n_rails; i++)
			if (l->rails[i].group == group) {
				l->rails[i].joined = true;
				l->rails[i].x2 = x;
			}
		x += LAYOUT_GAP;
	}
	if (l->n_trunks > 0)
		l->width = x - LAYOUT_GAP + LAYOUT_MARGIN;
}

/* At least half the width of a label, so that labels of neighbours do not touch either. */
#define LABEL_ROOM (LAYOUT_CARD_W / 2)

static bool overlap(const LayoutRail *a, const LayoutRail *b)
{
	return a->x1 - LABEL_ROOM < b->x2 + LABEL_ROOM && b->x1 - LABEL_ROOM < a->x2 + LABEL_ROOM;
}

static void choose_lane(Layout *l, LayoutRail *rail)
{
	LayoutRow *row = &l->rows[rail->row];

	for (size_t i = 0; i < l->n_rails; i++) {
		const LayoutRail *other = &l->rails[i];

		if (other == rail)
			break;
		if (other->row == rail->row && other->lane == rail->lane && overlap(other, rail)) {
			rail->lane++;
			i = SIZE_MAX; /* from the start, in the next lane */
		}
	}
	if (rail->lane + 1 > row->lanes)
		row->lanes = rail->lane + 1;
}

/* Rails and lanes of each row, and trunks, which need x of all cards. */
static void add_rails(Layout *l)
{
	for (size_t i = 0; i < l->n_cards; i++) {
		ssize_t group = group_of(l, i);

		if (group >= 0 && l->cards[i].device < l->topology->n_gpus)
			add_to_rail(l, (size_t)group, &l->cards[i]);
	}
	add_trunks(l);
	for (size_t i = 0; i < l->n_rails; i++)
		choose_lane(l, &l->rails[i]);
}

/* When y of all cards is known, y of rails and trunks. */
static void set_rail_heights(Layout *l)
{
	EACH (LayoutRail, rail, l->rails, l->n_rails)
		rail->y = l->rows[rail->row].card_y + LAYOUT_CARD_H + LAYOUT_STUB +
			  (int)rail->lane * LAYOUT_LANE;
	EACH (LayoutTrunk, trunk, l->trunks, l->n_trunks) {
		EACH (const LayoutRail, rail, l->rails, l->n_rails) {
			if (rail->group != trunk->group)
				continue;
			if (trunk->y1 == 0 || rail->y < trunk->y1)
				trunk->y1 = rail->y;
			if (rail->y > trunk->y2)
				trunk->y2 = rail->y;
		}
	}
}

/* ---- bridges ---- */

static const char *bridge_at(const LayoutCard *card, size_t level)
{
	return level < card->n_chain ? card->chain[level] : NULL;
}

/* The next card is in the same row of the same panel, and hangs on the same bridge. */
static bool shares(const LayoutCard *card, const LayoutCard *next, size_t level)
{
	const char *a = bridge_at(card, level), *b = bridge_at(next, level);

	return card->panel == next->panel && card->row == next->row && a && b && strcmp(a, b) == 0;
}

static void add_bar(Layout *l, size_t first, size_t last, size_t level)
{
	const LayoutCard *card = &l->cards[first];

	l->bars[l->n_bars++] = (LayoutBar){
		.address = bridge_at(card, level),
		.root = level == 0,
		.x = card->x,
		.y = l->rows[card->row].y + (int)level * LAYOUT_LEVEL,
		.w = l->cards[last].x + LAYOUT_CARD_W - card->x,
	};
}

/* From a bar down to what hangs on it: the bar below, or the cards. */
static void add_wire(Layout *l, size_t first, size_t last, size_t level)
{
	const LayoutCard *card = &l->cards[first];
	const LayoutRow *row = &l->rows[card->row];
	int x1 = card->x, x2 = l->cards[last].x + LAYOUT_CARD_W;
	bool bar = bridge_at(card, level) != NULL;

	l->wires[l->n_wires++] = (LayoutWire){
		.x = (x1 + x2) / 2,
		.y1 = row->y + (int)(level - 1) * LAYOUT_LEVEL + LAYOUT_BAR_H,
		.y2 = bar ? row->y + (int)level * LAYOUT_LEVEL : row->card_y,
	};
}

static void add_bars(Layout *l)
{
	size_t levels = 0;

	for (size_t i = 0; i < l->n_rows; i++)
		if (l->rows[i].levels > levels)
			levels = l->rows[i].levels;
	for (size_t level = 0; level <= levels; level++)
		for (size_t i = 0; i < l->n_cards; i++) {
			size_t last = i;

			while (last + 1 < l->n_cards &&
			       shares(&l->cards[last], &l->cards[last + 1], level))
				last++;
			if (bridge_at(&l->cards[i], level))
				add_bar(l, i, last, level);
			if (level > 0 && bridge_at(&l->cards[i], level - 1))
				add_wire(l, i, last, level);
			i = last;
		}
}

/* ---- the whole ---- */

#include "layout.inc"

Layout *layout_new(const Topology *topology)
{
	Layout *l = xcalloc(1, sizeof(*l));
	size_t n = topology->n_devices + 1;
	size_t levels =
		1 + COUNT(topology->devices, topology->n_devices, strv_length(it->path) + 1);

	l->topology = topology;
	l->panels = xcalloc(n, sizeof(*l->panels));
	l->rows = xcalloc(n, sizeof(*l->rows));
	l->cards = xcalloc(n, sizeof(*l->cards));
	l->rails = xcalloc(n, sizeof(*l->rails));
	l->trunks = xcalloc(topology->n_groups + 1, sizeof(*l->trunks));
	l->bars = xcalloc(levels, sizeof(*l->bars));
	l->wires = xcalloc(levels, sizeof(*l->wires));
	place(l);
	add_rails(l);
	set_heights(l);
	set_rail_heights(l);
	add_bars(l);
	return l;
}
