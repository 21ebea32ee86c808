/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking for a plan, and printing it. */

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "job/job.h"
#include "show/describe.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

static int request_plan(Client *c, Operation operation, const char *target, const char *group,
			json_t **ret)
{
	static const DocumentKind kind = DOCUMENT_KIND("the plan", PLAN, .lines = "xml_diff");
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = request_check(c, operation);

	if (r >= 0)
		r = bus_new_manager_call(c, "Plan", &call, "ss", target, str_or_empty(group));
	if (r >= 0)
		r = request_append_options(c, call, operation_to_string(operation), NULL);
	return r < 0 ? r : document_call(c, call, BUS_TIMEOUT_ACT_USEC, &kind, ret);
}

/* "assign pair1 to vm42 (definition)" */
static void print_what(const Terminal *t, const json_t *plan)
{
	const json_t *domain = json_object_get(plan, "domain");
	const char *operation = json_text_of(plan, "operation");
	const char *name = json_text_of(domain, "name"), *uuid = json_text_of(domain, "uuid");
	bool live = json_is_set(plan, "live"), config = json_is_set(plan, "config");
	const char *preposition = strcmp(operation, "release") == 0 ? " from " : " to ";

	fprintf(t->stream, "%sPlan:%s %s %s%s%s%s\n", terminal_colour(t, COLOUR_BOLD),
		terminal_plain(t), operation, json_text_of(plan, "group"), *name ? preposition : "",
		name,
		live && config ? " (running domain and definition)"
		: live	       ? " (running domain)"
		: config       ? " (definition)"
			       : "");
	domain_field(t, name, uuid);
}

static void heading(const Terminal *t, const char *text)
{
	fprintf(t->stream, "\n%s%s%s\n", terminal_colour(t, COLOUR_BOLD), text, terminal_plain(t));
}

static void print_function(const Terminal *t, const json_t *f, _unused_ size_t number)
{
	const char *from = json_text_of(json_object_get(f, "from"), "driver");
	const char *to = json_text_of(json_object_get(f, "to"), "driver");
	const json_t *iommu = json_object_get(f, "iommu_group");
	_cleanup_free_ char *group =
		number_text(json_is_integer(iommu) ? (int32_t)json_integer_value(iommu) : -1);

	fprintf(t->stream, "  %s  IOMMU group %s  ", json_text_of(f, "address"), group);
	if (strcmp(from, to) == 0)
		fprintf(t->stream, "%s, as it is\n", *to ? to : "none");
	else
		fprintf(t->stream, "%s %s %s\n", *from ? from : "none",
			terminal_glyph(t, GLYPH_ARROW), *to ? to : "none");
}

static void print_step(const Terminal *t, const json_t *step, size_t number)
{
	const char *name = json_text_of(step, "name"), *detail = json_text_of(step, "detail");

	if (*detail)
		fprintf(t->stream, "  %zu. %-16s %s\n", number, name, detail);
	else
		fprintf(t->stream, "  %zu. %s\n", number, name);
}

static void print_write(const Terminal *t, const json_t *write, _unused_ size_t number)
{
	fprintf(t->stream, "  %s %s %s\n", json_text_of(write, "path"),
		terminal_glyph(t, GLYPH_FROM), json_text_of(write, "value"));
}

static Colour diff_colour(const char *line)
{
	return *line == '+'   ? COLOUR_GOOD
	       : *line == '-' ? COLOUR_BAD
	       : *line == '@' ? COLOUR_MARK
			      : COLOUR_NONE;
}

static void print_diff(const Terminal *t, const json_t *plan)
{
	const char *line = json_text_of(plan, "xml_diff");

	if (*line)
		heading(t, "Domain XML:");
	for (size_t n; *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		fprintf(t->stream, "  %s%.*s%s\n", terminal_colour(t, diff_colour(line)), (int)n,
			line, terminal_plain(t));
	}
}

/* ", cell 0", of the member of this name; "": it is none. New. */
static char *node_number(const json_t *node, const char *key, const char *word)
{
	return json_is_integer(json_object_get(node, key))
		       ? strf(", %s %lld", word, json_number_of(node, key))
		       : xstrdup("");
}

static void print_node(const Terminal *t, const json_t *node, int indent)
{
	const char *role = json_text_of(node, "role"), *address = json_text_of(node, "address");
	const char *host = json_text_of(node, "host_address");
	_cleanup_free_ char *cell = node_number(node, "cell", "cell");
	_cleanup_free_ char *numa = node_number(node, "host_node", "NUMA node");
	/* Of an expander it is its root bus, without slot and function. */
	int cut = strcmp(role, "pcie-expander-bus") == 0 ? (int)strlen(":00.0") : 0;
	_cleanup_free_ char *left =
		strf("%s %.*s%s", role, (int)strlen(address) - cut, address, cell);

	if (*host)
		fprintf(t->stream, "  %*s%-*s %.*s%s\n", indent, "", 52 - indent, left,
			(int)strlen(host) - cut, host, numa);
	else
		fprintf(t->stream, "  %*s%s\n", indent, "", left);
}

