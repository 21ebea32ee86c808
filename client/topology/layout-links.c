/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "topology/layout-parts.h"

#include <string.h>

#include "util/xalloc.h"

/* ---- NVLinks ---- */

static LayoutRail *rail_of(Layout *l, size_t group, size_t row)
{
	for (size_t i = 0; i < l->n_rails; i++)
		if (l->rails[i].group == group && l->rails[i].row == row)
			return &l->rails[i];
	return NULL;
}

static void add_to_rail(Layout *l, size_t group, const LayoutCard *card)
{
	LayoutRail *rail = rail_of(l, group, card->row);
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

static size_t count_rails(const Layout *l, size_t group)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_rails; i++)
		n += l->rails[i].group == group;
	return n;
}

/* Each trunk has a margin of its own, right of all panels. */
static void add_trunks(Layout *l)
{
	int x = l->width - LAYOUT_MARGIN + LAYOUT_GAP;

	for (size_t group = 0; group < l->topology->n_groups; group++) {
		if (count_rails(l, group) < 2)
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

void layout_rails(Layout *l)
{
	for (size_t i = 0; i < l->n_cards; i++) {
		ssize_t group = l->topology->gpus[l->cards[i].gpu].group;

		if (group >= 0)
			add_to_rail(l, (size_t)group, &l->cards[i]);
	}
	add_trunks(l);
	for (size_t i = 0; i < l->n_rails; i++)
		choose_lane(l, &l->rails[i]);
}

void layout_rail_heights(Layout *l)
{
	for (size_t i = 0; i < l->n_rails; i++) {
		LayoutRail *rail = &l->rails[i];

		rail->y = l->rows[rail->row].card_y + LAYOUT_CARD_H + LAYOUT_STUB +
			  (int)rail->lane * LAYOUT_LANE;
	}
	for (size_t i = 0; i < l->n_trunks; i++) {
		LayoutTrunk *trunk = &l->trunks[i];

		for (size_t k = 0; k < l->n_rails; k++) {
			const LayoutRail *rail = &l->rails[k];

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

void layout_bars(Layout *l)
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
