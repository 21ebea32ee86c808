/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is observed: gpupass verify prints the result of a verification, org.gpupass1.verify/1, and
 * gpupass probe what each board told of its links, org.gpupass1.evidence/1.
 */
#include <ctype.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "bus/document.h"
#include "job/job.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

/* ---- the guest's report ---- */

/* "1 h 2 min old", ", of an earlier boot" */
static char *age_text(const json_t *report)
{
	const json_t *age = json_object_get(report, "age_usec");
	const char *state = json_text_of(report, "state");
	_cleanup_free_ char *time =
		json_is_integer(age) ? duration_format((uint64_t)json_integer_value(age)) : NULL;
	const char *whose = strcmp(state, "earlier-boot") == 0	 ? "of an earlier boot, "
			    : strcmp(state, "other-domain") == 0 ? "of another machine, "
								 : "";

	return time ? strf("%s%s old", whose, time)
		    : strf("%swritten in the future by the guest's clock", whose);
}

/* "2 GPUs, active links 4 4, driver 535.183.06: as expected" */
static char *checked_text(const json_t *report)
{
	long long gpus = json_number_of(report, "gpus");
	_cleanup_strv_ char **links = NULL;
	_cleanup_free_ char *joined = NULL;
	const json_t *item;

	JSON_EACH (item, report, "links")
		strv_appendf(&links, "%lld", (long long)json_integer_value(item));
	joined = strv_join(links, " ");
	return strf("%lld GPU%s, active links %s, driver %s: %s", gpus, gpus == 1 ? "" : "s",
		    *joined ? joined : "none", json_text_of(report, "driver"),
		    json_is_set(report, "as_expected") ? "as expected"
						       : "not what the host gave it");
}

static void print_guest_report(Client *c, const json_t *report)
{
	const char *state = json_text_of(report, "state"), *stage = json_text_of(report, "stage");
	const char *detail = json_text_of(report, "detail");
	_cleanup_free_ char *age = NULL, *said = NULL;

	if (!json_is_object(report) || strcmp(state, "none") == 0)
		return;
	if (strcmp(state, "unreadable") == 0) {
		fprintf(c->out.stream, "  Guest's report: not readable\n");
		return;
	}
	age = age_text(report);
	said = strcmp(stage, "checked") == 0 ? checked_text(report) : xstrdup(stage);
	fprintf(c->out.stream, "  Guest's report (%s): %s%s%s\n", age, said, *detail ? ": " : "",
		detail);
}

/* ---- the workload ---- */

/* Of the verdict on a link, and of that on its speed. */
static Colour verdict_colour(const char *verdict)
{
	if (strcmp(verdict, "verified") == 0 || strcmp(verdict, "pass") == 0 ||
	    strcmp(verdict, "proved") == 0)
		return COLOUR_GOOD;
	return strcmp(verdict, "unknown") == 0 || str_starts_with(verdict, "not-") ? COLOUR_MOVING
										   : COLOUR_BAD;
}

/* "52.8" of 52800 MB/s */
static void print_speed(FILE *f, long long mbps, const char *before)
{
	fprintf(f, "%s%lld.%lld", before, mbps / 1000, mbps % 1000 / 100);
}

/* 0000:41:00.0 to 0000:61:00.0  52.8 GB/s  93 %  pass */
static void print_copy(Client *c, const json_t *copy, long long nominal)
{
	const Terminal *t = &c->out;
	const char *verdict = json_text_of(copy, "verdict");
	long long mbps = json_number_of(copy, "mbps");

	fprintf(t->stream, "  %s to %s", json_text_of(copy, "from"), json_text_of(copy, "to"));
	print_speed(t->stream, mbps, "  ");
	fputs(" GB/s", t->stream);
	if (nominal > 0) {
		fprintf(t->stream, "  %lld %%", mbps * 100 / nominal);
		print_speed(t->stream, nominal, " of ");
	}
	fprintf(t->stream, "  %s%s%s\n", terminal_colour(t, verdict_colour(verdict)), verdict,
		terminal_plain(t));
}

/* "  Reason: …", where there is one. */
static void print_member(Client *c, const json_t *document, const char *key, const char *label)
{
	const char *text = json_text_of(document, key);

	if (*text)
		fprintf(c->out.stream, "  %s: %s\n", label, text);
}

