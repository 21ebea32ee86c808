/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures of whole hosts, of which test-topology-json writes the documents: what holds of each,
 * and some as they are in fixtures/topology.
 *   test-topology-draw --write DIRECTORY     writes those
 *   test-topology-draw FORMAT FILE.json      draws one
 */
#define OWN_MAIN
#include "rig/test.h"

#include <libxml/parser.h>
#include <locale.h>
#include <string.h>

#include "base/text.h"
#include "topology/svg.h"

static const char *const names[] = { "lone-4090", "pair",    "candidates", "quad",
				     "eight",	  "sixteen", "odd",	   "companions" };
static const char *const formats[] = { "svg", "tree", "tree-80", "tree-ascii", "matrix" };

/* What each shows: all states and switches; links that are likely; odd names, rows and nodes. */
static const struct {
	const char *scene, *format, *file;
} written[] = {
	{ "eight", "svg", "../../../docs/topology.svg" },
	{ "eight", "tree", "eight.tree.txt" },
	{ "eight", "tree-80", "eight.tree-80.txt" },
	{ "eight", "tree-ascii", "eight.tree-ascii.txt" },
	{ "eight", "matrix", "eight.matrix.txt" },
	{ "pair", "svg", "pair.svg" },
	{ "pair", "tree", "pair.tree.txt" },
	{ "odd", "svg", "odd.svg" },
	{ "odd", "tree", "odd.tree.txt" },
	{ "companions", "svg", "companions.svg" },
	{ "companions", "tree", "companions.tree.txt" },
	{ "companions", "matrix", "companions.matrix.txt" },
};

static Topology *read_json(const json_t *json)
{
	_cleanup_free_ char *why = NULL;
	Topology *t = NULL;

	if (topology_parse(json, &t, &why) < 0)
		fail_msg("%s", why ? why : "memory");
	return t;
}

static Topology *load(const char *path)
{
	json_t *json = json_load_file(path, 0, NULL);
	Topology *t;

	if (!json)
		fail_msg("%s is no JSON", path);
	t = read_json(json);
	json_decref(json);
	return t;
}

static Topology *load_scene(const char *name)
{
	_cleanup_free_ char *path = strf(SCENES "/%s.json", name);

	return load(path);
}

static void draw_to(FILE *f, const Topology *t, const char *format)
{
	Terminal terminal = { .stream = f, .utf8 = strcmp(format, "tree-ascii") != 0 };

	if (strcmp(format, "tree-80") == 0)
		terminal.width = 80;
	if (strcmp(format, "svg") == 0)
		topology_print_svg(f, t);
	else if (strncmp(format, "tree", 4) == 0)
		topology_print_tree(&terminal, t, true);
	else
		topology_print_matrix(&terminal, t, true);
}

static char *draw(const Topology *t, const char *format)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	draw_to(f, t, format);
	assert_int_equal(fclose(f), 0);
	return text;
}

static char *read_file(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!f || getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		return NULL;
	}
	return text;
}

TEST(pictures_are_those_written_down)
{
	bool good = true;

	for (size_t i = 0; i < ELEMENTS(written); i++) {
		_cleanup_(topology_freep) Topology *t = load_scene(written[i].scene);
		_cleanup_free_ char *actual = draw(t, written[i].format);
		_cleanup_free_ char *path = strf(FIXTURES "/topology/%s", written[i].file);
		_cleanup_free_ char *expected = read_file(path);

		if (expected && strcmp(expected, actual) == 0)
			continue;
		fprintf(stderr, "%s differs; it is now:\n%s\n", path, actual);
		good = false;
	}
	assert_true(good);
}

/* ---- what holds of every picture ---- */

static void each_scene(void (*check)(const char *name, const Topology *t))
{
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_(topology_freep) Topology *t = load_scene(names[i]);

		check(names[i], t);
	}
}

