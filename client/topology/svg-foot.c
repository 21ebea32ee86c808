/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Under the panels: why groups are not as they should be, and the legend. */

#include "base/text.h"
#include "topology/svg.h"
#include "util/grow.h"

#define SIZE 13
#define LINE 20
#define NOTES_MAX 8
#define NOTE_LINES_MAX 3
#define NOTE_INSET 20
#define ENTRY_GAP 26
#define SWATCH 30

/* One entry of the legend. */
typedef struct Entry {
	bool is_rail;	   /* otherwise a card */
	const char *class; /* borrowed */
	const char *style; /* of a rail */
	TopologyLook look;
	char *text;
	int x, row;
} Entry;

typedef struct Note {
	const char *class;
	TopologyLook look;
	char **lines;
} Note;

struct SvgFoot {
	Note *notes;
	size_t n_notes;
	Entry *entries;
	size_t n_entries;
	int width, rows, lines;
};

LOCAL_CLEAR(SvgFoot, svg_foot_clear)
#include "svg-foot.inc"

DEFINE_FREE(SvgFoot, svg_foot_free, svg_foot_clear)

/* ---- notes ---- */

static const char *why(const TopologyGroup *group)
{
	return *group->reason ? group->reason : group->reasoning;
}

static bool wants_note(const TopologyGroup *group)
{
	return *why(group) && group->look != LOOK_HELD && group->look != LOOK_FREE &&
	       group->look != LOOK_BOUND;
}

static void add_note(SvgFoot *foot, const Topology *t, const TopologyGroup *group, char *text)
{
	Note *note = &foot->notes[foot->n_notes];

	note->lines =
		svg_text_wrap(text, SVG_PLAIN, SIZE, foot->width - NOTE_INSET, NOTE_LINES_MAX);
	free(text);
	foot->n_notes++;
	note->look = group ? group->look : LOOK_NONE;
	note->class = svg_class(t, note->look, group ? group->domain : "");
	foot->lines += (int)strv_length(note->lines);
}

static void add_notes(SvgFoot *foot, const Topology *t)
{
	size_t left = 0;

	EACH (const TopologyGroup, group, t->groups, t->n_groups) {
		if (!wants_note(group))
			continue;
		if (foot->n_notes == NOTES_MAX)
			left++;
		else
			add_note(foot, t, group,
				 strf("%s is %s: %s", group->name, group->state, why(group)));
	}
	if (left > 0)
		add_note(foot, t, NULL, strf("and %zu more: gpupass status", left));
}

/* ---- legend ---- */

static void add_entry(SvgFoot *foot, const Entry *entry, char *text)
{
	_cleanup_free_ char *full = text;
	Entry *added;

	added = GROW(foot->entries, foot->n_entries);
	*added = *entry;
	added->text = svg_text_fit(full, SVG_PLAIN, SIZE, foot->width / 2);
}

static void add_domains(SvgFoot *foot, const Topology *t)
{
	for (size_t i = 0; t->domains && t->domains[i]; i++)
		add_entry(foot,
			  &(Entry){ .class = svg_class(t, LOOK_HELD, t->domains[i]),
				    .look = LOOK_HELD },
			  strf("domain %s", t->domains[i]));
}

static void add_looks(SvgFoot *foot, const Topology *t)
{
	static const struct {
		TopologyLook look;
		const char *text;
	} looks[] = {
		{ LOOK_FREE, "free" },
		{ LOOK_BOUND, "on vfio-pci, in no domain" },
		{ LOOK_MOVING, "a job is at work" },
		{ LOOK_UNSURE, "needs a declaration" },
		{ LOOK_BAD, "degraded or foreign" },
		{ LOOK_CLOSED, "quarantined" },
		{ LOOK_NONE, "in no group" },
	};

	for (size_t i = 0; i < ELEMENTS(looks); i++)
		if (SOME(t->devices, t->n_devices, it->look == looks[i].look))
			add_entry(foot,
				  &(Entry){ .class = svg_class(t, looks[i].look, ""),
					    .look = looks[i].look },
				  xstrdup(looks[i].text));
}

static void add_kinds_of_rail(SvgFoot *foot, const bool *there)
{
	static const struct {
		const char *class, *style, *text;
	} rails[] = {
		{ "free", "", "NVLink bridge, NV# with # links" },
		{ "unsure", " inferred", "inferred, not proven" },
		{ "unsure", " none-known", "not known to be bridged" },
		{ "none", NULL, "NV#?: as the board has, not observed" },
	};

	for (size_t i = 0; i < ELEMENTS(rails); i++)
		if (there[i])
			add_entry(foot,
				  &(Entry){ .is_rail = true,
					    .class = rails[i].class,
					    .style = rails[i].style },
				  xstrdup(rails[i].text));
}