/* Each node stands behind its parent. */
static int depth_of(const json_t *tree, size_t place)
{
	const json_t *parent = json_object_get(json_array_get(tree, place), "parent");
	json_int_t up = json_integer_value(parent);

	return json_is_integer(parent) && up >= 0 && (size_t)up < place
		       ? 1 + depth_of(tree, (size_t)up)
		       : 0;
}

static void print_tree(const Terminal *t, const json_t *plan)
{
	const json_t *tree = json_object_get(plan, "guest_tree"), *node;

	JSON_EACH (node, plan, "guest_tree") {
		if (node_at == 0)
			heading(t, "PCIe tree of the guest, and what of the host it stands for:");
		print_node(t, node, 2 * depth_of(tree, node_at));
	}
}

static void print_sentence(const Terminal *t, const char *text)
{
	fputs("  ", t->stream);
	terminal_prose(t, 2, 4, text);
}

/* Findings that are only good to know: the others are among the warnings. */
static void print_findings(const Terminal *t, const json_t *plan)
{
	const json_t *finding;
	bool first = true;

	JSON_EACH (finding, plan, "findings") {
		const char *remedy = json_text_of(finding, "remedy");
		_cleanup_free_ char *text =
			strf("%s%s%s", json_text_of(finding, "what"), *remedy ? "; " : "", remedy);

		if (strcmp(json_text_of(finding, "severity"), "info") != 0)
			continue;
		if (first)
			heading(t, "Fit:");
		first = false;
		print_sentence(t, text);
	}
}

static void print_warning(const Terminal *t, const json_t *warning, _unused_ size_t number)
{
	print_sentence(t, str_or_empty(json_string_value(warning)));
}

static void print_list(const Terminal *t, const json_t *plan, const char *key, const char *title,
		       void (*print)(const Terminal *t, const json_t *item, size_t number))
{
	const json_t *item;
	size_t n = 0;

	JSON_EACH (item, plan, key) {
		if (n++ == 0)
			heading(t, title);
		print(t, item, n);
	}
}

static void print_plan(Client *c, const json_t *plan)
{
	const Terminal *t = &c->out;

	print_what(t, plan);
	print_list(t, plan, "functions", "Functions:", print_function);
	print_list(t, plan, "steps", "Steps:", print_step);
	print_list(t, plan, "writes", "Writes, in this order:", print_write);
	print_tree(t, plan);
	print_diff(t, plan);
	print_findings(t, plan);
	print_list(t, plan, "warnings", "Warnings:", print_warning);
	if (c->options->legend)
		fprintf(t->stream, "\n%s\n",
			json_is_set(plan, "changed")
				? "Nothing was changed."
				: "Nothing to do: everything is already as it should be.");
}

int plan_show(Client *c, Operation operation, const char *target, const char *group)
{
	_cleanup_(json_decrefp) json_t *plan = NULL;
	int r = request_plan(c, operation, target, group, &plan);

	if (r >= 0)
		r = json_show(c, plan, print_plan);
	if (r < 0)
		return r;
	return json_is_set(plan, "changed") && (c->options->given & OPTION_DETAILED_EXITCODE)
		       ? GPUPASS_EXIT_PENDING
		       : GPUPASS_EXIT_DONE;
}

int plans_show(Client *c, Operation operation, const char *domain, char *const *groups)
{
	int code = GPUPASS_EXIT_DONE;

	for (; groups && *groups; groups++) {
		int r = domain ? plan_show(c, operation, domain, *groups)
			       : plan_show(c, operation, *groups, NULL);

		if (r < 0)
			return r;
		if (r != GPUPASS_EXIT_DONE)
			code = r;
	}
	return code;
}

int meant_groups(Client *c, const char *word, char ***ret)
{
	_cleanup_(world_clear) World w = { 0 };
	_cleanup_strv_ char **names = NULL;
	const Group *first = NULL;
	bool sure;
	int r = world_load(c, &w);

	if (r < 0)
		return r;
	sure = !world_find_group_named(&w, word);
	EACH (const Group, group, w.groups, w.n_groups) {
		if (!group_is_of_domain(group, word))
			continue;
		first = first ? first : group;
		sure &= strcmp(group->state, "assigned") == 0 &&
			strcmp(group->domain_uuid, first->domain_uuid) == 0;
		strv_append(&names, group->name);
	}
	if (!sure || strv_length(names) < 2) {
		names = strv_free(names);
		strv_append(&names, word);
	}
	*ret = TAKE_PTR(names);
	return 0;
}

int plan_changes(Client *c, Operation operation, const char *target, const char *group, bool *ret)
{
	_cleanup_(json_decrefp) json_t *plan = NULL;
	int r = request_plan(c, operation, target, group, &plan);

	if (r >= 0)
		*ret = json_is_set(plan, "changed");
	return r;
}

int verb_plan(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_strv_ char **groups = NULL;
	int r;

	if (!(c->options->given & OPTION_RELEASE))
		return plan_show(c, OPERATION_ASSIGN, arguments[0],
				 n_arguments > 1 ? arguments[1] : NULL);
	if (n_arguments > 1)
		return client_usage(c, "plan --release takes one argument, a domain or a group");
	r = meant_groups(c, arguments[0], &groups);
	return r < 0 ? r : plans_show(c, OPERATION_RELEASE, NULL, groups);
}