static void check_names(const char *name, const Topology *t)
{
	for (size_t k = 0; k < ELEMENTS(formats); k++) {
		_cleanup_free_ char *text = draw(t, formats[k]);

		for (size_t n = 0; n < t->n_devices; n++)
			if (!strstr(text, t->devices[n].address))
				fail_msg("%s: %s has no %s", name, formats[k],
					 t->devices[n].address);
		/* A card cuts a long name. */
		for (size_t n = 0; n < t->n_groups; n++)
			if (strlen(t->groups[n].name) < 20 && !strstr(text, t->groups[n].name))
				fail_msg("%s: %s has no %s", name, formats[k], t->groups[n].name);
	}
}

TEST(every_gpu_and_group_is_named)
{
	each_scene(check_names);
}

static void check_svg(const char *name, const Topology *t)
{
	static const char *const reaching_out[] = { "<script", "href", "url(", "@import" };
	_cleanup_free_ char *svg = draw(t, "svg");
	xmlDoc *doc = xmlReadMemory(svg, (int)strlen(svg), "svg", NULL,
				    XML_PARSE_NONET | XML_PARSE_NOERROR);

	assert_non_null(doc);
	xmlFreeDoc(doc);
	for (size_t i = 0; i < ELEMENTS(reaching_out); i++)
		if (strstr(svg, reaching_out[i]))
			fail_msg("%s has %s", name, reaching_out[i]);
}

TEST(every_svg_is_well_formed_and_stands_alone)
{
	each_scene(check_svg);
}

/* A group's name is never cut, and one scene has the longest there may be. */
static void check_trees(const char *name, const Topology *t)
{
	_cleanup_free_ char *tree = draw(t, "tree-80"), *ascii = draw(t, "tree-ascii");

	if (strcmp(name, "odd") == 0)
		return;
	for (char *line = strtok(tree, "\n"); line; line = strtok(NULL, "\n"))
		if (text_width(line) > 80)
			fail_msg("%s: %zu columns: %s", name, text_width(line), line);
	for (const char *s = ascii; *s; s++)
		assert_true((unsigned char)*s < 0x80);
}

TEST(every_tree_fits_80_columns_and_an_ascii_tree_is_ascii)
{
	each_scene(check_trees);
}

typedef struct Box {
	int x1, y1, x2, y2;
} Box;

static bool inside(Box inner, Box outer)
{
	return inner.x1 >= outer.x1 && inner.y1 >= outer.y1 && inner.x2 <= outer.x2 &&
	       inner.y2 <= outer.y2;
}

static bool apart(Box a, Box b)
{
	return a.x2 <= b.x1 || b.x2 <= a.x1 || a.y2 <= b.y1 || b.y2 <= a.y1;
}

/* All panels, then cards, then bars. */
static Box *boxes_of(const Layout *l, size_t n)
{
	Box *boxes = calloc(n + 1, sizeof(Box)), *to = boxes;

	for (size_t i = 0; i < l->n_panels; i++) {
		const LayoutPanel *p = &l->panels[i];

		*to++ = (Box){ p->x, p->y, p->x + p->w, p->y + p->h };
	}
	for (size_t i = 0; i < l->n_cards; i++) {
		const LayoutCard *c = &l->cards[i];

		*to++ = (Box){ c->x, c->y, c->x + LAYOUT_CARD_W, c->y + LAYOUT_CARD_H };
	}
	for (size_t i = 0; i < l->n_bars; i++) {
		const LayoutBar *bar = &l->bars[i];

		*to++ = (Box){ bar->x, bar->y, bar->x + bar->w, bar->y + LAYOUT_BAR_H };
	}
	return boxes;
}

static void check_rail(const char *name, const Layout *l, size_t number, const Box *cards)
{
	const LayoutRail *a = &l->rails[number];

	if (!inside((Box){ a->x1, a->y, a->x2, a->y }, (Box){ 0, 0, l->width, l->height }))
		fail_msg("%s: rail %zu is off the page", name, number);
	for (size_t k = 0; k < l->n_cards; k++)
		if (!apart((Box){ a->x1, a->y - 11, a->x2 + 1, a->y + 11 }, cards[k]))
			fail_msg("%s: rail %zu lies on card %zu", name, number, k);
	for (const LayoutRail *b = l->rails; b < a; b++)
		if (a->y == b->y && a->x1 <= b->x2 && b->x1 <= a->x2)
			fail_msg("%s: rail %zu touches another", name, number);
}

