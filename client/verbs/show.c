/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups, GPUs and domains in blocks: show and status. */

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "gpupass/dbus.h"
#include "gpupass/domain-ref.h"
#include "model/json.h"
#include "show/blocks.h"
#include "show/describe.h"
#include "verbs/verbs.h"

/* ---- show ---- */

static int read_fact(sd_bus_message *m, void *facts)
{
	json_t *value = NULL;
	const char *key;
	int r = sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &key);

	if (r >= 0)
		r = bus_read_variant(m, &value);
	if (r >= 0)
		json_set(facts, key, value);
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
	r = bus_each(reply, "sv", read_fact, facts);
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
	/* A NIC, say. */
	for (size_t i = 0; address && i < w.n_groups; i++)
		if (strv_contains(w.groups[i].functions, address))
			return show_group(c, &w, &w.groups[i]);
	if (SOME(w.groups, w.n_groups, group_is_of_domain(it, arguments[0])))
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

/* ---- status ---- */

/* What the user named. NULL: everything. */
typedef struct Wanted {
	const char *word;
	bool is_uuid; /* a domain's, and then no domain's name */
	char uuid[DOMAIN_UUID_SIZE];
} Wanted;

static bool is_domain(const char *name, const char *uuid, const Wanted *wanted)
{
	return wanted->is_uuid ? strcmp(uuid, wanted->uuid) == 0 : strcmp(name, wanted->word) == 0;
}

/* A group by its own name or by its domain; all groups if nothing was named. */
static bool group_wanted(const Group *g, const Wanted *wanted)
{
	return !wanted || strcmp(g->name, wanted->word) == 0 ||
	       is_domain(g->domain_name, g->domain_uuid, wanted);
}

static bool assignment_wanted(const World *w, const Assignment *a, const Wanted *wanted)
{
	return !wanted || strcmp(a->group_name, wanted->word) == 0 ||
	       strcmp(world_group_name(w, a->group), wanted->word) == 0 ||
	       is_domain(a->domain_name, a->domain_uuid, wanted);
}

static bool job_wanted(const Job *j, const Wanted *wanted)
{
	return !job_is_over(j) && (!wanted || strcmp(j->group_name, wanted->word) == 0 ||
				   is_domain(j->domain_name, j->domain_uuid, wanted));
}

/* A domain of this name that has another group; NULL: none. */
static const char *namesake(const World *w, const Group *group, const Wanted *wanted)
{
	const Group *other =
		FIND(w->groups, w->n_groups,
		     it != group && is_domain(it->domain_name, it->domain_uuid, wanted));
	const Assignment *a = FIND(w->assignments, w->n_assignments,
				   strcmp(it->group, group->path) != 0 &&
					   is_domain(it->domain_name, it->domain_uuid, wanted));

	return other ? other->domain_uuid : a ? a->domain_uuid : NULL;
}

/*
 * A user who may name a domain must not be able to have it shown in the place of a group, or a
 * group in the place of a domain.
 */
static int refuse_ambiguous(Client *c, const char *word, const char *uuid)
{
	return client_error(
		c, GPUPASS_ERROR_INVALID_ARGUMENT,
		"'%s' is a group and a domain that does not have it\n"
		"Cause:  the domain of that name is %s\n"
		"Remedy: for the domain: gpupass status %s; for the group, give the UUID of "
		"the domain that has it, or see: gpupass show %s",
		word, uuid, uuid, word);
}

static int status_json(Client *c, const World *w, const Wanted *wanted)
{
	json_t *groups =
		JSON_ARRAY(w->groups, w->n_groups,
			   group_wanted(it, wanted) ? json_of_object(OBJECT_GROUP, it) : NULL);
	json_t *assignments = JSON_ARRAY(
		w->assignments, w->n_assignments,
		assignment_wanted(w, it, wanted) ? json_of_object(OBJECT_ASSIGNMENT, it) : NULL);
	json_t *jobs = JSON_ARRAY(w->jobs, w->n_jobs,
				  job_wanted(it, wanted) ? json_of_object(OBJECT_JOB, it) : NULL);

	return json_print(c,
			  json_build("{s:s, s:o, s:o, s:o, s:o}", "schema", GPUPASS_SCHEMA_STATUS,
				     "manager", json_of_object(OBJECT_MANAGER, &w->manager),
				     "groups", groups, "assignments", assignments, "jobs", jobs));
}

