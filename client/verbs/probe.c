/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass probe: makes the daemon observe the links, and prints what each board reported. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "bus/document.h"
#include "job/job.h"
#include "job/request.h"
#include "model/model.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

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
	size_t i;

	json_array_foreach (json_object_get(board, "peers"), i, peer)
		active += json_number_of(peer, "links");
	return expected > 0 ? strf("%lld/%lld", active, expected) : strf("%lld", active);
}

/* "0000:61:00.0 ×4", one a line. */
static char *peers_text(const Terminal *t, const json_t *board)
{
	_cleanup_strv_ char **lines = NULL;
	const json_t *peer;
	size_t i;

	json_array_foreach (json_object_get(board, "peers"), i, peer) {
		_cleanup_free_ char *address = document_text(peer, "address");

		strv_appendf(&lines, "%s %s%lld", address, terminal_glyph(t, GLYPH_TIMES),
			     json_number_of(peer, "links"));
	}
	if (json_number_of(board, "other") > 0)
		strv_appendf(&lines, "no GPU %s%lld", terminal_glyph(t, GLYPH_TIMES),
			     json_number_of(board, "other"));
	return lines ? strv_join(lines, "\n") : xstrdup("-");
}

static void add_board(Client *c, Table *table, const json_t *board)
{
	_cleanup_free_ char *address = document_text(board, "address"),
			    *model = document_text(board, "model");
	_cleanup_free_ char *links = links_text(board), *peers = peers_text(&c->out, board);
	_cleanup_free_ char *how = document_text(board, "source"),
			    *why = document_text(board, "stale");
	_cleanup_free_ char *when = time_format((uint64_t)json_number_of(board, "seen_usec"));
	_cleanup_free_ char *note = strf("%s%s", *why ? "not used: " : "", why);

	table_row(table, (const char *const[]){ address, model, links, peers, how, when, note },
		  COLOUR_NONE, NULL);
}

/* Boards that were there, but not observed, have nothing to report. */
static bool was_seen(const json_t *board)
{
	const char *way = json_string_value(json_object_get(board, "way"));

	return way && strcmp(way, "present") != 0;
}

static void print_evidence(Client *c, const json_t *evidence)
{
	_cleanup_(table_freep) Table *table =
		table_new(&c->out, columns, ELEMENTS(columns), c->options->legend);
	const json_t *board;
	size_t i;

	json_array_foreach (json_object_get(evidence, "boards"), i, board)
		if (was_seen(board))
			add_board(c, table, board);
	table_print(table);
}

static int tell_evidence(Client *c, Progress *p, const Job *job)
{
	static const DocumentKind kind = { "the evidence", GPUPASS_SCHEMA_EVIDENCE, "boards" };
	_cleanup_(json_decrefp) json_t *evidence = NULL;
	int r;

	progress_result(p, job);
	r = document_get(c, "GetEvidence", BUS_TIMEOUT_READ_USEC, &kind, &evidence);
	if (r < 0)
		return r;
	if (c->options->json != JSON_OFF)
		r = json_print(c, TAKE_PTR(evidence));
	else
		print_evidence(c, evidence);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}

int verb_probe(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = bus_new_manager_call(c, "Probe", &call, "");

	if (r >= 0)
		r = request_append_options(c, call, OPERATION_PROBE, false);
	return r < 0 ? r : job_run_to(c, call, tell_evidence);
}
