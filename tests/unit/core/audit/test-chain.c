/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each way to tamper with a trail is done to one of a dozen records, and must be named. */
#include "rig/test.h"

#include <string.h>

#include "core/audit/chain.h"
#include "rig/rows.h"
#include "util/text.h"

#define RECORDS 12
/* Of a_line_has_the_hash_that_sha256sum_gives(), by that program. */
#define KNOWN_HASH "72e8d4fb3acbd353760f849f82be119bfb441adbfbaab24403f7033bfe8c5dca"

typedef struct Lines {
	char *lines[RECORDS + 2]; /* with their newlines */
	LineHash hashes[RECORDS + 2];
	size_t n;
	uint64_t break_at; /* a second file begins with this line; 0: none */
} Lines;

static LineHash add(Lines *l, uint64_t sequence, AuditKind kind, uint64_t count,
		    const LineHash *previous)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;

	record.sequence = sequence;
	record.time_usec = 1000 * sequence;
	record.kind = kind;
	record.count = count;
	record.group = strdup("pair0");
	record.previous = strdup(previous->hex);
	l->lines[l->n] = audit_line(&record, &l->hashes[l->n]);
	assert_non_null(l->lines[l->n]);
	audit_record_clear(&record);
	return l->hashes[l->n++];
}

static void fill(Lines *l, uint64_t first)
{
	LineHash previous = LINE_NO_HASH;

	for (uint64_t i = 0; i < RECORDS; i++)
		previous = add(l, first + i, i == 0 ? AUDIT_FILE_BEGUN : AUDIT_CALL, 0, &previous);
}

static void clear(Lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->lines[i]);
}

/* The records and what was found, one finding a line. */
static char *judge(const Lines *l, const char *expect, AuditReport *ret)
{
	_cleanup_strv_ char **found = NULL;
	_cleanup_(audit_chain_freep) AuditChain *chain = audit_chain_new();

	for (size_t i = 0; i < l->n; i++) {
		size_t size = strlen(l->lines[i]);
		bool whole = size > 0 && l->lines[i][size - 1] == '\n';

		audit_chain_add(chain, l->break_at > 0 && i >= l->break_at ? 2 : 1, l->lines[i],
				whole ? size - 1 : size, whole);
	}
	*ret = audit_chain_report(chain, expect);
	assert_int_equal(ret->all_findings, ret->n_findings);
	for (size_t i = 0; i < ret->n_findings; i++) {
		_cleanup_free_ char *text = audit_finding_text(&ret->findings[i]);

		strv_append(&found, text);
	}
	return strv_join(found, "\n");
}

/* ---- tampering; record 6 is lines[5] ---- */

static void change(Lines *l, size_t at, _unused_ size_t n)
{
	strstr(l->lines[at], "pair0")[4] = '1';
}

/* With a hash that fits. */
static void change_well(Lines *l, size_t at, _unused_ size_t n)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	LineHash hash;
	bool intact;

	assert_int_equal(
		audit_line_parse(l->lines[at], strlen(l->lines[at]) - 1, &record, &hash, &intact),
		0);
	assert_true(intact);
	record.verdict = AUDIT_ALLOWED;
	free(l->lines[at]);
	l->lines[at] = audit_line(&record, &l->hashes[at]);
	audit_record_clear(&record);
}

static void take_out(Lines *l, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++)
		free(l->lines[i]);
	memmove(&l->lines[from], &l->lines[from + n], (l->n - from - n) * sizeof(char *));
	l->n -= n;
}

static void exchange(Lines *l, size_t at, size_t with)
{
	char *line = l->lines[at];

	l->lines[at] = l->lines[with];
	l->lines[with] = line;
}

static void insert(Lines *l, size_t at, const char *line)
{
	memmove(&l->lines[at + 1], &l->lines[at], (l->n - at) * sizeof(char *));
	l->lines[at] = strdup(line);
	l->n++;
}