/* Which kinds of connector there are. */
static void add_rails(SvgFoot *foot, const Topology *t)
{
	bool none = false, inferred = false, known = false, expected = false;

	EACH (const TopologyGroup, group, t->groups, t->n_groups) {
		none |= !topology_group_linked(group) && !topology_group_single(group);
		inferred |= strcmp(group->provenance, "inferred") == 0;
		known |= topology_group_linked(group) && strcmp(group->provenance, "inferred") != 0;
		expected |= topology_group_linked(group) && strchr(group->link, '?');
	}
	add_kinds_of_rail(foot, (const bool[]){ known, inferred, none, expected });
}

/* Left to right, row by row. */
static void place_entries(SvgFoot *foot)
{
	int x = 0, row = 0;

	for (size_t i = 0; i < foot->n_entries; i++) {
		Entry *entry = &foot->entries[i];
		int width = svg_text_width(entry->text, SVG_PLAIN, SIZE) +
			    (entry->style || !entry->is_rail ? SWATCH + 8 : 0);
		bool breaks = i > 0 && entry->is_rail != foot->entries[i - 1].is_rail;

		if (x > 0 && (x + width > foot->width || breaks)) {
			x = 0;
			row++;
		}
		entry->x = x;
		entry->row = row;
		x += width + ENTRY_GAP;
	}
	foot->rows = foot->n_entries > 0 ? row + 1 : 0;
}

SvgFoot *svg_foot_new(const Topology *t, int width)
{
	SvgFoot *foot = xcalloc(1, sizeof(*foot));

	foot->width = width;
	foot->notes = xcalloc(NOTES_MAX + 1, sizeof(Note));
	add_notes(foot, t);
	add_domains(foot, t);
	add_looks(foot, t);
	add_rails(foot, t);
	place_entries(foot);
	return foot;
}

int svg_foot_height(const SvgFoot *foot)
{
	return (foot->lines > 0 ? 16 + foot->lines * LINE : 0) +
	       (foot->rows > 0 ? 20 + foot->rows * (LINE + 4) : 0) + LAYOUT_MARGIN;
}

static int print_notes(Svg *s, const SvgFoot *foot, int y)
{
	if (foot->lines == 0)
		return y;
	y += 16;
	EACH (const Note, note, foot->notes, foot->n_notes) {
		fprintf(s->f, "<g class=\"%s\">", note->class);
		svg_sign(s, note->look, LAYOUT_MARGIN + 6, y + 10);
		fputs("</g>\n", s->f);
		for (char **line = note->lines; *line; line++, y += LINE)
			svg_text(s, LAYOUT_MARGIN + NOTE_INSET, y + 15, SIZE, 0, SVG_PLAIN, "text",
				 NULL, *line);
	}
	return y;
}

static void print_entry(Svg *s, const Entry *entry, int y)
{
	int x = LAYOUT_MARGIN + entry->x;

	fprintf(s->f, "<g class=\"%s\">", entry->class);
	if (!entry->is_rail) {
		fprintf(s->f,
			"<rect class=\"card\" x=\"%d\" y=\"%d\" width=\"24\" height=\"18\" rx=\"4\"/>"
			"<rect class=\"fill tint\" x=\"%d\" y=\"%d\" width=\"24\" height=\"18\""
			" rx=\"4\"/><rect class=\"line\" stroke-width=\"1\" x=\"%d\" y=\"%d\""
			" width=\"24\" height=\"18\" rx=\"4\"/>",
			x, y, x, y, x, y);
		svg_sign(s, entry->look, x + 12, y + 9);
	} else if (entry->style) {
		fprintf(s->f, "<path class=\"line rail%s\" d=\"M%d %dh22\"/>", entry->style, x + 4,
			y + 9);
	}
	fputs("</g>\n", s->f);
	if (entry->style || !entry->is_rail)
		x += SWATCH + 8;
	svg_text(s, x, y + 14, SIZE, 0, SVG_PLAIN, "text", NULL, entry->text);
}

void svg_foot_print(Svg *s, const SvgFoot *foot, int y)
{
	y = print_notes(s, foot, y) + 20;
	for (size_t i = 0; i < foot->n_entries; i++)
		print_entry(s, &foot->entries[i], y + foot->entries[i].row * (LINE + 4));
}
