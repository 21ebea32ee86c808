/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where things go in the picture of a host: a panel for each NUMA node; in it rows of cards, one a
 * GPU or companion, the bridges above it as bars, and below it the rail of its NVLink group. GPUs
 * of one group are side by side where they can be. Numbers are pixels; the same topology gives the
 * same layout.
 */
#pragma once

#include "topology/model.h"

#define LAYOUT_MARGIN 28
#define LAYOUT_TOP 92 /* title and subtitle */
#define LAYOUT_CARD_W 178
#define LAYOUT_CARD_H 112
#define LAYOUT_GAP 18
#define LAYOUT_PAD 18	 /* of a panel */
#define LAYOUT_HEADER 40 /* of a panel */
#define LAYOUT_BAR_H 22
#define LAYOUT_LEVEL 36 /* a bar, and the wire to what is below */
#define LAYOUT_LANE 30	/* a rail, with its label */
#define LAYOUT_STUB 17	/* from a card down to its first rail */

typedef struct LayoutPanel {
	int node; /* -1: not known */
	int x, y, w, h;
	size_t n_columns, n_rows;
	size_t band;
} LayoutPanel;

/* A row of cards, over all panels of one band. */
typedef struct LayoutRow {
	size_t band, levels, lanes;
	int y; /* of the topmost bar */
	int card_y;
} LayoutRow;

typedef struct LayoutCard {
	size_t device, panel, row, column; /* column: in the panel */
	size_t anchor; /* the GPU that it stands beside: itself, if it is one; SIZE_MAX: none */
	int x, y;
	const char **chain _owned_(free); /* bridges above that are drawn; borrowed */
	size_t n_chain;
} LayoutCard;

/* A root port or a switch, over the cards that hang on it. */
typedef struct LayoutBar {
	const char *address; /* borrowed */
	bool root;
	int x, y, w;
} LayoutBar;

typedef struct LayoutWire {
	int x, y1, y2;
} LayoutWire;

/* The part of a group's connector that is in one row. */
typedef struct LayoutRail {
	size_t group, row, lane;
	int x1, x2, y;
	int *stubs; /* x of each card */
	size_t n_stubs;
	bool joined; /* goes on to the trunk */
} LayoutRail;

/* Joins the rails of a group that is in several rows. */
typedef struct LayoutTrunk {
	size_t group;
	int x, y1, y2;
} LayoutTrunk;

typedef struct Layout {
	const Topology *topology; /* borrowed; must outlive it */
	LayoutPanel *panels;
	size_t n_panels;
	LayoutRow *rows;
	size_t n_rows;
	LayoutCard *cards; /* panel by panel, row by row, column by column */
	size_t n_cards;
	LayoutBar *bars;
	size_t n_bars;
	LayoutWire *wires;
	size_t n_wires;
	LayoutRail *rails;
	size_t n_rails;
	LayoutTrunk *trunks;
	size_t n_trunks;
	int width, height; /* of title and panels, without a bottom margin */
} Layout;

Layout *layout_new(const Topology *topology);
DECLARE_FREE(Layout, layout_free)
