/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The documents that the daemon answers with, as the client reads and draws them, and the client's
 * own command line. What the client prints has no control characters.
 */
#include <getopt.h>
#include <libxml/parser.h>

#include "base/host-name.h"
#include "base/options.h"
#include "base/text.h"
#include "fuzz.h"
#include "topology/model.h"

#define ARGUMENTS 24
/* Larger hosts only take longer to draw. */
#define GPUS_DRAWN 16

/* ---- pictures ---- */

static void expect_clean(const char *text)
{
	for (; *text; text++)
		EXPECT((unsigned char)*text >= ' ' || *text == '\n' || *text == '\t');
	EXPECT(text_utf8_valid(text));
}

static char *draw(const Topology *t, int which)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	Terminal terminal = { .stream = f, .utf8 = which & 1, .width = which & 2 ? 80 : 0 };

	EXPECT(f);
	if (which == 0)
		topology_print_svg(f, t);
	else if (which == 1)
		topology_print_matrix(&terminal, t, true);
	else
		topology_print_tree(&terminal, t, true);
	EXPECT(fclose(f) == 0);
	return text;
}

static void a_picture_is_drawn(const Topology *t)
{
	for (int which = 0; which < 4; which++) {
		_cleanup_free_ char *text = draw(t, which);

		EXPECT(text);
		expect_clean(text);
		if (which == 0) {
			xmlDoc *svg = xmlReadMemory(text, (int)strlen(text), NULL, NULL,
						    XML_PARSE_NONET | XML_PARSE_NOERROR);

			EXPECT(svg);
			xmlFreeDoc(svg);
		}
	}
}

static void a_topology_is_drawn(const json_t *document)
{
	_cleanup_(topology_freep) Topology *t = NULL;
	_cleanup_free_ char *why = NULL;
	int r = topology_parse(document, &t, &why);

	if (r < 0) {
		EXPECT(r == -EBADMSG && !t && why);
		return;
	}
	for (size_t i = 0; i < t->n_devices; i++)
		EXPECT(t->devices[i].group < (ssize_t)t->n_groups);
	for (size_t i = 0; i < t->n_groups; i++)
		for (size_t k = 0; k < t->groups[i].n_gpus; k++)
			EXPECT(t->groups[i].gpus[k] < t->n_gpus);
	if (t->n_devices <= GPUS_DRAWN)
		a_picture_is_drawn(t);
}

/* ---- texts, of names that others chose ---- */

static void texts_are_made_safe(const char *text)
{
	_cleanup_free_ char *one = text_printable(text), *lines = text_printable_lines(text);
	_cleanup_free_ char *again = NULL, *cut = NULL;

	EXPECT(one && lines && !strpbrk(one, "\n\t\033\r"));
	expect_clean(one);
	expect_clean(lines);
	again = text_printable(one);
	EXPECT_SAME_TEXT(one, again);
	cut = text_cut(one, 20, "…");
	EXPECT(text_width(cut) <= 20);
	EXPECT(text_distance(one, one) == 0);
}

/* ---- the command line ---- */

static void a_command_line_is_read(const char *text)
{
	char *argv[ARGUMENTS + 2] = { (char *)"gpupass" };
	_cleanup_free_ char *copy = strdup(text), *why = NULL;
	Options options = { 0 };
	char *rest = copy, *word;
	uint64_t usec;
	int argc = 1, r;

	EXPECT(copy);
	while (argc <= ARGUMENTS && (word = strsep(&rest, "\n")))
		argv[argc++] = word;
	optind = 0; /* getopt_long() begins anew */
	r = options_parse(argc, argv, &options, &why);
	EXPECT(r == 0 || (r == -EINVAL && why));
	EXPECT(r < 0 || options.n_arguments < (size_t)argc);
	if (duration_parse(text, &usec) == 0)
		EXPECT(usec > 0 && usec <= UINT64_C(86400) * 1000000);
}

/* ---- the name of a host ---- */

static void a_host_is_named(const char *text)
{
	if (host_name_is_valid(text))
		EXPECT(text[0] != '-' && !strpbrk(text, " \t\n\\'\"`$;&|<>(){}*?~#=,"));
}

/* promises T3, R1 */
void fuzz_one(const char *bytes, size_t size, const char *text)
{
	json_t *json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);

	if (json)
		a_topology_is_drawn(json);
	json_decref(json);
	texts_are_made_safe(text);
	a_command_line_is_read(text);
	a_host_is_named(text);
}
