/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "job/request.h"
#include "show/describe.h"
#include "verbs/verbs.h"

static int request_plan(Client *c, Operation operation, const char *target, const char *group,
			json_t **ret)
{
	static const DocumentKind kind = { "the plan", GPUPASS_SCHEMA_PLAN, NULL };
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = bus_new_manager_call(c, "Plan", &call, "ss", target, str_or_empty(group));

	if (r >= 0)
		r = request_append_options(c, call, operation, true);
	return r < 0 ? r : document_call(c, call, BUS_TIMEOUT_ACT_USEC, &kind, ret);
}

/* "assign pair1 to vm42 (definition)" */
static void print_what(const Terminal *t, const json_t *plan)
{
	const json_t *domain = json_object_get(plan, "domain");
	_cleanup_free_ char *operation = document_text(plan, "operation");
	_cleanup_free_ char *group = document_text(plan, "group");
	_cleanup_free_ char *name = document_text(domain, "name");
	_cleanup_free_ char *uuid = document_text(domain, "uuid");
	bool live = json_is_set(plan, "live"), config = json_is_set(plan, "config");
	const char *where = "", *preposition = "to";

	if (live && config)
		where = " (running domain and definition)";
	else if (live)
		where = " (running domain)";
	else if (config)
		where = " (definition)";
	if (strcmp(operation, "release") == 0)
		preposition = "from";
	fprintf(t->stream, "%sPlan:%s %s %s%s%s%s%s%s\n", terminal_colour(t, COLOUR_BOLD),
		terminal_plain(t), operation, group, *name ? " " : "", *name ? preposition : "",
		*name ? " " : "", name, where);
	if (*uuid)
		terminal_field(t, "Domain", "%s%s%s", name, *name ? ", " : "", uuid);
}

static void heading(const Terminal *t, const char *text)
{
	fprintf(t->stream, "\n%s%s%s\n", terminal_colour(t, COLOUR_BOLD), text, terminal_plain(t));
}

static void print_functions(const Terminal *t, const json_t *plan)
{
	const json_t *functions = json_object_get(plan, "functions"), *f;
	size_t i;

	if (json_array_size(functions) > 0)
		heading(t, "Functions:");
	json_array_foreach (functions, i, f) {
		_cleanup_free_ char *address = document_text(f, "address");
		_cleanup_free_ char *from = document_text(json_object_get(f, "from"), "driver");
		_cleanup_free_ char *to = document_text(json_object_get(f, "to"), "driver");
		const json_t *iommu = json_object_get(f, "iommu_group");
		_cleanup_free_ char *number = number_text(
			json_is_integer(iommu) ? (int32_t)json_integer_value(iommu) : -1);

		fprintf(t->stream, "  %s  IOMMU group %s  ", address, number);
		if (strcmp(from, to) == 0)
			fprintf(t->stream, "%s, as it is\n", *to ? to : "none");
		else
			fprintf(t->stream, "%s %s %s\n", *from ? from : "none",
				terminal_glyph(t, GLYPH_ARROW), *to ? to : "none");
	}
}

static void print_steps(const Terminal *t, const json_t *plan)
{
	const json_t *steps = json_object_get(plan, "steps"), *step;
	size_t i;

	if (json_array_size(steps) > 0)
		heading(t, "Steps:");
	json_array_foreach (steps, i, step) {
		_cleanup_free_ char *name = document_text(step, "name");
		_cleanup_free_ char *detail = document_text(step, "detail");

		if (*detail)
			fprintf(t->stream, "  %zu. %-16s %s\n", i + 1, name, detail);
		else
			fprintf(t->stream, "  %zu. %s\n", i + 1, name);
	}
}

static void print_writes(const Terminal *t, const json_t *plan)
{
	const json_t *writes = json_object_get(plan, "writes"), *write;
	size_t i;

	if (json_array_size(writes) > 0)
		heading(t, "Writes, in this order:");
	json_array_foreach (writes, i, write) {
		_cleanup_free_ char *path = document_text(write, "path");
		_cleanup_free_ char *value = document_text(write, "value");

		fprintf(t->stream, "  %s %s %s\n", path, terminal_glyph(t, GLYPH_FROM), value);
	}
}

