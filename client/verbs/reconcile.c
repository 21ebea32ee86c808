/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What has drifted, and bringing it back. */

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "job/job.h"
#include "model/model.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

static bool is_mended(const json_t *finding)
{
	const char *repair = json_text_of(finding, "repair");

	return *repair && strcmp(repair, "none") != 0;
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
	static const DocumentKind kind = DOCUMENT_KIND("the drift", DRIFT, .list = "findings");
	int r = document_get(c, "GetDrift", BUS_TIMEOUT_ACT_USEC, &kind, ret);

	if (r >= 0)
		keep_group(*ret, group);
	return r;
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
	const char *domain = json_text_of(json_object_get(finding, "domain"), "name");

	fprintf(t->stream, "%s%s%s%s: %s\n", json_text_of(finding, "group"), *domain ? " (" : "",
		domain, *domain ? ")" : "", json_text_of(finding, "what"));
	if (is_mended(finding))
		fprintf(t->stream, "  Would:  %s\n", json_text_of(finding, "repair"));
	fprintf(t->stream, "  Remedy: %s\n", json_text_of(finding, "remedy"));
}

static void print_findings(Client *c, const json_t *drift)
{
	const json_t *finding;

	JSON_EACH (finding, drift, "findings")
		print_finding(&c->out, finding);
}

/* Findings that reconcile mends, or those that it does not. */
static size_t count(const json_t *drift, bool mended)
{
	const json_t *finding;
	size_t n = 0;

	JSON_EACH (finding, drift, "findings")
		n += is_mended(finding) == mended;
	return n;
}

static void tell_what_is_not_known(Client *c, const json_t *drift)
{
	if (!c->options->quiet && json_is_false(json_object_get(drift, "domains_known")))
		fputs("Note: libvirt does not answer, so domains were not checked\n",
		      c->err.stream);
}

static int show_drift(Client *c, json_t *drift)
{
	size_t mended = count(drift, true), others = count(drift, false);
	int r;

	tell_what_is_not_known(c, drift);
	r = json_show(c, drift, print_findings);
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
	const json_t *finding;
	const char *last = NULL;

	JSON_EACH (finding, drift, "findings") {
		const char *group = json_text_of(finding, "group");
		int r;

		/* Findings of one group follow each other. */
		if (!is_mended(finding) || str_equal(last, group))
			continue;
		last = group;
		r = job_request(c, "Reconcile", group, NULL, NULL, NULL);
		if (r != GPUPASS_EXIT_DONE)
			return r;
	}
	return GPUPASS_EXIT_DONE;
}

static int mend(Client *c, const json_t *drift, const char *group)
{
	size_t others = count(drift, false);
	const json_t *finding;
	int r;

	tell_what_is_not_known(c, drift);
	/*
	 * For a group that was named, the daemon says why it cannot, or that there is nothing to
	 * do.
	 */
	r = group && others == 0 ? job_request(c, "Reconcile", group, NULL, NULL, NULL)
				 : run_jobs(c, drift);
	if (r != GPUPASS_EXIT_DONE)
		return r;
	if (!group && count(drift, true) + others == 0 && !c->options->quiet)
		fputs("Nothing has drifted.\n", c->err.stream);
	JSON_EACH (finding, drift, "findings")
		if (!is_mended(finding))
			print_finding(&c->err, finding);
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
	return dry_run ? show_drift(c, drift) : mend(c, drift, group);
}
