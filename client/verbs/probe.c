/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass probe: makes the daemon observe the links, and prints what each board reported. */
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "bus/document.h"
#include "job/job.h"
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
