/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "bus.h"
#include "json.h"
#include "text.h"
#include "topology-dot.h"
#include "topology-matrix.h"
#include "topology-svg.h"
#include "topology-tree.h"
#include "verbs.h"

/* A pair of GPUs takes 150 bytes; the largest hosts have a few dozen GPUs. */
#define DOCUMENT_MAX (16U * 1024 * 1024)

static int parse(Client *c, const char *text, json_t **ret_document)
{
	json_error_t error;
	json_t *document;
	const char *schema;

	if (strlen(text) > DOCUMENT_MAX)
		return bus_bad_reply(c, "its topology is larger than 16 MiB");
	document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!document) {
		_cleanup_free_ char *what = NULL, *clean = text_printable(error.text);

		what = clean ? strf("its topology is no JSON: line %d: %s", error.line, clean)
			     : NULL;
		return what ? bus_bad_reply(c, what) : -ENOMEM;
	}
	schema = json_string_value(json_object_get(document, "schema"));
	if (!schema || strcmp(schema, GPUPASS_SCHEMA_TOPOLOGY) != 0) {
		json_decref(document);
		return bus_bad_reply(c,
				     "its topology is not of the schema " GPUPASS_SCHEMA_TOPOLOGY);
	}
	*ret_document = document;
	return 0;
}

static int load(Client *c, json_t **ret_document)
{
	_cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
	const char *text;
	int r;

	r = bus_new_manager_call(c, "GetTopology", &call);
	if (r < 0)
		return r;
	r = sd_bus_message_append(call, "a{sv}", 0);
	if (r < 0)
		return bus_build_failed(c, r);
	r = bus_call(c, call, BUS_TIMEOUT_READ_USEC, "s", &reply);
	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "s", &text);
	return r < 0 ? bus_bad_reply(c, strerror(-r)) : parse(c, text, ret_document);
}

static int draw(Client *c, const Topology *t)
{
	switch (c->options->format) {
	case TOPOLOGY_MATRIX:
		break;
	case TOPOLOGY_TREE:
		return topology_print_tree(&c->out, t, c->options->legend);
	case TOPOLOGY_SVG:
		return topology_print_svg(c->out.stream, t);
	case TOPOLOGY_DOT:
		topology_print_dot(c->out.stream, t);
		return 0;
	}
	return topology_print_matrix(&c->out, t, c->options->legend);
}

int verb_topology(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	_cleanup_(json_decrefp) json_t *document = NULL;
	_cleanup_(topology_freep) Topology *t = NULL;
	_cleanup_free_ char *why = NULL;
	int r;

	r = load(c, &document);
	if (r < 0)
		return r;
	if (c->options->json != JSON_OFF) {
		r = json_print(c, json_incref(document));
		return r < 0 ? r : GPUPASS_EXIT_DONE;
	}
	r = topology_parse(document, &t, &why);
	if (r == -EBADMSG)
		return bus_bad_reply(c, why);
	if (r >= 0)
		r = draw(c, t);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}
