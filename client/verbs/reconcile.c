/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What has drifted, and bringing it back. */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "model/model.h"
#include "util/xalloc.h"
#include "verbs/acts.h"
#include "verbs/verbs.h"

static bool is_mended(const json_t *finding)
{
	const char *repair = json_string_value(json_object_get(finding, "repair"));

	return repair && strcmp(repair, "none") != 0;
}

/* Only this group's; NULL: all. */
static void keep_group(json_t *drift, const char *group)
{
	json_t *findings = json_object_get(drift, "findings");

	for (size_t i = json_array_size(findings); group && i-- > 0;)
		if (strcmp(json_text_of(json_array_get(findings, i), "group"), group) != 0)
			json_array_remove(findings, i);
}

static int load_drift(Client *c, const char *group, json_t **ret)
{
	static const DocumentKind kind = { "the drift", GPUPASS_SCHEMA_DRIFT, "findings" };
	int r = document_get(c, "GetDrift", BUS_TIMEOUT_ACT_USEC, &kind, ret);

	if (r < 0)
		return r;
	keep_group(*ret, group);
	return 0;
}

/* The name that it has now, which findings use. */
static int check_group(Client *c, const char *name, char **ret)
{
	_cleanup_(world_clear) World w = { 0 };
	const Group *group;
	int r = world_load(c, &w);

	if (r < 0)
		return r;
	group = world_find_group_named(&w, name);
	if (group) {
		*ret = xstrdup(group->name);
		return 0;
	}
	return client_error(c, GPUPASS_ERROR_NO_SUCH_GROUP,
			    "there is no group '%s'\nRemedy: see: gpupass list", name);
}

static void print_finding(const Terminal *t, const json_t *finding)
{
	_cleanup_free_ char *group = document_text(finding, "group"),
			    *what = document_text(finding, "what");
	_cleanup_free_ char *repair = document_text(finding, "repair"),
			    *remedy = document_text(finding, "remedy");
	_cleanup_free_ char *domain = document_text(json_object_get(finding, "domain"), "name");

	fprintf(t->stream, "%s%s%s%s: %s\n", group, *domain ? " (" : "", domain, *domain ? ")" : "",
		what);
	if (is_mended(finding))
		fprintf(t->stream, "  Would:  %s\n", repair);
	fprintf(t->stream, "  Remedy: %s\n", remedy);
}

/* Findings that reconcile mends, or those that it does not, or both. */
static void print_findings(const Terminal *t, const json_t *drift, bool mended, bool others)
{
	const json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(drift, "findings"), i, finding)
		if (is_mended(finding) ? mended : others)
			print_finding(t, finding);
}

static size_t count(const json_t *drift, bool mended)
{
	const json_t *finding;
	size_t i, n = 0;

	json_array_foreach (json_object_get(drift, "findings"), i, finding)
		n += is_mended(finding) == mended;
	return n;
}

static void tell_what_is_not_known(Client *c, const json_t *drift)
{
	if (!c->options->quiet && json_is_false(json_object_get(drift, "domains_known")))
		fputs("Note: libvirt does not answer, so domains were not checked\n",
		      c->err.stream);
}

static int show_drift(Client *c, json_t **drift)
{
	size_t mended = count(*drift, true), others = count(*drift, false);
	int r = 0;

	tell_what_is_not_known(c, *drift);
	if (c->options->json != JSON_OFF)
		r = json_print(c, TAKE_PTR(*drift));
	else
		print_findings(&c->out, *drift, true, true);
	if (r < 0)
		return r;
	if (mended + others == 0 && c->options->json == JSON_OFF && !c->options->quiet)
		fputs("Nothing has drifted.\n", c->err.stream);
	if (!(c->options->given & OPTION_DETAILED_EXITCODE))
		return GPUPASS_EXIT_DONE;
	if (mended > 0)
		return GPUPASS_EXIT_PENDING;
	return others > 0 ? GPUPASS_EXIT_BUSY : GPUPASS_EXIT_DONE;
}

/* One job a group, one after another. The first that fails is reported, and ends the command. */
static int run_jobs(Client *c, const json_t *drift)
{
	const json_t *findings = json_object_get(drift, "findings");
	const char *last = NULL;

	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *finding = json_array_get(findings, i);
		int r;

		/* Findings of one group follow each other. */
		if (!is_mended(finding) ||
		    (last && strcmp(last, json_text_of(finding, "group")) == 0))
			continue;
		last = json_text_of(finding, "group");
		r = act(c, "Reconcile", OPERATION_RECONCILE, last, NULL);
		if (r != GPUPASS_EXIT_DONE)
			return r;
	}
	return GPUPASS_EXIT_DONE;
}

static int mend(Client *c, const json_t *drift, const char *group)
{
	size_t others = count(drift, false);
	int r;

	tell_what_is_not_known(c, drift);
	/*
	 * For a group that was named, the daemon says why it cannot, or that there is nothing to
	 * do.
	 */
	r = group && others == 0 ? act(c, "Reconcile", OPERATION_RECONCILE, group, NULL)
				 : run_jobs(c, drift);
	if (r != GPUPASS_EXIT_DONE)
		return r;
	if (!group && count(drift, true) + others == 0 && !c->options->quiet)
		fputs("Nothing has drifted.\n", c->err.stream);
	print_findings(&c->err, drift, false, true);
	return others > 0 ? GPUPASS_EXIT_BUSY : GPUPASS_EXIT_DONE;
}

int verb_reconcile(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_free_ char *group = NULL;
	bool dry_run = c->options->given & OPTION_DRY_RUN;
	_cleanup_(json_decrefp) json_t *drift = NULL;
	int r;

	if (!dry_run && (c->options->given & OPTION_DETAILED_EXITCODE))
		return client_usage(c, "--detailed-exitcode goes with --dry-run");
	r = n_arguments > 0 ? check_group(c, arguments[0], &group) : 0;
	if (r >= 0)
		r = load_drift(c, group, &drift);
	if (r < 0)
		return r;
	return dry_run ? show_drift(c, &drift) : mend(c, drift, group);
}