static Colour diff_colour(const char *line)
{
	switch (*line) {
	case '+':
		return COLOUR_GOOD;
	case '-':
		return COLOUR_BAD;
	case '@':
		return COLOUR_MARK;
	default:
		return COLOUR_NONE;
	}
}

static void print_diff(const Terminal *t, const json_t *plan)
{
	const char *diff = json_text_of(plan, "xml_diff");
	_cleanup_free_ char *text = NULL;
	char *next;

	if (!*diff)
		return;
	text = text_printable_lines(diff);
	heading(t, "Domain XML:");
	for (char *line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		fprintf(t->stream, "  %s%s%s\n", terminal_colour(t, diff_colour(line)), line,
			terminal_plain(t));
	}
}

/* Findings that are only good to know: the others are among the warnings. */
static void print_findings(const Terminal *t, const json_t *plan)
{
	const json_t *findings = json_object_get(plan, "findings"), *finding;
	bool first = true;
	size_t i;

	json_array_foreach (findings, i, finding) {
		_cleanup_free_ char *severity = document_text(finding, "severity");
		_cleanup_free_ char *what = document_text(finding, "what");
		_cleanup_free_ char *remedy = document_text(finding, "remedy");
		_cleanup_free_ char *text = strf("%s%s%s", what, *remedy ? "; " : "", remedy);

		if (strcmp(severity, "info") != 0)
			continue;
		if (first)
			heading(t, "Fit:");
		first = false;
		fputs("  ", t->stream);
		terminal_prose(t, 2, 4, text);
	}
}

static void print_warnings(const Terminal *t, const json_t *plan)
{
	const json_t *warnings = json_object_get(plan, "warnings"), *warning;
	size_t i;

	if (json_array_size(warnings) > 0)
		heading(t, "Warnings:");
	json_array_foreach (warnings, i, warning) {
		_cleanup_free_ char *text =
			text_printable(str_or_empty(json_string_value(warning)));

		fputs("  ", t->stream);
		terminal_prose(t, 2, 4, text);
	}
}

static void print_plan(Client *c, const json_t *plan)
{
	static void (*const sections[])(const Terminal *, const json_t *) = {
		print_what, print_functions, print_steps,    print_writes,
		print_diff, print_findings,  print_warnings,
	};

	for (size_t i = 0; i < ELEMENTS(sections); i++)
		sections[i](&c->out, plan);
	if (c->options->legend)
		fprintf(c->out.stream, "\n%s\n",
			json_is_set(plan, "changed")
				? "Nothing was changed."
				: "Nothing to do: everything is already as it should be.");
}

int plan_show(Client *c, Operation operation, const char *target, const char *group)
{
	_cleanup_(json_decrefp) json_t *plan = NULL;
	bool changed;
	int r;

	r = request_check(c, operation);
	if (r < 0)
		return r;
	r = request_plan(c, operation, target, group, &plan);
	if (r < 0)
		return r;
	changed = json_is_set(plan, "changed");
	if (c->options->json != JSON_OFF)
		r = json_print(c, TAKE_PTR(plan));
	else
		print_plan(c, plan);
	if (r < 0)
		return r;
	if (changed && (c->options->given & OPTION_DETAILED_EXITCODE))
		return GPUPASS_EXIT_PENDING;
	return GPUPASS_EXIT_DONE;
}

int plan_changes(Client *c, Operation operation, const char *target, const char *group, bool *ret)
{
	_cleanup_(json_decrefp) json_t *plan = NULL;
	int r = request_check(c, operation);

	if (r >= 0)
		r = request_plan(c, operation, target, group, &plan);
	if (r >= 0)
		*ret = json_is_set(plan, "changed");
	return r;
}

int verb_plan(Client *c, char *const *arguments, size_t n_arguments)
{
	if (!(c->options->given & OPTION_RELEASE))
		return plan_show(c, OPERATION_ASSIGN, arguments[0],
				 n_arguments > 1 ? arguments[1] : NULL);
	if (n_arguments > 1)
		return client_usage(c, "plan --release takes one argument, a domain or a group");
	return plan_show(c, OPERATION_RELEASE, arguments[0], NULL);
}