/* "3 (2 assigned, 1 free)" */
static char *groups_count(const World *w)
{
	_cleanup_strv_ char **parts = NULL;
	_cleanup_free_ char *joined = NULL;

	for (size_t i = 0; i < GROUP_STATE_MAX_; i++) {
		const char *state = group_state_to_string((GroupState)i);
		size_t n = COUNT(w->groups, w->n_groups, strcmp(it->state, state) == 0);

		if (n > 0)
			strv_appendf(&parts, "%zu %s", n, state);
	}
	joined = strv_join(parts, ", ");
	return strf("%zu%s%s%s", w->n_groups, *joined ? " (" : "", joined, *joined ? ")" : "");
}

static void print_manager(Client *c, const World *w)
{
	const Terminal *t = &c->out;
	_cleanup_free_ char *scanned = time_format(w->manager.scanned_at);
	_cleanup_free_ char *groups = groups_count(w);
	size_t single = COUNT(w->gpus, w->n_gpus, !world_find_group_path(w, it->group));
	size_t running = COUNT(w->jobs, w->n_jobs, !job_is_over(it));

	fprintf(t->stream, "gpupassd %s\n", or_dash(w->manager.version));
	terminal_field(t, "libvirt", "%s",
		       manager_has_libvirt(&w->manager)
			       ? w->manager.libvirt_connected ? "connected" : "not connected"
			       : "none, by Uri=none");
	terminal_field(t, "IOMMU", "%s", w->manager.iommu_enabled ? "enabled" : "not enabled");
	terminal_field(t, "Scanned", "%s", scanned);
	terminal_field(t, "Groups", "%s", groups);
	if (single > 0)
		terminal_field(t, "GPUs", "%zu, %zu of them in no group", w->n_gpus, single);
	else
		terminal_field(t, "GPUs", "%zu", w->n_gpus);
	terminal_field(t, "Jobs", "%zu running", running);
}

static void print_everything(Client *c, const World *w)
{
	print_manager(c, w);
	for (size_t i = 0; i < w->n_groups; i++) {
		fputc('\n', c->out.stream);
		block_group(c, w, &w->groups[i]);
	}
	print_notes(c, w);
}

static void print_wanted(Client *c, const World *w, const Wanted *wanted)
{
	size_t n = 0;

	EACH (const Group, group, w->groups, w->n_groups)
		if (group_wanted(group, wanted)) {
			fputs(n++ > 0 ? "\n" : "", c->out.stream);
			block_group(c, w, group);
		}
	EACH (const Assignment, a, w->assignments, w->n_assignments)
		if (assignment_wanted(w, a, wanted)) {
			fputs(n++ > 0 ? "\n" : "", c->out.stream);
			block_assignment(c, w, a);
		}
}

static bool is_known(const World *w, const Wanted *wanted)
{
	return SOME(w->groups, w->n_groups, group_wanted(it, wanted)) ||
	       SOME(w->assignments, w->n_assignments, assignment_wanted(w, it, wanted));
}

/* A GPU may be named, as for show. NULL: it is none of a group's. */
static const Group *group_of_gpu(const World *w, const char *word)
{
	_cleanup_free_ char *address = address_normalise(word);
	const Gpu *gpu = world_find_gpu(w, address ? address : word);

	return gpu ? world_find_group_path(w, gpu->group) : NULL;
}

int verb_status(Client *c, char *const *arguments, size_t n_arguments)
{
	Wanted named = { .word = n_arguments > 0 ? arguments[0] : NULL };
	const Wanted *wanted = named.word ? &named : NULL;
	_cleanup_(world_clear) World w = { 0 };
	const Group *group;
	const char *other;
	int r = world_load(c, &w);

	if (r < 0)
		return r;
	/* It may have another name now than when it was assigned. */
	named.is_uuid = wanted && domain_uuid_parse(named.word, named.uuid);
	group = wanted ? world_find_group_named(&w, named.word) : NULL;
	other = group ? namesake(&w, group, wanted) : NULL;
	if (other)
		return refuse_ambiguous(c, named.word, other);
	if (wanted && !group && !is_known(&w, wanted))
		group = group_of_gpu(&w, named.word);
	if (group)
		named = (Wanted){ .word = group->name };
	if (wanted && !is_known(&w, wanted))
		return client_error(c, GPUPASS_ERROR_NO_SUCH_GROUP,
				    "there is no group '%s', and no domain of that name has one\n"
				    "Remedy: see the groups with: gpupass list",
				    named.word);
	if (c->options->json != JSON_OFF)
		return status_json(c, &w, wanted);
	if (wanted)
		print_wanted(c, &w, wanted);
	else
		print_everything(c, &w);
	return GPUPASS_EXIT_DONE;
}