static void check_layout(const char *name, const Topology *t)
{
	_cleanup_(layout_freep) Layout *l = layout_new(t);
	const Box page = { 0, 0, l->width, l->height };
	size_t n = l->n_panels + l->n_cards + l->n_bars;
	_cleanup_free_ Box *boxes = boxes_of(l, n);

	assert_int_equal(l->n_cards, t->n_devices);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if ((k < l->n_panels) == (i < l->n_panels) && !apart(boxes[i], boxes[k]))
				fail_msg("%s: %zu and %zu overlap", name, k, i);
	for (size_t i = 0; i < l->n_panels; i++)
		if (!inside(boxes[i], page))
			fail_msg("%s: panel %zu is off the page", name, i);
	for (size_t i = 0; i < l->n_cards; i++)
		if (!inside(boxes[l->n_panels + i], boxes[l->cards[i].panel]))
			fail_msg("%s: card %zu leaves its panel", name, i);
	for (size_t i = 0; i < l->n_rails; i++)
		check_rail(name, l, i, boxes + l->n_panels);
}

TEST(nothing_lies_on_anything_else)
{
	each_scene(check_layout);
}

/* Random hosts: groups of any size, over any nodes, behind any bridges. */
TEST(no_host_breaks_the_layout)
{
	unsigned seed = 1;

	for (unsigned round = 0; round < 300; round++) {
		_cleanup_(topology_freep) Topology *t = NULL;
		_cleanup_free_ char *name = strf("host %u", round), *svg = NULL;
		unsigned n = round % 40, nodes = 1 + round % 9, companions = round % 13;
		json_t *gpus = json_array(), *groups = json_array(), *others = json_array(), *json;

		for (unsigned i = 0; i < 6; i++)
			json_array_append_new(
				groups, json_pack("{s:o, s:s, s:s}", "name", json_sprintf("g%u", i),
						  "provenance", i % 2 ? "declared" : "none",
						  "state", "free"));
		for (unsigned i = 0; i < n; i++) {
			json_t *path = json_array();

			seed = seed * 1103515245U + 12345U;
			for (unsigned k = 0; k < (seed >> 20) % 4; k++)
				json_array_append_new(path, json_sprintf("b%u-%u", k, i / 3));
			json_array_append_new(
				gpus, json_pack("{s:o, s:i, s:o, s:o}", "address",
						json_sprintf("0000:%02x:00.0", i), "numa_node",
						(int)((seed >> 16) % nodes), "upstream_path", path,
						"group", json_sprintf("g%u", (seed >> 24) % 9)));
		}
		for (unsigned i = 0; i < companions; i++)
			json_array_append_new(others,
					      json_pack("{s:o, s:s, s:i, s:[o, o], s:o}", "address",
							json_sprintf("0000:%02x:01.0", i), "kind",
							"nic", "numa_node", (int)(i % nodes),
							"upstream_path", json_sprintf("b0-%u", i),
							json_sprintf("b1-%u", i), "group",
							json_sprintf("g%u", i % 9)));
		json = json_pack("{s:o, s:o, s:o}", "gpus", gpus, "groups", groups, "companions",
				 others);
		t = read_json(json);
		json_decref(json);
		assert_int_equal(t->n_devices, n + companions);
		check_layout(name, t);
		svg = draw(t, "svg");
	}
}

TEST(a_document_that_makes_no_sense_is_refused)
{
	static const char *const documents[] = {
		"{}",
		"{\"gpus\": 5}",
		"{\"gpus\": [{}]}",
		"{\"gpus\": [5]}",
		"{\"gpus\": [], \"groups\": {}}",
		"{\"gpus\": [], \"bridges\": 5}",
		"{\"gpus\": [], \"companions\": 5}",
		"{\"gpus\": [], \"companions\": [{}]}",
	};

	for (size_t i = 0; i < ELEMENTS(documents); i++) {
		_cleanup_(topology_freep) Topology *t = NULL;
		_cleanup_free_ char *why = NULL;
		json_t *json = json_loads(documents[i], 0, NULL);

		assert_non_null(json);
		if (topology_parse(json, &t, &why) != -EBADMSG || !why)
			fail_msg("%s is taken", documents[i]);
		json_decref(json);
	}
}