static void repeat(Lines *l, size_t at, _unused_ size_t n)
{
	insert(l, at + 1, l->lines[at]);
}

static void put_rubbish(Lines *l, size_t at, _unused_ size_t n)
{
	insert(l, at, "not a record\n");
}

/* It could not be told from a record that was taken out, if it did not stand there. */
static void make_unreadable(Lines *l, size_t at, _unused_ size_t n)
{
	memset(l->lines[at], 'x', 100);
}

static void write_anew(Lines *l, size_t from, size_t n)
{
	LineHash previous = l->hashes[from - 1];

	take_out(l, from, n);
	for (uint64_t i = from + 1; i <= RECORDS; i++)
		previous = add(l, i, AUDIT_STOP, 0, &previous);
}

/* As a power cut leaves it, before another file begins with line `next`, if any. */
static void tear(Lines *l, size_t at, size_t next)
{
	l->break_at = next;
	l->lines[at][70] = '\0';
}

#define CUT_OFF "no record has the expected hash: the end was cut off, or written anew"

static const struct {
	void (*tamper)(Lines *l, size_t at, size_t n);
	size_t at, n;
	bool expect; /* the hash of record 10 */
	const char *found;
	uint64_t last;
	bool torn;
} cases[] = {
	ROW(NULL, .found = "", .last = 12),
	ROW(NULL, .expect = true, .found = "", .last = 12),
	ROW(change, 5, .found = "record 6 was changed (1.log, line 6)", .last = 12),
	ROW(change_well, 5, .last = 12,
	    .found = "record 6 or 7 was changed: they do not follow each other (1.log, line 7)"),
	ROW(take_out, 5, 1, .found = "record 6 was removed (before 1.log, line 6)", .last = 12),
	ROW(take_out, 5, 3, .found = "records 6 to 8 were removed (before 1.log, line 6)",
	    .last = 12),
	ROW(take_out, 0, 2, .found = "records 1 to 2 were removed (before 1.log, line 1)",
	    .last = 12),
	ROW(exchange, 5, 6, .last = 12,
	    .found = "record 6 was moved: it stands behind a later one (1.log, line 7)"),
	ROW(repeat, 5, .found = "record 6 stands there twice (1.log, line 7)", .last = 12),
	ROW(put_rubbish, 5, .found = "1.log, line 6 is no record", .last = 12),
	ROW(make_unreadable, 5, .last = 12,
	    .found = "1.log, line 6 is no record\nrecord 6 was removed (before 1.log, line 7)"),
	ROW(tear, 5, 6, .last = 12,
	    .found = "1.log, line 6 is no record\nrecord 6 was removed (before 2.log, line 1)"),
	/* What it cannot find, unless a late hash was noted. */
	ROW(take_out, 8, 4, .found = "", .last = 8),
	ROW(write_anew, 8, 4, .found = "", .last = 12),
	ROW(take_out, 8, 4, .expect = true, .found = CUT_OFF, .last = 8),
	ROW(write_anew, 8, 4, .expect = true, .found = CUT_OFF, .last = 12),
	ROW(tear, 11, .found = "", .last = 11, .torn = true),
};

/* promise A3 */
TEST(each_kind_of_tampering_is_named)
{
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		Lines l = { 0 };
		_cleanup_(audit_report_clear) AuditReport report = { 0 };
		_cleanup_free_ char *found = NULL;
		LineHash noted;

		fill(&l, 1);
		noted = l.hashes[9];
		if (cases[i].tamper)
			cases[i].tamper(&l, cases[i].at, cases[i].n);
		found = judge(&l, cases[i].expect ? noted.hex : NULL, &report);
		if (strcmp(found, cases[i].found) != 0 || report.last != cases[i].last)
			fail_msg("row %zu: found \"%s\", last %llu", i, found,
				 (unsigned long long)report.last);
		assert_int_equal(report.torn, cases[i].torn);
		if (!cases[i].tamper && cases[i].expect)
			assert_int_equal(report.behind, 2);
		clear(&l);
	}
}

