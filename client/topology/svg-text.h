/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text in an SVG that is made without knowing the font it will be shown in: widths are those of
 * DejaVu Sans, which is wider than what browsers usually take for "sans-serif", so what fits here
 * fits there.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "gpupass/cleanup.h"

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