static void print_workload(Client *c, const json_t *workload)
{
	const Terminal *t = &c->out;
	const char *verdict = json_text_of(workload, "verdict");
	const char *program = json_text_of(workload, "program");
	long long ring = json_number_of(workload, "ring_mbps");
	const json_t *copy;

	if (!json_is_object(workload))
		return;
	fprintf(t->stream, "  Workload%s%s: %s%s%s", *program ? ", by " : "", program,
		terminal_colour(t, verdict_colour(verdict)), verdict, terminal_plain(t));
	if (ring > 0) {
		print_speed(t->stream, ring, ", bus bandwidth ");
		fputs(" GB/s", t->stream);
	}
	fputc('\n', t->stream);
	JSON_EACH (copy, workload, "copies")
		print_copy(c, copy, json_number_of(workload, "nominal_mbps"));
	print_member(c, workload, "reason", "Reason");
	print_member(c, workload, "remedy", "Remedy");
}

static void print_peers(Client *c, const json_t *peers)
{
	const Terminal *t = &c->out;
	const char *verdict = json_text_of(peers, "verdict");

	if (!json_is_object(peers))
		return;
	fprintf(t->stream, "  Peer access over PCIe: %s%s%s\n",
		terminal_colour(t, verdict_colour(verdict)), verdict, terminal_plain(t));
	print_member(c, peers, "reason", "Reason");
	print_member(c, peers, "remedy", "Remedy");
}

/* The links are as fast as they should be, memory is reached; or nobody asked for that. */
static bool is_well(const json_t *document, const char *key)
{
	const json_t *part = json_object_get(document, key);
	const char *verdict = json_text_of(part, "verdict");

	return !json_is_object(part) || verdict_colour(verdict) == COLOUR_GOOD ||
	       strcmp(verdict, "not-used") == 0 ||
	       strcmp(json_text_of(part, "cause"), "not-asked") == 0;
}

/* ---- what the guest sees of PCI Express, and what NCCL makes of it ---- */

static void print_topology(Client *c, const json_t *topology)
{
	print_member(c, topology, "seen", "Topology");
	print_member(c, topology, "file_told", "NCCL's file");
	print_member(c, topology, "nccl", "NCCL");
	print_member(c, topology, "remedy", "Remedy");
}

/* ---- the links ---- */

static const char *item(const json_t *object, const char *key, size_t i)
{
	return str_or_empty(json_string_value(json_array_get(json_object_get(object, key), i)));
}

/* "4" of the GPU at this address; "?" if it was not reported. */
static char *links_active(const json_t *document, const char *address)
{
	const json_t *gpu;

	JSON_EACH (gpu, document, "gpus")
		if (strcmp(json_text_of(gpu, "address"), address) == 0 &&
		    json_is_set(gpu, "listed"))
			return strf("%lld", json_number_of(gpu, "links_active"));
	return xstrdup("?");
}

/* 0000:41:00.0 0000:61:00.0  NV4 NV4  links 4 4  p2p OK OK  verified */
static void print_link(Client *c, const json_t *document, const json_t *link)
{
	const Terminal *t = &c->out;
	const char *a = item(link, "gpus", 0), *b = item(link, "gpus", 1);
	const char *verdict = json_text_of(link, "verdict");
	_cleanup_free_ char *la = links_active(document, a), *lb = links_active(document, b);

	fprintf(t->stream, "  %s %s  path %s %s  links %s %s  p2p %s %s  %s%s%s\n", a, b,
		item(link, "paths", 0), item(link, "paths", 1), la, lb,
		item(link, "peer_to_peer", 0), item(link, "peer_to_peer", 1),
		terminal_colour(t, verdict_colour(verdict)), verdict, terminal_plain(t));
}

static void print_text(Client *c, const json_t *document)
{
	const Terminal *t = &c->out;
	_cleanup_free_ char *loud = xstrdup(json_text_of(document, "verdict"));
	const json_t *link;

	for (char *s = loud; *s; s++)
		*s = (char)toupper((unsigned char)*s);
	fprintf(t->stream, "%s in %s: %s%s%s\n", json_text_of(document, "group"),
		json_text_of(json_object_get(document, "domain"), "name"),
		terminal_colour(t, verdict_colour(json_text_of(document, "verdict"))), loud,
		terminal_plain(t));
	JSON_EACH (link, document, "links")
		print_link(c, document, link);
	print_member(c, document, "reason", "Reason");
	print_member(c, document, "remedy", "Remedy");
	print_member(c, document, "note", "Note");
	print_guest_report(c, json_object_get(document, "guest_report"));
	print_topology(c, json_object_get(document, "topology"));
	print_workload(c, json_object_get(document, "workload"));
	print_peers(c, json_object_get(document, "peer_access"));
}

/* ---- the verb ---- */