TEST(a_bare_document_is_drawn)
{
	json_t *json = json_loads(
		"{\"gpus\": [{\"address\": \"0000:01:00.0\", \"group\": \"none\", \"x\": []},"
		" {\"address\": \"0000:02:00.0\", \"numa_node\": 7}],"
		" \"pairs\": [{\"gpus\": [\"a\", \"b\"]}, 5, {\"gpus\": 5}]}",
		0, NULL);
	_cleanup_(topology_freep) Topology *t = read_json(json);

	for (size_t k = 0; k < ELEMENTS(formats); k++) {
		_cleanup_free_ char *text = draw(t, formats[k]);

		assert_non_null(strstr(text, "0000:02:00.0"));
	}
	json_decref(json);
}

/* ---- text ---- */

TEST(text_is_cut_to_its_box)
{
	static const char *const texts[] = {
		"",
		"RTX A6000",
		"WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
		"iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii",
		"ゲーム機ゲーム機ゲーム機ゲーム機ゲーム機ゲーム機",
		"a b c"
	};

	for (size_t i = 0; i < ELEMENTS(texts); i++)
		for (int font = SVG_PLAIN; font <= SVG_MONO; font++)
			for (int width = 20; width < 300; width += 7) {
				_cleanup_free_ char *cut =
					svg_text_fit(texts[i], (SvgFont)font, 12, width);

				assert_true(svg_text_width(cut, (SvgFont)font, 12) <= width);
				assert_true(text_utf8_valid(cut));
			}
}

TEST(text_is_broken_at_blanks)
{
	_cleanup_strv_ char **lines = svg_text_wrap("one two three four", SVG_PLAIN, 10, 60, 9);
	_cleanup_strv_ char **two =
		svg_text_wrap("one two three four five six", SVG_PLAIN, 10, 60, 2);
	_cleanup_strv_ char **word = svg_text_wrap("WWWWWWWWWWWWWWWW", SVG_PLAIN, 10, 60, 9);

	assert_string_equal(lines[0], "one two");
	assert_string_equal(lines[1], "three four");
	assert_null(lines[2]);
	assert_string_equal(two[1] + strlen(two[1]) - strlen("…"), "…");
	assert_null(two[2]);
	assert_true(strv_length(word) > 1);
}

TEST(markup_is_escaped)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	svg_escape(f, "<a href=\"x\">&'\x01\xef\xbf\xbf\xc3\xa9\xff");
	fclose(f);
	assert_string_equal(text, "&lt;a href=&quot;x&quot;&gt;&amp;&apos;\xef\xbf\xbd\xef\xbf\xbd"
				  "\xc3\xa9\xef\xbf\xbd");
}

static int write_all(const char *directory)
{
	for (size_t i = 0; i < ELEMENTS(written); i++) {
		_cleanup_(topology_freep) Topology *t = load_scene(written[i].scene);
		_cleanup_free_ char *path = strf("%s/%s", directory, written[i].file);
		_cleanup_fclose_ FILE *f = fopen(path, "w");

		if (!f)
			return EXIT_FAILURE;
		draw_to(f, t, written[i].format);
	}
	return EXIT_SUCCESS;
}

static int draw_one(const char *format, const char *path)
{
	_cleanup_(topology_freep) Topology *t = load(path);

	draw_to(stdout, t, format);
	return EXIT_SUCCESS;
}

int main(int argc, char *argv[])
{
	setlocale(LC_CTYPE, "C.UTF-8");
	if (argc == 3 && strcmp(argv[1], "--write") == 0)
		return write_all(argv[2]);
	if (argc == 3)
		return draw_one(argv[1], argv[2]);
	return tests_run();
}