TEST(what_rotation_dropped_is_not_taken_for_removed)
{
	const struct {
		uint64_t first_left;
		const char *found;
	} rows[] = {
		{ 5, "" },
		/* Its file was not removed yet when the power was cut. */
		{ 7, "" },
		{ 3, "records 3 to 4 were removed (before 1.log, line 1)" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(audit_report_clear) AuditReport report = { 0 };
		_cleanup_free_ char *found = NULL;
		Lines l = { 0 };

		fill(&l, 5);
		add(&l, 5 + RECORDS, AUDIT_FILE_DROPPED, rows[i].first_left,
		    &l.hashes[RECORDS - 1]);
		found = judge(&l, NULL, &report);
		assert_string_equal(found, rows[i].found);
		assert_true(report.dropped);
		assert_int_equal(report.first, 5);
		clear(&l);
	}
}

TEST(records_that_were_lost_are_counted)
{
	_cleanup_(audit_report_clear) AuditReport report = { 0 };
	_cleanup_free_ char *found = NULL;
	Lines l = { 0 };
	LineHash hash;

	fill(&l, 1);
	hash = add(&l, 13, AUDIT_LOST, 41, &l.hashes[11]);
	(void)add(&l, 14, AUDIT_LOST, 1, &hash);
	found = judge(&l, NULL, &report);
	assert_string_equal(found, "");
	assert_int_equal(report.lost, 42);
	clear(&l);
}

TEST(only_the_first_of_many_findings_are_kept)
{
	_cleanup_(audit_report_clear) AuditReport report = { 0 };
	_cleanup_(audit_chain_freep) AuditChain *chain = audit_chain_new();

	for (int i = 0; i < 1000; i++)
		audit_chain_add(chain, 1, "rubbish", 7, true);
	report = audit_chain_report(chain, NULL);
	assert_int_equal(report.n_findings, AUDIT_FINDINGS_MAX);
	assert_int_equal(report.all_findings, 1000);
}

TEST(an_empty_trail_is_whole)
{
	_cleanup_(audit_report_clear) AuditReport report = { 0 };
	_cleanup_free_ char *found = judge(&(Lines){ 0 }, NULL, &report);

	assert_string_equal(found, "");
	assert_int_equal(report.last, 0);
	assert_string_equal(report.last_hash.hex, LINE_NO_HASH.hex);
}

/* The digest is of the bytes behind the blank, with the newline: as sha256sum counts them. */
TEST(a_line_has_the_hash_that_sha256sum_gives)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	_cleanup_free_ char *line = NULL;
	LineHash hash;

	record.sequence = 1;
	record.previous = strdup(LINE_NO_HASH.hex);
	line = audit_line(&record, &hash);
	/* sed -n 1p | cut -c 66- | sha256sum */
	assert_string_equal(hash.hex, KNOWN_HASH);
	assert_memory_equal(line, KNOWN_HASH " {\"schema\":\"org.gpupass1.audit/1\",", 98);
	audit_record_clear(&record);
}

TEST(text_of_others_cannot_leave_its_line)
{
	static const TextRow rows[] = {
		{ NULL, NULL },
		{ "", NULL },
		{ "vm42", "vm42" },
		{ "a\x1b[2Jb", "a\\x1b[2Jb" },
		{ "\xff\xfe", "\\xff\\xfe" },
		{ "M\xc3\xbcnchen", "M\xc3\xbcnchen" },
	};
	_cleanup_free_ char *longest = calloc(5000, 1), *cut = NULL;

	EXPECT_TEXTS(rows, audit_text);
	for (size_t i = 0; i + 2 < 4999; i += 2)
		memcpy(longest + i, "\xc3\xbc", 2);
	cut = audit_text(longest);
	assert_true(strlen(cut) <= 600 && strlen(cut) > 590 && strlen(cut) % 2 == 0);
}
