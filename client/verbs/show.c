/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "model/json.h"
#include "show/blocks.h"
#include "show/describe.h"
#include "verbs/verbs.h"

static int read_facts(sd_bus_message *m, json_t *facts)
{
	int r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");

	while (r >= 0 &&
	       (r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
		json_t *value = NULL;
		const char *key;

		r = sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &key);
		if (r >= 0)
			r = bus_read_variant(m, &value);
		if (r < 0)
			return r;
		json_set(facts, key, value);
		r = sd_bus_message_exit_container(m);
	}
	return r;
}

/*
 * Facts that are read from the device itself: a call of its own and not a property, because a
 * worker has to read them, and not every user may. Without them the rest is still worth printing,
 * so do not let polkit ask for a password.
 */
static int inspect(Client *c, const Gpu *gpu, json_t **ret)
{
	_cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
	_cleanup_(json_decrefp) json_t *facts = json_object();
	int r = bus_new_call(c, gpu->path, GPUPASS_IFACE_GPU, "Inspect", &call);

	if (r < 0)
		return r;
	r = sd_bus_message_append(call, "a{sv}", 0);
	if (r >= 0)
		r = sd_bus_message_set_allow_interactive_authorization(call, false);
	if (r < 0)
		return bus_build_failed(c, r);
	r = bus_call(c, call, BUS_TIMEOUT_READ_USEC, "a{sv}", &reply);
	if (r < 0)
		return r;
	r = read_facts(reply, facts);
	if (r < 0)
		return bus_bad_reply(c, strerror(-r));
	if (c->options->json == JSON_OFF)
		document_clean(facts);
	*ret = TAKE_PTR(facts);
	return 0;
}

static void print_lines(const Terminal *t, const char *name, const json_t *facts, const char *key)
{
	const json_t *line;

	JSON_EACH (line, facts, key) {
		if (json_is_string(line))
			terminal_field(t, name, "%s", json_string_value(line));
		name = NULL;
	}
}

/* known_serial: what the GPU's block has already shown; "" if it had none. */
static void print_facts(const Terminal *t, const json_t *facts, const char *known_serial)
{
	const char *speed = json_text_of(facts, "link-speed");

	if (*speed)
		terminal_field(t, "PCIe link", "%s x%lld, of %s x%lld", speed,
			       json_number_of(facts, "link-width"),
			       or_dash(json_text_of(facts, "link-speed-max")),
			       json_number_of(facts, "link-width-max"));
	terminal_field(t, "Override", "%s", json_text_of(facts, "driver-override"));
	if (!*known_serial)
		terminal_field(t, "Serial", "%s", json_text_of(facts, "serial-number"));
	print_lines(t, "Holders", facts, "holders");
	print_lines(t, "Unseen", facts, "unseen");
}

/* Why there are no facts. */
static void print_no_facts(Client *c)
{
	_cleanup_free_ char *why = text_printable_lines(c->failure->message);
	char *rest = why;

	if (c->failure->code == GPUPASS_EXIT_NOT_PERMITTED)
		terminal_field(
			&c->out, "Inspect",
			"not permitted: PCIe link, override and holders are for root and for "
			"users who may read: gpupassd(8), POLKIT");
	else
		for (const char *line; (line = strsep(&rest, "\n"));)
			terminal_field(&c->out, line == why ? "Inspect" : NULL, "%s", line);
}

static int print_gpu(Client *c, const World *w, const Gpu *gpu)
{
	_cleanup_(json_decrefp) json_t *facts = NULL;
	int r;

	block_gpu(c, w, gpu);
	r = inspect(c, gpu, &facts);
	if (r == -ECANCELED) {
		print_no_facts(c);
		client_forgive(c);
		return 0;
	}
	if (r >= 0)
		print_facts(&c->out, facts, gpu->serial_number);
	return r;
}

/* The GPU with its facts; null if the device could not be read, or the user may not read it. */
static int gpu_json(Client *c, const World *w, const Gpu *gpu, json_t **ret)
{
	_cleanup_(json_decrefp) json_t *document = json_of_object(OBJECT_GPU, gpu);
	json_t *facts = NULL;
	int r = inspect(c, gpu, &facts);

	if (r == -ECANCELED)
		client_forgive(c);
	else if (r < 0)
		return r;
	json_set(document, "facts", facts ? facts : json_null());
	*ret = TAKE_PTR(document);
	return 0;
}

static int show_gpu(Client *c, const World *w, const Gpu *gpu)
{
	json_t *document = NULL;
	int r;

	if (c->options->json == JSON_OFF)
		return print_gpu(c, w, gpu);
	r = gpu_json(c, w, gpu, &document);
	if (r < 0)
		return r;
	return json_print(c, json_build("{s:s, s:n, s:[o]}", "schema", GPUPASS_SCHEMA_SHOW, "group",
					"gpus", document));
}

static int show_group(Client *c, const World *w, const Group *group)
{
	_cleanup_(json_decrefp) json_t *gpus = json_array();
	bool json = c->options->json != JSON_OFF;
	int r = 0;

	if (!json)
		block_group(c, w, group);
	for (size_t i = 0; r >= 0 && group->gpu_addresses && group->gpu_addresses[i]; i++) {
		const Gpu *gpu = world_find_gpu(w, group->gpu_addresses[i]);
		json_t *item = NULL;

		if (!gpu)
			continue;
		if (json) {
			r = gpu_json(c, w, gpu, &item);
			if (r >= 0)
				json_append(gpus, item);
		} else {
			fputc('\n', c->out.stream);
			r = print_gpu(c, w, gpu);
		}
	}
	if (r < 0 || !json)
		return r;
	return json_print(c,
			  json_build("{s:s, s:o, s:o}", "schema", GPUPASS_SCHEMA_SHOW, "group",
				     json_of_object(OBJECT_GROUP, group), "gpus", TAKE_PTR(gpus)));
}

int verb_show(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	_cleanup_(world_clear) World w = { 0 };
	_cleanup_free_ char *address = address_normalise(arguments[0]);
	const Group *group;
	const Gpu *gpu;
	int r = world_load(c, &w);

	if (r < 0)
		return r;
	group = world_find_group_named(&w, arguments[0]);
	if (group)
		return show_group(c, &w, group);
	gpu = world_find_gpu(&w, address ? address : arguments[0]);
	if (gpu)
		return show_gpu(c, &w, gpu);
	for (size_t i = 0; i < w.n_groups; i++)
		if (group_is_of_domain(&w.groups[i], arguments[0]))
			return client_error(c, GPUPASS_ERROR_NO_SUCH_GROUP,
					    "'%s' is a domain, and no group or GPU\n"
					    "Remedy: see: gpupass status %s",
					    arguments[0], arguments[0]);
	return client_error(c, address ? GPUPASS_ERROR_NO_SUCH_GPU : GPUPASS_ERROR_NO_SUCH_GROUP,
			    address ? "there is no GPU at %s\n"
				      "Remedy: see the GPUs with: gpupass list"
				    : "there is no group or GPU '%s'\n"
				      "Remedy: see the groups with: gpupass list",
			    address ? address : arguments[0]);
}
