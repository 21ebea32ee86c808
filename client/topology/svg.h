/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the picture share. */
#pragma once

#include "topology/layout.h"

/* ---- text ---- */

/*
 * Text in an SVG that is made without knowing the font it will be shown in: widths are those of
 * DejaVu Sans, which is wider than what browsers usually take for "sans-serif", so what fits here
 * fits there.
 */
typedef enum SvgFont { SVG_PLAIN, SVG_BOLD, SVG_MONO } SvgFont;

/* Pixels, rounded up. */
int svg_text_width(const char *s, SvgFont font, int size);
/* A copy that is no wider, with an ellipsis where something was cut. */
char *svg_text_fit(const char *s, SvgFont font, int size, int width);
/*
 * Breaks at blanks into lines no wider than that, `max` of them at most; the last then ends in an
 * ellipsis. A strv.
 */
char **svg_text_wrap(const char *s, SvgFont font, int size, int width, size_t max);
/* As XML text or attribute value; what XML 1.0 cannot hold becomes U+FFFD. */
void svg_escape(FILE *f, const char *s);

/* ---- the parts ---- */

typedef struct Svg {
	FILE *f;
	const Topology *topology;
	const Layout *layout;
	int width, height; /* of the whole picture */
} Svg;

void svg_styles(Svg *s);
/* Class of the element that holds what belongs to a look: "held2", "free". */
const char *svg_class(const Topology *t, TopologyLook look, const char *domain);

/* Cut to the width, unless that is 0. class: "text", "dim"; anchor NULL: start. */
void svg_text(Svg *s, int x, int y, int size, int width, SvgFont font, const char *class,
	      const char *anchor, const char *text);
/* A small sign for the state, so that colour is not all that tells. */
void svg_sign(Svg *s, TopologyLook look, int x, int y);

/* Lines under the panels: what an operator should know of groups, and the legend. */
typedef struct SvgFoot SvgFoot;
SvgFoot *svg_foot_new(const Topology *topology, int width);
int svg_foot_height(const SvgFoot *foot);
void svg_foot_print(Svg *s, const SvgFoot *foot, int y);
DECLARE_FREE(SvgFoot, svg_foot_free)
