/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Colours. Those of domains and states can be told apart with the usual kinds of colour blindness
 * (after Okabe and Ito, and Tol). Vermilion and amber are reserved for what needs attention, and
 * every state also has a sign of its own.
 */
#include <string.h>

#include "topology/svg-private.h"
#include "util/xalloc.h"

typedef struct Colour {
	const char *light, *dark;
} Colour;

typedef struct Accent {
	const char *class;
	Colour colour;
} Accent;

static const Accent accents[] = {
	{ "held0", { "#0072b2", "#4ba3dd" } },	{ "held1", { "#009e73", "#2fc29a" } },
	{ "held2", { "#aa4499", "#d47cc6" } },	{ "held3", { "#7a7a1f", "#bdbd55" } },
	{ "held4", { "#3aa0d8", "#8fd0f5" } },	{ "held5", { "#882255", "#cf6f9f" } },
	{ "free", { "#5f6b7a", "#9aa7b6" } },	{ "bound", { "#44505e", "#c2ccd6" } },
	{ "moving", { "#332288", "#a99cf0" } }, { "unsure", { "#b98a00", "#e3b92e" } },
	{ "bad", { "#d55e00", "#ff8a3c" } },	{ "closed", { "#c0392b", "#ff6f61" } },
	{ "none", { "#a5aeb9", "#5c6774" } },
};

const char *svg_class(const Topology *t, TopologyLook look, const char *domain)
{
	static const char *const classes[] = {
		[LOOK_NONE] = "none", [LOOK_FREE] = "free",	[LOOK_BOUND] = "bound",
		[LOOK_HELD] = NULL,   [LOOK_MOVING] = "moving", [LOOK_UNSURE] = "unsure",
		[LOOK_BAD] = "bad",   [LOOK_CLOSED] = "closed",
	};
	size_t index = 0;

	if (classes[look])
		return classes[look];
	while (t->domains && t->domains[index] && strcmp(t->domains[index], domain) != 0)
		index++;
	return accents[index % SVG_DOMAIN_COLOURS].class;
}

static const struct {
	Colour page, panel, edge, card, text, dim, wire, port, switch_;
} surfaces = {
	.page = { "#eef1f5", "#0f1216" },
	.panel = { "#ffffff", "#191d23" },
	.edge = { "#cfd6df", "#343c47" },
	.card = { "#ffffff", "#20262e" },
	.text = { "#16191d", "#eceff3" },
	.dim = { "#55606d", "#a3aebb" },
	.wire = { "#9aa5b2", "#66727f" },
	.port = { "#e6eaf0", "#2a323c" },
	.switch_ = { "#d3dae4", "#3a4552" },
};

static void print_theme(FILE *f, bool dark)
{
#define IN_THEME(name) (dark ? surfaces.name.dark : surfaces.name.light)
	fprintf(f,
		".page{fill:%s}.panel{fill:%s;stroke:%s}.card{fill:%s}\n"
		".text{fill:%s}.dim{fill:%s}.wire{stroke:%s}\n"
		".port{fill:%s}.switch{fill:%s}.halo{stroke:%s}.gap{stroke:%s}.pill{fill:%s}\n",
		IN_THEME(page), IN_THEME(panel), IN_THEME(edge), IN_THEME(card), IN_THEME(text),
		IN_THEME(dim), IN_THEME(wire), IN_THEME(port), IN_THEME(switch_), IN_THEME(panel),
		IN_THEME(page), IN_THEME(panel));
#undef IN_THEME
	for (size_t i = 0; i < ELEMENTS(accents); i++) {
		const Accent *a = &accents[i];
		const char *colour = dark ? a->colour.dark : a->colour.light;

		fprintf(f, ".%s .line,.%s .pill{stroke:%s}.%s .fill{fill:%s}\n", a->class, a->class,
			colour, a->class, colour);
	}
}

void svg_styles(Svg *s)
{
	FILE *f = s->f;

	fputs("<style>\n"
	      "text{font-family:'Helvetica Neue',Arial,'DejaVu Sans',sans-serif}\n"
	      ".mono{font-family:Menlo,Consolas,'DejaVu Sans Mono',monospace}\n"
	      ".bold{font-weight:bold}\n"
	      ".panel{stroke-width:1}.wire{stroke-width:2;fill:none}\n"
	      ".line{fill:none}.box{stroke-width:2}\n"
	      ".rail{stroke-width:8;stroke-linecap:round;stroke-linejoin:round}\n"
	      ".halo,.gap{stroke-width:14;fill:none;stroke-linejoin:round}\n"
	      ".tint{fill-opacity:.1}.hatch{stroke-width:2;stroke-opacity:.17}\n"
	      ".inferred{stroke-dasharray:8 14}\n"
	      ".none-known{stroke-width:4;stroke-dasharray:1 9}\n",
	      f);
	print_theme(f, false);
	fputs("@media (prefers-color-scheme:dark){\n", f);
	print_theme(f, true);
	fputs("}\n</style>\n", f);
}

void svg_text(Svg *s, const SvgText *how, const char *text)
{
	static const char *const fonts[] = {
		[SVG_PLAIN] = "", [SVG_BOLD] = " bold", [SVG_MONO] = " mono"
	};
	_cleanup_free_ char *fitted = how->width > 0
					      ? svg_text_fit(text, how->font, how->size, how->width)
					      : xstrdup(text);

	fprintf(s->f, "<text class=\"%s%s\" x=\"%d\" y=\"%d\" font-size=\"%d\"", how->class,
		fonts[how->font], how->x, how->y, how->size);
	if (how->anchor)
		fprintf(s->f, " text-anchor=\"%s\"", how->anchor);
	fputc('>', s->f);
	svg_escape(s->f, fitted);
	fputs("</text>\n", s->f);
}

void svg_sign(Svg *s, TopologyLook look, int x, int y)
{
	FILE *f = s->f;

	switch (look) {
	case LOOK_HELD:
		fprintf(f, "<circle class=\"fill\" cx=\"%d\" cy=\"%d\" r=\"5\"/>\n", x, y);
		break;
	case LOOK_BOUND: /* half taken */
		fprintf(f,
			"<circle class=\"line box\" cx=\"%d\" cy=\"%d\" r=\"4\"/>"
			"<circle class=\"fill\" cx=\"%d\" cy=\"%d\" r=\"2\"/>\n",
			x, y, x, y);
		break;
	case LOOK_MOVING:
		fprintf(f, "<path class=\"fill\" d=\"M%d %dl9 5l-9 5z\"/>\n", x - 4, y - 5);
		break;
	case LOOK_UNSURE:
		fprintf(f, "<path class=\"line box\" d=\"M%d %dl5 5l-5 5l-5 -5z\"/>\n", x, y - 5);
		break;
	case LOOK_BAD:
		fprintf(f, "<path class=\"fill\" d=\"M%d %dl6 11h-12z\"/>\n", x, y - 6);
		break;
	case LOOK_CLOSED:
		fprintf(f, "<path class=\"line\" stroke-width=\"3\" d=\"M%d %dl8 8m0 -8l-8 8\"/>\n",
			x - 4, y - 4);
		break;
	case LOOK_FREE:
	case LOOK_NONE:
	case LOOK_MAX_:
		fprintf(f, "<circle class=\"line box\" cx=\"%d\" cy=\"%d\" r=\"4\"/>\n", x, y);
		break;
	}
}
