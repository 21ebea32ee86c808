/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours, signs and text of the picture. */
#include "topology/svg.h"

#include "util/xalloc.h"

/*
 * Colours. Those of domains and states can be told apart with the usual kinds of colour blindness
 * (after Okabe and Ito, and Tol). Vermilion and amber are reserved for what needs attention, and
 * every state also has a sign of its own.
 */
typedef struct Shade {
	const char *light, *dark;
} Shade;

typedef struct Accent {
	const char *class;
	Shade colour;
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

/* How many domains have colours of their own; later ones reuse them, and differ by name. */
#define DOMAIN_COLOURS 6

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
	return accents[index % DOMAIN_COLOURS].class;
}

/* What stands before the shade, and behind it. */
static const struct {
	const char *before, *behind;
	Shade shade;
} surfaces[] = {
	{ ".page{fill:", "}", { "#eef1f5", "#0f1216" } },
	{ ".panel{fill:", ";", { "#ffffff", "#191d23" } },
	{ "stroke:", "}", { "#cfd6df", "#343c47" } },
	{ ".card{fill:", "}\n", { "#ffffff", "#20262e" } },
	{ ".text{fill:", "}", { "#16191d", "#eceff3" } },
	{ ".dim{fill:", "}", { "#55606d", "#a3aebb" } },
	{ ".wire{stroke:", "}\n", { "#9aa5b2", "#66727f" } },
	{ ".port{fill:", "}", { "#e6eaf0", "#2a323c" } },
	{ ".switch{fill:", "}", { "#d3dae4", "#3a4552" } },
	{ ".halo{stroke:", "}", { "#ffffff", "#191d23" } },
	{ ".gap{stroke:", "}", { "#eef1f5", "#0f1216" } },
	{ ".pill{fill:", "}\n", { "#ffffff", "#191d23" } },
};

static void print_theme(FILE *f, bool dark)
{
	for (size_t i = 0; i < ELEMENTS(surfaces); i++)
		fprintf(f, "%s%s%s", surfaces[i].before,
			dark ? surfaces[i].shade.dark : surfaces[i].shade.light,
			surfaces[i].behind);
	EACH (const Accent, a, accents, ELEMENTS(accents)) {
		const char *colour = dark ? a->colour.dark : a->colour.light;

		fprintf(f, ".%s .line,.%s .pill{stroke:%s}.%s .fill{fill:%s}\n", a->class, a->class,
			colour, a->class, colour);
	}
}

/* Style sheet: light, and dark where the viewer asks for it. */
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

void svg_text(Svg *s, int x, int y, int size, int width, SvgFont font, const char *class,
	      const char *anchor, const char *text)
{
	static const char *const fonts[] = {
		[SVG_PLAIN] = "", [SVG_BOLD] = " bold", [SVG_MONO] = " mono"
	};
	_cleanup_free_ char *fitted =
		width > 0 ? svg_text_fit(text, font, size, width) : xstrdup(text);

	fprintf(s->f, "<text class=\"%s%s\" x=\"%d\" y=\"%d\" font-size=\"%d\"", class, fonts[font],
		x, y, size);
	if (anchor)
		fprintf(s->f, " text-anchor=\"%s\"", anchor);
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
