/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "topology/model.h"
#include "verbs/verbs.h"

static void draw(Client *c, const Topology *t)
{
	const char *format = c->options->format;

	if (str_equal(format, "svg"))
		topology_print_svg(c->out.stream, t);
	else if (str_equal(format, "tree"))
		topology_print_tree(&c->out, t, c->options->legend);
	else
		topology_print_matrix(&c->out, t, c->options->legend);
}

int verb_topology(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	static const DocumentKind kind = DOCUMENT_KIND("the topology", TOPOLOGY);
	_cleanup_(json_decrefp) json_t *document = NULL;
	_cleanup_(topology_freep) Topology *t = NULL;
	_cleanup_free_ char *why = NULL;
	int r = document_get(c, "GetTopology", BUS_TIMEOUT_READ_USEC, &kind, &document);

	if (r < 0)
		return r;
	if (c->options->json != JSON_OFF)
		return json_print(c, TAKE_PTR(document));
	r = topology_parse(document, &t, &why);
	if (r < 0)
		return bus_bad_reply(c, why);
	draw(c, t);
	return GPUPASS_EXIT_DONE;
}
