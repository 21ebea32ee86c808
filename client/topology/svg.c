/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture of a host: an SVG that stands alone, the same for the same topology. */
#include "topology/svg.h"

#include "base/text.h"
#include "util/xalloc.h"

#define WIDTH_MIN 680 /* for title and legend of a host with one GPU */
#define INSET 14      /* of text in a card */

/* ---- title ---- */

static size_t count_held(const Topology *t)
{
	return COUNT(t->devices, t->n_gpus, *it->domain != '\0');
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static char *subtitle(const Topology *t)
{
	size_t linked = COUNT(t->groups, t->n_groups, topology_group_linked(it));
	size_t domains = strv_length(t->domains);
	static const char *const kinds[] = { "nic", "nvme", "vf" };
	_cleanup_strv_ char **parts = NULL;

	strv_appendf(&parts, "%zu GPU%s", t->n_gpus, plural(t->n_gpus));
	for (size_t i = 0; i < ELEMENTS(kinds); i++) {
		size_t n = COUNT(t->devices, t->n_devices, strcmp(it->kind, kinds[i]) == 0);

		if (n > 0)
			strv_appendf(&parts, "%zu %s%s", n, topology_noun(kinds[i]), plural(n));
	}
	if (linked > 0)
		strv_appendf(&parts, "%zu NVLink group%s", linked, plural(linked));
	if (t->n_nodes > 0)
		strv_appendf(&parts, "%zu NUMA node%s", t->n_nodes, plural(t->n_nodes));
	if (t->n_nvswitches > 0)
		strv_appendf(&parts, "%u NVSwitch%s", t->n_nvswitches,
			     t->n_nvswitches == 1 ? "" : "es");
	if (domains > 0)
		strv_appendf(&parts, "%zu GPU%s in %zu domain%s", count_held(t),
			     plural(count_held(t)), domains, plural(domains));
	if (!t->iommu)
		strv_append(&parts, "the IOMMU is off");
	return strv_join(parts, "  ·  ");
}

static void print_title(Svg *s)
{
	const Topology *t = s->topology;
	_cleanup_free_ char *title = strf("GPUs of %s", *t->host ? t->host : "this host");
	_cleanup_free_ char *parts = subtitle(t);
	int width = s->width - 2 * LAYOUT_MARGIN;

	svg_text(s, LAYOUT_MARGIN, 46, 25, width, SVG_BOLD, "text", NULL, title);
	svg_text(s, LAYOUT_MARGIN, 72, 14, width, SVG_PLAIN, "dim", NULL, parts);
}

/* Processors and memory, for its heading. */
static char *node_text(const Topology *t, int node)
{
	const TopologyNode *n = topology_node(t, node);
	_cleanup_strv_ char **parts = NULL;

	if (n && *n->cpus)
		strv_appendf(&parts, "CPUs %s", n->cpus);
	if (n && n->memory_bytes >> 30 > 0)
		strv_appendf(&parts, "%llu GiB", (unsigned long long)(n->memory_bytes >> 30));
	return strv_join(parts, "  ·  ");
}

/* ---- panels ---- */

static void print_panel(Svg *s, const LayoutPanel *panel)
{
	_cleanup_free_ char *name = NULL, *facts = node_text(s->topology, panel->node);
	int room = panel->w - 2 * LAYOUT_PAD, used;

	if (panel->node >= 0)
		name = strf("NUMA node %d", panel->node);
	else
		name = xstrdup(s->topology->n_nodes > 0 ? "NUMA node not known" : "No NUMA");
	fprintf(s->f,
		"<rect class=\"panel\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"12\"/>\n",
		panel->x, panel->y, panel->w, panel->h);
	svg_text(s, panel->x + LAYOUT_PAD, panel->y + 27, 15, room, SVG_BOLD, "text", NULL, name);
	used = svg_text_width(name, SVG_BOLD, 15) + 16;
	/* Half of a list of CPUs misleads less than no list. */
	if (room - used > 60)
		svg_text(s, panel->x + panel->w - LAYOUT_PAD, panel->y + 27, 12, room - used,
			 SVG_PLAIN, "dim", "end", facts);
}

/* ---- bridges ---- */

static char *bar_text(const Svg *s, const LayoutBar *bar)
{
	const TopologyBridge *bridge = topology_bridge(s->topology, bar->address);
	const char *kind = bar->root ? "root port" : "switch";

	if (bridge && strcmp(bridge->kind, "bridge") == 0)
		kind = "bridge";
	if (bridge && *bridge->vendor && bar->w > LAYOUT_CARD_W)
		return strf("%s %s  ·  %s:%s", kind, bar->address, bridge->vendor, bridge->device);
	return strf("%s %s", kind, bar->address);
}

static void print_bar(Svg *s, const LayoutBar *bar)
{
	_cleanup_free_ char *text = bar_text(s, bar);

	fprintf(s->f,
		"<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>\n",
		bar->root ? "port" : "switch", bar->x, bar->y, bar->w, LAYOUT_BAR_H);
	svg_text(s, bar->x + bar->w / 2, bar->y + 15, 11, bar->w - 12, SVG_PLAIN, "dim", "middle",
		 text);
}

static void print_wires(Svg *s)
{
	const Layout *l = s->layout;

	for (size_t i = 0; i < l->n_wires; i++)
		fprintf(s->f, "<path class=\"wire\" d=\"M%d %dV%d\"/>\n", l->wires[i].x,
			l->wires[i].y1, l->wires[i].y2);
}

/* ---- NVLinks ---- */

static const char *rail_style(const TopologyGroup *group)
{
	if (topology_group_single(group))
		return "";
	if (!topology_group_linked(group))
		return " none-known";
	return strcmp(group->provenance, "inferred") == 0 ? " inferred" : "";
}

static const char *group_class(const Svg *s, const TopologyGroup *group)
{
	return svg_class(s->topology, group->look, group->domain);
}

/*
 * The halo makes lines that cross pass below. It ends before the trunk that the rail continues to,
 * and begins below the first lane.
 */
static void print_halo(Svg *s, const LayoutRail *rail)
{
	int top = s->layout->rows[rail->row].card_y + LAYOUT_CARD_H + 3;

	fprintf(s->f, "<path class=\"halo\" d=\"M%d %dH%d", rail->x1, rail->y,
		rail->x2 - (rail->joined ? LAYOUT_GAP / 2 : 0));
	for (size_t i = 0; rail->lane > 0 && i < rail->n_stubs; i++)
		fprintf(s->f, "M%d %dV%d", rail->stubs[i], top, rail->y);
	fputs("\"/>", s->f);
}

static void print_rail(Svg *s, const LayoutRail *rail)
{
	const TopologyGroup *group = &s->topology->groups[rail->group];
	int bottom = s->layout->rows[rail->row].card_y + LAYOUT_CARD_H;

	fprintf(s->f, "<g class=\"%s\">", group_class(s, group));
	if (rail->lane > 0 || rail->joined)
		print_halo(s, rail);
	fprintf(s->f, "<path class=\"line rail%s\" d=\"", rail_style(group));
	for (size_t i = 0; i < rail->n_stubs; i++)
		fprintf(s->f, "M%d %dV%d", rail->stubs[i], bottom, rail->y);
	fprintf(s->f, "M%d %dH%d\"/></g>\n", rail->x1, rail->y, rail->x2);
}

static void print_trunk(Svg *s, const LayoutTrunk *trunk)
{
	const TopologyGroup *group = &s->topology->groups[trunk->group];

	fprintf(s->f,
		"<g class=\"%s\"><path class=\"gap\" d=\"M%d %dV%d\"/>"
		"<path class=\"line rail%s\" d=\"M%d %dV%d\"/></g>\n",
		group_class(s, group), trunk->x, trunk->y1, trunk->y2, rail_style(group), trunk->x,
		trunk->y1, trunk->y2);
}

static char *rail_text(const TopologyGroup *group)
{
	_cleanup_free_ char *link = topology_link_text(group);

	if (topology_group_single(group))
		return xstrdup(group->name);
	if (!topology_group_linked(group))
		return strf("%s  ·  ?", group->name);
	return strf("%s  ·  %s%s", group->name, link, group->n_gpus > 2 ? " a pair" : "");
}

/* The label sits on the rail, and is never wider than the rail. */
static void print_label(Svg *s, const LayoutRail *rail)
{
	const TopologyGroup *group = &s->topology->groups[rail->group];
	int first = rail->stubs[0], last = rail->stubs[0], room, width, x;
	_cleanup_free_ char *full = rail_text(group), *text = NULL;

	for (size_t i = 0; i < rail->n_stubs; i++) {
		first = rail->stubs[i] < first ? rail->stubs[i] : first;
		last = rail->stubs[i] > last ? rail->stubs[i] : last;
	}
	room = (last - first > LAYOUT_CARD_W ? last - first : LAYOUT_CARD_W) - 24;
	text = svg_text_fit(full, SVG_BOLD, 12, room);
	width = svg_text_width(text, SVG_BOLD, 12) + 20;
	x = (first + last) / 2;
	fprintf(s->f,
		"<g class=\"%s\"><rect class=\"pill box\" x=\"%d\" y=\"%d\""
		" width=\"%d\" height=\"22\" rx=\"11\"/></g>\n",
		group_class(s, group), x - width / 2, rail->y - 11, width);
	svg_text(s, x, rail->y + 4, 12, 0, SVG_BOLD, "text", "middle", text);
}

/* ---- cards ---- */

static void card_tooltip(Svg *s, const TopologyDevice *gpu)
{
	fputs("<title>", s->f);
	svg_escape(s->f, gpu->address);
	fputs(" ", s->f);
	svg_escape(s->f, gpu->model);
	for (size_t i = 0; gpu->functions && gpu->functions[i]; i++) {
		fputs("\n", s->f);
		svg_escape(s->f, gpu->functions[i]);
	}
	fputs("</title>\n", s->f);
}

/* For an assigned GPU the domain says everything. Any other GPU shows its state, and its domain. */
static char *holder_text(const Topology *t, const TopologyDevice *gpu)
{
	if (!*gpu->domain)
		return xstrdup(gpu->state);
	if (gpu->look == LOOK_HELD && topology_group(t, gpu))
		return xstrdup(gpu->domain);
	return strf("%s · %s", gpu->domain, gpu->state);
}

/* A GPU's functions and slot; of a companion how far it is from the nearest GPU. */
static char *parts_text(const Topology *t, const TopologyDevice *device)
{
	size_t n = strv_length(device->functions), at = (size_t)(device - t->devices);
	ssize_t gpu = topology_is_gpu(device) ? -1 : topology_nearest_gpu(t, at);

	if (gpu >= 0)
		return strf("%s to %s", topology_cell(t, at, (size_t)gpu), t->devices[gpu].address);
	if (!topology_is_gpu(device))
		return xstrdup("");
	return strf("%zu function%s%s%s", n, plural(n), *device->slot ? " · slot " : "",
		    device->slot);
}

static void card_lines(Svg *s, const TopologyDevice *gpu)
{
	const char *bound = *gpu->driver ? gpu->driver : "no driver";
	_cleanup_free_ char *holder = holder_text(s->topology, gpu);
	_cleanup_free_ char *driver = gpu->iommu_group >= 0
					      ? strf("%s · IOMMU %d", bound, gpu->iommu_group)
					      : strf("%s · no IOMMU", bound);
	_cleanup_free_ char *parts = parts_text(s->topology, gpu);
	int width = LAYOUT_CARD_W - 2 * INSET;

	svg_text(s, INSET, 30, 15, width, SVG_BOLD, "text", NULL, *gpu->model ? gpu->model : "GPU");
	svg_text(s, INSET, 48, 12, width, SVG_MONO, "text", NULL, gpu->address);
	svg_text(s, INSET, 65, 12, width, SVG_PLAIN, "dim", NULL, driver);
	svg_text(s, INSET, 81, 12, width, SVG_PLAIN, "dim", NULL, parts);
	svg_sign(s, gpu->look, INSET + 5, 97);
	svg_text(s, INSET + 17, 101, 12, width - 17, SVG_BOLD, "text", NULL, holder);
}

/* Text has an <svg> of its own, which clips text that an unusual font makes wider than measured. */
static void print_card(Svg *s, const LayoutCard *card)
{
	const TopologyDevice *gpu = &s->topology->devices[card->device];
	int w = LAYOUT_CARD_W, h = LAYOUT_CARD_H;

	fprintf(s->f, "<svg class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">\n",
		svg_class(s->topology, gpu->look, gpu->domain), card->x, card->y, w, h);
	card_tooltip(s, gpu);
	fprintf(s->f, "<rect class=\"card\" width=\"%d\" height=\"%d\" rx=\"10\"/>", w, h);
	fprintf(s->f, "<rect class=\"fill tint\" width=\"%d\" height=\"%d\" rx=\"10\"/>", w, h);
	if (gpu->look == LOOK_CLOSED)
		for (int x = -h + 14; x < w; x += 14)
			fprintf(s->f, "<path class=\"line hatch\" d=\"M%d %dl%d -%d\"/>", x, h, h,
				h);
	fprintf(s->f, "<path class=\"fill\" d=\"M0 10a10 10 0 0 1 10 -10h%da10 10 0 0 1 10 10z\"/>",
		w - 20);
	fprintf(s->f,
		"<rect class=\"line box\" x=\"1\" y=\"1\" width=\"%d\" height=\"%d\" "
		"rx=\"9\"%s/>\n",
		w - 2, h - 2, gpu->look == LOOK_UNSURE ? " stroke-dasharray=\"6 5\"" : "");
	card_lines(s, gpu);
	fputs("</svg>\n", s->f);
}

/* ---- the whole ---- */

static void print_body(Svg *s)
{
	const Layout *l = s->layout;

	for (size_t i = 0; i < l->n_panels; i++)
		print_panel(s, &l->panels[i]);
	print_wires(s);
	for (size_t i = 0; i < l->n_bars; i++)
		print_bar(s, &l->bars[i]);
	for (size_t i = 0; i < l->n_trunks; i++)
		print_trunk(s, &l->trunks[i]);
	for (size_t i = 0; i < l->n_rails; i++)
		print_rail(s, &l->rails[i]);
	for (size_t i = 0; i < l->n_cards; i++)
		print_card(s, &l->cards[i]);
	for (size_t i = 0; i < l->n_rails; i++)
		print_label(s, &l->rails[i]);
}

void topology_print_svg(FILE *f, const Topology *topology)
{
	_cleanup_(layout_freep) Layout *layout = layout_new(topology);
	_cleanup_(svg_foot_freep) SvgFoot *foot = NULL;
	Svg s = { .f = f, .topology = topology, .layout = layout };

	s.width = layout->width > WIDTH_MIN ? layout->width : WIDTH_MIN;
	foot = svg_foot_new(topology, s.width - 2 * LAYOUT_MARGIN);
	s.height = layout->height + svg_foot_height(foot);
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\""
		" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>GPUs of ",
		s.width, s.height, s.width, s.height);
	svg_escape(f, *topology->host ? topology->host : "this host");
	fputs(", and how they reach each other</title>\n", f);
	svg_styles(&s);
	fprintf(f, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", s.width, s.height);
	print_title(&s);
	print_body(&s);
	svg_foot_print(&s, foot, layout->height);
	fputs("</svg>\n", f);
}