static int tell_verdict(Client *c, _unused_ Progress *p, const Job *job)
{
	_cleanup_(json_decrefp) json_t *document = json_loads(job->result, 0, NULL);
	int r;

	if (!json_is_string(json_object_get(document, "verdict")))
		return bus_bad_reply(c, "the job's result is not a verdict");
	if (c->options->json == JSON_OFF)
		document_clean(document);
	r = json_show(c, document, print_text);
	if (r < 0)
		return r;
	return strcmp(json_text_of(document, "verdict"), "verified") == 0 &&
			       is_well(document, "workload") && is_well(document, "peer_access")
		       ? GPUPASS_EXIT_DONE
		       : GPUPASS_EXIT_FAILED;
}

/* Each group of the domain has a verdict of its own. The worst decides the exit code. */
static int verify_each(Client *c, const char *domain, char *const *groups, size_t n)
{
	int code = GPUPASS_EXIT_DONE;

	for (size_t i = 0; i < n; i++) {
		int r = job_request(c, "Verify", domain, NULL, groups[i], tell_verdict);

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
		return job_request(c, "Verify", arguments[0], NULL, NULL, tell_verdict);
	if (c->options->given & OPTION_NO_BLOCK)
		return client_usage(c, "--no-block is about one job\nRemedy: name one group");
	return verify_each(c, arguments[0], groups, strv_length(groups));
}

/* ---- probe: has the daemon observe the links ---- */

static const Column columns[] = {
	{ "GPU", 0 }, { "MODEL", 0 }, { "LINKS", COLUMN_RIGHT }, { "PEERS", COLUMN_LINES },
	{ "HOW", 0 }, { "SEEN", 0 },  { "NOTE", COLUMN_CUT },
};

/* "4/4": active links of those that the board has when it is fully bridged. */
static char *links_text(const json_t *board)
{
	const json_t *peer;
	long long active = json_number_of(board, "other"),
		  expected = json_number_of(board, "expected");

	JSON_EACH (peer, board, "peers")
		active += json_number_of(peer, "links");
	return expected > 0 ? strf("%lld/%lld", active, expected) : strf("%lld", active);
}

/* "0000:61:00.0 ×4", one a line. */
static char *peers_text(const Terminal *t, const json_t *board)
{
	const char *times = terminal_glyph(t, GLYPH_TIMES);
	_cleanup_strv_ char **lines = NULL;
	const json_t *peer;

	JSON_EACH (peer, board, "peers")
		strv_appendf(&lines, "%s %s%lld", json_text_of(peer, "address"), times,
			     json_number_of(peer, "links"));
	if (json_number_of(board, "other") > 0)
		strv_appendf(&lines, "no GPU %s%lld", times, json_number_of(board, "other"));
	return lines ? strv_join(lines, "\n") : xstrdup("-");
}

static void add_board(Client *c, Table *table, const json_t *board)
{
	const char *why = json_text_of(board, "stale");
	_cleanup_free_ char *links = links_text(board), *peers = peers_text(&c->out, board);
	_cleanup_free_ char *when = time_format((uint64_t)json_number_of(board, "seen_usec"));
	_cleanup_free_ char *note = strf("%s%s", *why ? "not used: " : "", why);

	table_row(table,
		  (const char *const[]){ json_text_of(board, "address"),
					 json_text_of(board, "model"), links, peers,
					 json_text_of(board, "source"), when, note },
		  COLOUR_NONE, NULL);
}

static void print_evidence(Client *c, const json_t *evidence)
{
	_cleanup_(table_freep) Table *table =
		table_new(&c->out, columns, ELEMENTS(columns), c->options->legend);
	const json_t *board;

	JSON_EACH (board, evidence, "boards") {
		const char *way = json_text_of(board, "way");

		/* Boards that were there, but not observed, have nothing to report. */
		if (*way && strcmp(way, "present") != 0)
			add_board(c, table, board);
	}
	table_print(table);
}

static int tell_evidence(Client *c, Progress *p, const Job *job)
{
	static const DocumentKind kind = DOCUMENT_KIND("the evidence", EVIDENCE, .list = "boards");
	_cleanup_(json_decrefp) json_t *evidence = NULL;
	int r;

	progress_result(p, job);
	r = document_get(c, "GetEvidence", BUS_TIMEOUT_READ_USEC, &kind, &evidence);
	return r < 0 ? r : json_show(c, evidence, print_evidence);
}

int verb_probe(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	return job_request(c, "Probe", NULL, NULL, NULL, tell_evidence);
}
