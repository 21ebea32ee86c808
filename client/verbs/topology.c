/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "topology/matrix.h"
#include "topology/svg.h"
#include "topology/tree.h"
#include "verbs/verbs.h"

typedef enum TopologyFormat {
	TOPOLOGY_MATRIX,
	TOPOLOGY_TREE,
	TOPOLOGY_SVG,
} TopologyFormat;

static int read_format(Client *c, TopologyFormat *ret)
{
	static const char *const names[] = { "matrix", "tree", "svg" };
	const char *format = c->options->format;

	*ret = TOPOLOGY_MATRIX;
	if (!format)
		return 0;
	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (strcmp(format, names[i]) == 0) {
			*ret = (TopologyFormat)i;
			return 0;
		}
	return client_usage(
		c,
		"--format=%s: no such format\nRemedy: one of matrix, tree, svg; with -j the whole model",
		format);
}

static void draw(Client *c, const Topology *t, TopologyFormat format)
{
	switch (format) {
	case TOPOLOGY_MATRIX:
		topology_print_matrix(&c->out, t, c->options->legend);
		break;
	case TOPOLOGY_TREE:
		topology_print_tree(&c->out, t, c->options->legend);
		break;
	case TOPOLOGY_SVG:
		topology_print_svg(c->out.stream, t);
		break;
	}
}

int verb_topology(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	static const DocumentKind kind = { .what = "the topology",
					   .schema = GPUPASS_SCHEMA_TOPOLOGY };
	_cleanup_(json_decrefp) json_t *document = NULL;
	_cleanup_(topology_freep) Topology *t = NULL;
	_cleanup_free_ char *why = NULL;
	TopologyFormat format;
	int r;

	r = read_format(c, &format);
	if (r < 0)
		return r;
	r = document_get(c, "GetTopology", BUS_TIMEOUT_READ_USEC, &kind, &document);
	if (r < 0)
		return r;
	if (c->options->json != JSON_OFF) {
		r = json_print(c, json_incref(document));
		return r < 0 ? r : GPUPASS_EXIT_DONE;
	}
	r = topology_parse(document, &t, &why);
	if (r < 0)
		return bus_bad_reply(c, why);
	draw(c, t, format);
	return GPUPASS_EXIT_DONE;
}
