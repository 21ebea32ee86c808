/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the picture share. */
#pragma once

#include "topology/layout.h"
#include "topology/svg-text.h"

typedef struct Svg {
	FILE *f;
	const Topology *topology;
	const Layout *layout;
	int width, height; /* of the whole picture */
} Svg;

/* How many domains have colours of their own; later ones reuse them, and differ by name. */
#define SVG_DOMAIN_COLOURS 6

/* Class of the element that holds what belongs to a look: "held2", "free". */
const char *svg_class(const Topology *t, TopologyLook look, const char *domain);
/* Style sheet: light, and dark where the viewer asks for it. */
void svg_styles(Svg *s);

typedef struct SvgText {
	int x, y, size, width; /* width: cut to it; 0: not cut */
	SvgFont font;
	const char *class;  /* "text", "dim" */
	const char *anchor; /* NULL: start */
} SvgText;
void svg_text(Svg *s, const SvgText *how, const char *text);
/* A small sign for the state, so that colour is not all that tells. */
void svg_sign(Svg *s, TopologyLook look, int x, int y);

/* Lines under the panels: what an operator should know of groups, and the legend. */
typedef struct SvgFoot SvgFoot;
SvgFoot *svg_foot_new(const Topology *topology, int width);
int svg_foot_height(const SvgFoot *foot);
void svg_foot_print(Svg *s, const SvgFoot *foot, int y);
DECLARE_FREE(SvgFoot, svg_foot_free)
