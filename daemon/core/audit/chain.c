/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/audit/chain.h"

#include <inttypes.h>

#include "gpupass/dbus.h"
#include "util/grow.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

/* What is kept of a line until all are known. */
typedef struct Link {
	uint64_t sequence; /* 0: it cannot be read */
	size_t place;	   /* in the order of the files */
	uint64_t file, line;
	bool intact; /* its hash is that of its bytes */
	LineHash hash, previous;
} Link;

struct AuditChain {
	Link *links;
	size_t n_links, room;
	uint64_t file, line; /* of the line before */
	uint64_t lost, mended;
	uint64_t first_left; /* as the last record of a dropped file says */
	bool torn;	     /* the line before has no newline */
};

#include "chain.inc"

/* ---- taking in ---- */

/* For the line that the chain is at. */
static Link *add_link(AuditChain *chain)
{
	Link *link;

	if (chain->n_links == chain->room) {
		chain->room = chain->room ? 2 * chain->room : 256;
		chain->links = xreallocarray(chain->links, chain->room, sizeof(Link));
	}
	link = &chain->links[chain->n_links];
	*link = (Link){ .place = chain->n_links++, .file = chain->file, .line = chain->line };
	return link;
}

static void note_events(AuditChain *chain, const AuditRecord *record)
{
	if (record->kind == AUDIT_LOST)
		chain->lost += record->count;
	else if (record->kind == AUDIT_TAIL_MENDED)
		chain->mended++;
	else if (record->kind == AUDIT_FILE_DROPPED && record->count > chain->first_left)
		chain->first_left = record->count;
}

/* Only the last line of all may be cut off. */
static void settle_torn(AuditChain *chain)
{
	if (chain->torn)
		add_link(chain);
	chain->torn = false;
}

void audit_chain_add(AuditChain *chain, uint64_t file, const char *line, size_t size, bool whole)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	Link *link;

	settle_torn(chain);
	chain->line = file == chain->file ? chain->line + 1 : 1;
	chain->file = file;
	chain->torn = !whole;
	if (!whole)
		return;
	link = add_link(chain);
	if (audit_line_parse(line, size, &record, &link->hash, &link->intact) < 0)
		return;
	link->sequence = record.sequence;
	memcpy(link->previous.hex, record.previous, LINE_HASH_HEX + 1);
	if (link->intact)
		note_events(chain, &record);
	audit_record_clear(&record);
}

/* ---- judging ---- */

/* Of these records, where this line is. */
static void find_all(AuditReport *report, AuditFault fault, uint64_t first, uint64_t last,
		     const Link *link)
{
	report->all_findings++;
	if (report->n_findings < AUDIT_FINDINGS_MAX)
		*GROW(report->findings, report->n_findings) =
			(AuditFinding){ fault, first, last, link->file, link->line };
}

static void find(AuditReport *report, AuditFault fault, const Link *link)
{
	find_all(report, fault, link->sequence, link->sequence, link);
}

/* A record that stands behind a later one. In one that was moved far it is the only one found. */
static void judge_order(const AuditChain *chain, AuditReport *report)
{
	const Link *highest = NULL;

	EACH (const Link, link, chain->links, chain->n_links) {
		if (link->sequence == 0) {
			find(report, AUDIT_FAULT_UNREADABLE, link);
			continue;
		}
		if (!link->intact)
			find(report, AUDIT_FAULT_CHANGED, link);
		if (highest && link->sequence < highest->sequence)
			find(report, AUDIT_FAULT_REORDERED, link);
		else
			highest = link;
	}
}

