/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each way to tamper with a trail is done to one of a dozen records, and must be named. */
#include "rig/test.h"

#include <string.h>

#include "core/audit/chain.h"
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

/* ---- tampering with record 6, which is lines[5] ---- */

static void change(Lines *l)
{
	strstr(l->lines[5], "pair0")[4] = '1';
}

/* With a hash that fits. */
static void change_well(Lines *l)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	LineHash hash;
	bool intact;

	assert_int_equal(
		audit_line_parse(l->lines[5], strlen(l->lines[5]) - 1, &record, &hash, &intact), 0);
	assert_true(intact);
	record.verdict = AUDIT_ALLOWED;
	free(l->lines[5]);
	l->lines[5] = audit_line(&record, &l->hashes[5]);
	audit_record_clear(&record);
}

static void take_out(Lines *l, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++)
		free(l->lines[i]);
	memmove(&l->lines[from], &l->lines[from + n], (l->n - from - n) * sizeof(char *));
	l->n -= n;
}

static void take_out_one(Lines *l)
{
	take_out(l, 5, 1);
}

static void take_out_three(Lines *l)
{
	take_out(l, 5, 3);
}

static void take_out_first(Lines *l)
{
	take_out(l, 0, 2);
}

static void exchange(Lines *l)
{
	char *line = l->lines[5];

	l->lines[5] = l->lines[6];
	l->lines[6] = line;
}

static void repeat(Lines *l)
{
	memmove(&l->lines[6], &l->lines[5], (l->n - 5) * sizeof(char *));
	l->lines[6] = strdup(l->lines[5]);
	l->n++;
}

static void put_rubbish(Lines *l)
{
	memmove(&l->lines[6], &l->lines[5], (l->n - 5) * sizeof(char *));
	l->lines[5] = strdup("not a record\n");
	l->n++;
}

/* It could not be told from a record that was taken out, if it did not stand there. */
static void make_unreadable(Lines *l)
{
	memset(l->lines[5], 'x', 100);
}

static void cut_off(Lines *l)
{
	take_out(l, 8, l->n - 8);
}

static void write_end_anew(Lines *l)
{
	LineHash previous;

	cut_off(l);
	previous = l->hashes[7];
	for (uint64_t i = 9; i <= RECORDS; i++)
		previous = add(l, i, AUDIT_STOP, 0, &previous);
}

static void nothing(_unused_ Lines *l)
{
}

static void tear(Lines *l)
{
	l->lines[l->n - 1][70] = '\0';
}

static void tear_in_the_middle(Lines *l)
{
	l->break_at = 6;
	l->lines[5][70] = '\0';
}

static const struct {
	void (*tamper)(Lines *l);
	bool expect; /* the hash of record 10 */
	const char *found;
	uint64_t last;
} cases[] = {
	{ nothing, false, "", 12 },
	{ nothing, true, "", 12 },
	{ change, false, "record 6 was changed (1.log, line 6)", 12 },
	{ change_well, false,
	  "record 6 or 7 was changed: they do not follow each other (1.log, line 7)", 12 },
	{ take_out_one, false, "record 6 was removed (before 1.log, line 6)", 12 },
	{ take_out_three, false, "records 6 to 8 were removed (before 1.log, line 6)", 12 },
	{ take_out_first, false, "records 1 to 2 were removed (before 1.log, line 1)", 12 },
	{ exchange, false, "record 6 was moved: it stands behind a later one (1.log, line 7)", 12 },
	{ repeat, false, "record 6 stands there twice (1.log, line 7)", 12 },
	{ put_rubbish, false, "1.log, line 6 is no record", 12 },
	{ make_unreadable, false,
	  "1.log, line 6 is no record\nrecord 6 was removed (before 1.log, line 7)", 12 },
	{ tear_in_the_middle, false,
	  "1.log, line 6 is no record\nrecord 6 was removed (before 2.log, line 1)", 12 },
	/* What it cannot find, unless a late hash was noted. */
	{ cut_off, false, "", 8 },
	{ write_end_anew, false, "", 12 },
	{ cut_off, true, "no record has the expected hash: the end was cut off, or written anew",
	  8 },
	{ write_end_anew, true,
	  "no record has the expected hash: the end was cut off, or written anew", 12 },
	/* As a power cut leaves it. */
	{ tear, false, "", 11 },
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
		cases[i].tamper(&l);
		found = judge(&l, cases[i].expect ? noted.hex : NULL, &report);
		if (strcmp(found, cases[i].found) != 0 || report.last != cases[i].last)
			fail_msg("row %zu: found \"%s\", last %llu", i, found,
				 (unsigned long long)report.last);
		assert_int_equal(report.torn, cases[i].tamper == tear);
		if (cases[i].tamper == nothing && cases[i].expect)
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
	const struct {
		const char *text, *kept;
	} rows[] = {
		{ NULL, NULL },
		{ "", NULL },
		{ "vm42", "vm42" },
		{ "a\x1b[2Jb", "a\\x1b[2Jb" },
		{ "\xff\xfe", "\\xff\\xfe" },
		{ "M\xc3\xbcnchen", "M\xc3\xbcnchen" },
	};
	_cleanup_free_ char *longest = calloc(5000, 1), *cut = NULL;

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *kept = audit_text(rows[i].text);

		if (!str_equal(kept, rows[i].kept))
			fail_msg("row %zu: %s", i, str_or_empty(kept));
	}
	for (size_t i = 0; i + 2 < 4999; i += 2)
		memcpy(longest + i, "\xc3\xbc", 2);
	cut = audit_text(longest);
	assert_true(strlen(cut) <= 600 && strlen(cut) > 590 && strlen(cut) % 2 == 0);
}
