/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `gpupass verify`, and the result of a verification: org.gpupass1.verify/1. */
#include <ctype.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "job/job.h"
#include "job/request.h"
#include "util/xalloc.h"
#include "verbs/meant.h"
#include "verbs/verbs.h"
#include "verbs/verify-show.h"

static char *item(const json_t *object, const char *key, size_t i)
{
	const json_t *items = json_object_get(object, key);

	return text_printable(str_or_empty(json_string_value(json_array_get(items, i))));
}

static Colour verdict_colour(const char *verdict)
{
	if (strcmp(verdict, "verified") == 0)
		return COLOUR_GOOD;
	return strcmp(verdict, "unknown") == 0 ? COLOUR_MOVING : COLOUR_BAD;
}

static void upper(char *s)
{
	for (; *s; s++)
		*s = (char)toupper((unsigned char)*s);
}

/* "4" of the GPU at this address; "?" if it was not reported. */
static char *links_active(const json_t *document, const char *address)
{
	const json_t *gpus = json_object_get(document, "gpus"), *gpu;
	size_t i;

	json_array_foreach (gpus, i, gpu) {
		const char *at = json_text_of(gpu, "address");

		if (strcmp(at, address) == 0 && json_is_set(gpu, "listed"))
			return strf("%lld", json_number_of(gpu, "links_active"));
	}
	return xstrdup("?");
}

/* 0000:41:00.0 0000:61:00.0  NV4 NV4  links 4 4  p2p OK OK  verified */
static void print_link(Client *c, const json_t *document, const json_t *link)
{
	const Terminal *t = &c->out;
	_cleanup_free_ char *a = item(link, "gpus", 0), *b = item(link, "gpus", 1);
	_cleanup_free_ char *ab = item(link, "paths", 0), *ba = item(link, "paths", 1);
	_cleanup_free_ char *pab = item(link, "peer_to_peer", 0);
	_cleanup_free_ char *pba = item(link, "peer_to_peer", 1);
	_cleanup_free_ char *verdict = document_text(link, "verdict");
	_cleanup_free_ char *la = links_active(document, a), *lb = links_active(document, b);

	fprintf(t->stream, "  %s %s  path %s %s  links %s %s  p2p %s %s  %s%s%s\n", a, b, ab, ba,
		la, lb, pab, pba, terminal_colour(t, verdict_colour(verdict)), verdict,
		terminal_plain(t));
}

static void print_links(Client *c, const json_t *document)
{
	const json_t *links = json_object_get(document, "links"), *link;
	size_t i;

	json_array_foreach (links, i, link)
		print_link(c, document, link);
}

static void print_text(Client *c, const json_t *document, const char *verdict)
{
	const Terminal *t = &c->out;
	_cleanup_free_ char *domain = document_text(json_object_get(document, "domain"), "name");
	_cleanup_free_ char *group = document_text(document, "group");
	_cleanup_free_ char *reason = document_text(document, "reason");
	_cleanup_free_ char *remedy = document_text(document, "remedy");
	_cleanup_free_ char *note = document_text(document, "note");
	_cleanup_free_ char *loud = text_printable(verdict);

	upper(loud);
	fprintf(t->stream, "%s in %s: %s%s%s\n", group, domain,
		terminal_colour(t, verdict_colour(verdict)), loud, terminal_plain(t));
	print_links(c, document);
	if (*reason)
		fprintf(t->stream, "  Reason: %s\n", reason);
	if (*remedy)
		fprintf(t->stream, "  Remedy: %s\n", remedy);
	if (*note)
		fprintf(t->stream, "  Note: %s\n", note);
	verify_print_guest_report(c, json_object_get(document, "guest_report"));
	verify_print_workload(c, json_object_get(document, "workload"));
}

static int tell_verdict(Client *c, _unused_ Progress *p, const Job *job)
{
	_cleanup_(json_decrefp) json_t *document = json_loads(job->result, 0, NULL);
	const char *verdict = json_string_value(json_object_get(document, "verdict"));
	bool verified;
	int r = 0;

	if (!verdict)
		return bus_bad_reply(c, "the job's result is not a verdict");
	verified = strcmp(verdict, "verified") == 0 &&
		   verify_workload_passed(json_object_get(document, "workload"));
	if (c->options->json == JSON_OFF)
		print_text(c, document, verdict);
	else
		r = json_print(c, json_incref(document));
	if (r < 0)
		return r;
	return verified ? GPUPASS_EXIT_DONE : GPUPASS_EXIT_FAILED;
}

static int verify_one(Client *c, const char *domain, const char *group)
{
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = bus_new_manager_call(c, "Verify", &call, "s", domain);

	if (r >= 0)
		r = request_append_options_for(c, call, OPERATION_VERIFY, false, group);
	return r < 0 ? r : job_run_to(c, call, tell_verdict);
}

/* Each group of the domain has a verdict of its own. The worst decides the exit code. */
static int verify_each(Client *c, const char *domain, char *const *groups, size_t n)
{
	int code = GPUPASS_EXIT_DONE;

	for (size_t i = 0; i < n; i++) {
		int r = verify_one(c, domain, groups[i]);

		if (r < 0 || r == JOB_EXIT_INTERRUPTED)
			return r;
		if (r != GPUPASS_EXIT_DONE)
			code = r;
	}
	return code;
}

int verb_verify(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_strv_ char **groups = NULL;
	int r;

	if (n_arguments > 1)
		return verify_each(c, arguments[0], arguments + 1, n_arguments - 1);
	r = meant_groups(c, arguments[0], &groups);
	if (r < 0)
		return r;
	/* One group, or a word that only the daemon knows. */
	if (strv_length(groups) < 2)
		return verify_one(c, arguments[0], NULL);
	if (c->options->given & OPTION_NO_BLOCK)
		return client_usage(c, "--no-block is about one job\nRemedy: name one group");
	return verify_each(c, arguments[0], groups, strv_length(groups));
}