static int by_sequence(const void *a, const void *b)
{
	const Link *x = a, *y = b;

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static void judge_removed(AuditReport *report, uint64_t expected, const Link *found)
{
	if (expected < found->sequence)
		find_all(report, AUDIT_FAULT_REMOVED, expected, found->sequence - 1, found);
}

/* Of two records that follow each other by number. */
static void judge_pair(AuditReport *report, const Link *before, const Link *link)
{
	if (before->sequence == link->sequence) {
		find(report, AUDIT_FAULT_TWICE, link);
		return;
	}
	if (link->sequence > before->sequence + 1) {
		judge_removed(report, before->sequence + 1, link);
		return;
	}
	/* A record that does not have its own hash was found already. */
	if (!before->intact || !link->intact || strcmp(before->hash.hex, link->previous.hex) == 0)
		return;
	find_all(report, AUDIT_FAULT_CHANGED, before->sequence, link->sequence, link);
}

static void judge_expected(const AuditChain *chain, const char *expect, AuditReport *report)
{
	EACH (const Link, link, chain->links, chain->n_links) {
		if (!link->intact || strcmp(link->hash.hex, expect) != 0)
			continue;
		report->behind = report->last - link->sequence;
		return;
	}
	find(report, AUDIT_FAULT_CUT_OFF, &(Link){ 0 });
}

/* chain->links are in the order of their numbers. */
static void judge_chain(const AuditChain *chain, AuditReport *report)
{
	uint64_t begin = chain->first_left > 0 ? chain->first_left : 1;
	const Link *before = NULL;

	EACH (const Link, link, chain->links, chain->n_links) {
		if (link->sequence == 0)
			continue;
		if (before)
			judge_pair(report, before, link);
		else
			judge_removed(report, begin, link);
		if (!before)
			report->first = link->sequence;
		report->n_records++;
		report->last = link->sequence;
		report->last_hash = link->hash;
		before = link;
	}
}

AuditReport audit_chain_report(AuditChain *chain, const char *expect)
{
	AuditReport report = {
		.last_hash = LINE_NO_HASH,
		.lost = chain->lost,
		.mended = chain->mended,
		.torn = chain->torn,
		.dropped = chain->first_left > 0,
	};

	judge_order(chain, &report);
	if (chain->n_links > 0)
		qsort(chain->links, chain->n_links, sizeof(Link), by_sequence);
	judge_chain(chain, &report);
	if (expect)
		judge_expected(chain, expect, &report);
	return report;
}

/* ---- telling ---- */

static char *which_text(const AuditFinding *f)
{
	if (f->first == f->last)
		return strf("record %" PRIu64, f->first);
	return strf("records %" PRIu64 " to %" PRIu64, f->first, f->last);
}

char *audit_finding_text(const AuditFinding *f)
{
	_cleanup_free_ char *which = which_text(f);
	_cleanup_free_ char *where = strf("%" PRIu64 ".log, line %" PRIu64, f->file, f->line);

	switch (f->fault) {
	case AUDIT_FAULT_UNREADABLE:
		return strf("%s is no record", where);
	case AUDIT_FAULT_CHANGED:
		return f->first == f->last
			       ? strf("%s was changed (%s)", which, where)
			       : strf("record %" PRIu64 " or %" PRIu64
				      " was changed: they do not follow each other (%s)",
				      f->first, f->last, where);
	case AUDIT_FAULT_REMOVED:
		return strf("%s %s removed (before %s)", which,
			    f->first == f->last ? "was" : "were", where);
	case AUDIT_FAULT_REORDERED:
		return strf("%s was moved: it stands behind a later one (%s)", which, where);
	case AUDIT_FAULT_TWICE:
		return strf("%s stands there twice (%s)", which, where);
	case AUDIT_FAULT_CUT_OFF:
		return xstrdup("no record has the expected hash: the end was cut off, or written "
			       "anew");
	}
	return NULL;
}

static json_t *finding_to_json(const AuditFinding *f)
{
	_cleanup_free_ char *text = audit_finding_text(f);

	return json_build("{s:s, s:I, s:I, s:I, s:I, s:s}", "fault",
			  audit_fault_to_string(f->fault), "first", (json_int_t)f->first, "last",
			  (json_int_t)f->last, "file", (json_int_t)f->file, "line",
			  (json_int_t)f->line, "text", text);
}

json_t *audit_report_to_json(const AuditReport *report)
{
	return json_build(
		"{s:s, s:b, s:o, s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:b, s:b, s:I}", "schema",
		GPUPASS_SCHEMA_AUDIT_CHECK, "whole", report->all_findings == 0, "findings",
		JSON_ARRAY(report->findings, report->n_findings, finding_to_json(it)),
		"all_findings", (json_int_t)report->all_findings, "records",
		(json_int_t)report->n_records, "first", (json_int_t)report->first, "last",
		(json_int_t)report->last, "last_hash", report->last_hash.hex, "lost",
		(json_int_t)report->lost, "mended", (json_int_t)report->mended, "torn",
		report->torn, "dropped", report->dropped, "behind", (json_int_t)report->behind);
}
