/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An upgrade reads each file of state of each version before, and writes it as today's: docs/promised/files.txt. The
 * journal's files of the versions before are in test-journal.c.
 */
#include "rig/test.h"

#include "core/facts/kept.h"
#include "rig/temp-dir.h"
#include "store/evidence.h"
#include "store/numbers.h"
#include "store/quarantine.h"
#include "store/receipts.h"
#include "store/tenants.h"
#include "util/json.h"

static const struct {
	const RecordKind *kind;
	unsigned version;
	const char *document; /* in tests/fixtures/documents */
} before[] = {
	{ &assignment_kind, 1, "assignment-1" }, { &assignment_kind, 2, "assignment-2" },
	{ &assignment_kind, 3, "assignment-3" }, { &kept_kind, 1, "kept" },
	{ &quarantine_kind, 1, "quarantine-1" }, { &receipt_kind, 1, "receipt-1" },
	{ &tenant_kind, 1, "tenant" },		 { &evidence_kind, 1, "evidence-1" },
	{ &evidence_kind, 2, "evidence" },
};

static const RecordKind *const kinds[] = { &assignment_kind, &kept_kind,   &quarantine_kind,
					   &receipt_kind,    &tenant_kind, &evidence_kind,
					   &number_kind };

/* The member with its name, as a record of this version has it. */
static char *schema_of(const RecordKind *kind, unsigned version)
{
	return strf("\"schema\": \"%.*s%u\"", (int)(strrchr(kind->schema, '/') + 1 - kind->schema),
		    kind->schema, version);
}

static unsigned newest_of(const RecordKind *kind)
{
	return (unsigned)atoi(strrchr(kind->schema, '/') + 1);
}

static char *text_of(const char *document)
{
	_cleanup_free_ char *path = strf(FIXTURES "/documents/%s.json", document);
	char *text = NULL;

	assert_int_equal(file_read_at(AT_FDCWD, path, 1024 * 1024, &text, NULL), 0);
	return text;
}

static void *parse(const RecordKind *kind, const char *what, const char *text)
{
	_cleanup_free_ char *why = NULL;
	void *record = NULL;

	if (record_parse(kind, text, strlen(text), &record, &why) != 0)
		fail_msg("%s: %s", what, why);
	return record;
}

static json_t *document_of(const RecordKind *kind, const void *record)
{
	if (kind == &evidence_kind)
		return evidence_document(record);
	/* Of a receipt, nothing is written again. */
	return kind == &receipt_kind ? json_deep_copy(record)
				     : json_struct_write(kind->members, record);
}

TEST(each_version_before_is_read_and_written_as_todays)
{
	for (size_t i = 0; i < ELEMENTS(before); i++) {
		const RecordKind *kind = before[i].kind;
		_cleanup_free_ char *text = text_of(before[i].document), *now = NULL, *again = NULL;
		_cleanup_free_ char *said = schema_of(kind, before[i].version);
		void *record;

		if (!strstr(text, said))
			fail_msg("%s is not of %s", before[i].document, said);
		record = parse(kind, before[i].document, text);
		now = record_text(kind, document_of(kind, record));
		record_free(kind, record);
		assert_non_null(strstr(now, kind->schema));
		record = parse(kind, before[i].document, now);
		again = record_text(kind, document_of(kind, record));
		record_free(kind, record);
		assert_string_equal(now, again);
	}
}

TEST(no_version_before_lacks_its_test)
{
	for (size_t k = 0; k < ELEMENTS(kinds); k++)
		for (unsigned version = 1; version < newest_of(kinds[k]); version++)
			if (!SOME(before, ELEMENTS(before),
				  it->kind == kinds[k] && it->version == version))
				fail_msg("%s: version %u has none", kinds[k]->schema, version);
}

/* It says which versions there are, and what a person can do. */
TEST(each_version_to_come_is_refused_with_a_way_on)
{
	for (size_t k = 0; k < ELEMENTS(kinds); k++) {
		const RecordKind *kind = kinds[k];
		unsigned newest = newest_of(kind);
		_cleanup_free_ char *schema = schema_of(kind, newest + 1);
		_cleanup_free_ char *text = strf("{%s}", schema);
		_cleanup_free_ char *why = NULL, *note = NULL;
		_cleanup_free_ char *wanted = strf(
			"it is of version %u, and versions 1 to %u are read", newest + 1, newest);
		_cleanup_(record_faults_clear) RecordFaults faults = { 0 };
		void *record = NULL;
		int r = record_parse(kind, text, strlen(text), &record, &why);

		assert_int_equal(r, -EPROTO);
		assert_string_equal(why, wanted);
		record_faults_add(&faults, kind, "pair0.json", r, why, text, strlen(text));
		note = record_fault_note(&faults.items[0]);
		if (!strstr(note, "was written by a later version of gpupass"))
			fail_msg("%s", note);
	}
}
