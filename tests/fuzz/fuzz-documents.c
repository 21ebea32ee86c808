/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The documents of the state directory, each by its own reader: what a reader takes is what its
 * writer can write, and reads again as the same. What it refuses still blocks what it is about.
 */
#include <ctype.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/audit/chain.h"
#include "core/audit/record.h"
#include "core/facts/assignment.h"
#include "core/facts/boot-faults.h"
#include "core/facts/kept.h"
#include "core/fence/fence.h"
#include "core/links/evidence.h"
#include "core/plan/record.h"
#include "core/tenancy/tenancy.h"
#include "fuzz.h"
#include "gpupass/dbus.h"
#include "rig/snapshot-read.h"
#include "rig/stores.h"
#include "store/quarantine.h"
#include "util/json.h"
#include "util/text.h"

/*
 * READS_AGAIN(): what was read is written, read and written again; both texts are equal. What is
 * refused leaves nothing behind, and says why.
 */
#define READS_AGAIN(name, Type, from, to, destroy)                                                 \
	static bool name##_reads_again(const char *bytes, size_t size)                             \
	{                                                                                          \
		_cleanup_free_ char *why = NULL, *once = NULL, *twice = NULL;                      \
		Type *first = NULL, *second = NULL;                                                \
		int r = from(bytes, size, &first, &why);                                           \
                                                                                                   \
		if (r < 0) {                                                                       \
			EXPECT_REFUSED(r);                                                         \
			EXPECT(!first && why);                                                     \
			return false;                                                              \
		}                                                                                  \
		once = to(first);                                                                  \
		EXPECT(once &&from(once, strlen(once), &second, &why) == 0);                       \
		twice = to(second);                                                                \
		EXPECT_SAME_TEXT(once, twice);                                                     \
		destroy(first);                                                                    \
		destroy(second);                                                                   \
		return true;                                                                       \
	}

READS_AGAIN(assignment, Assignment, assignment_from_json, assignment_to_json, assignment_free)
READS_AGAIN(kept, Assignment, kept_from_json, kept_to_json, assignment_free)

#define RECORD_READS_AGAIN(name, Type, kind, document, destroy)                                    \
	static int name##_from(const char *bytes, size_t size, Type **ret, char **ret_why)         \
	{                                                                                          \
		void *record = NULL;                                                               \
		int r = record_parse(kind, bytes, size, &record, ret_why);                         \
                                                                                                   \
		*ret = record;                                                                     \
		return r;                                                                          \
	}                                                                                          \
	static char *name##_to(const Type *record)                                                 \
	{                                                                                          \
		return record_text(kind, document(record));                                        \
	}                                                                                          \
	READS_AGAIN(name, Type, name##_from, name##_to, destroy)

RECORD_READS_AGAIN(tenant, TenantMark, &tenant_kind, tenant_mark_document, tenant_mark_free)
RECORD_READS_AGAIN(evidence, Evidence, &evidence_kind, evidence_document, evidence_unref)
READS_AGAIN(fence, Fence, fence_from_json, fence_to_json, fence_free)
READS_AGAIN(snapshot, PciSnapshot, pci_snapshot_from_json, pci_snapshot_to_json, pci_snapshot_free)

/* ---- what is left of a file that is refused ---- */

#define UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"

/* A fault is there for every file, about its domain, and about some function or about all. */
static void a_refused_assignment_is_a_fault(const char *bytes, size_t size)
{
	static const Bdf anything = { 0xabcdef, 0xfe, 0x1e, 5 };
	_cleanup_free_ char *why = NULL, *note = NULL;
	Assignment *assignment = NULL;
	RecordFaults all = { 0 };
	const RecordFault *fault;
	int r = assignment_from_json(bytes, size, &assignment, &why);

	EXPECT(r < 0);
	record_faults_add(&all, &assignment_kind, UUID ".json", r, why, bytes, size);
	EXPECT(all.n_items == 1);
	fault = &all.items[0];
	EXPECT(record_faults_find(&all, NULL, 0, NULL, UUID) == fault);
	EXPECT(record_faults_find(&all, fault->n_functions ? fault->functions : &anything, 1, NULL,
				  NULL) == fault);
	note = record_fault_note(fault);
	EXPECT(*record_fault_remedy(fault));
	assignment_free(assignment_read_leniently(fault));
	record_faults_clear(&all);
}

/* No address that a good file names is lost when the same bytes count as damaged. */
static void the_functions_of_an_assignment_can_be_found(const char *bytes, size_t size)
{
	_cleanup_free_ char *why = NULL, *text = NULL;
	Assignment *assignment = NULL;
	RecordFaults all = { 0 };
	const RecordFault *fault;

	EXPECT(assignment_from_json(bytes, size, &assignment, &why) == 0);
	text = assignment_to_json(assignment);
	record_faults_add(&all, &assignment_kind, "x", -EBADMSG, NULL, text, strlen(text));
	fault = &all.items[0];
	EXPECT(fault->n_functions <= GROUP_FUNCTIONS_MAX);
	for (size_t i = 0; fault->n_functions > 0 && i < assignment->n_functions; i++)
		EXPECT(bdf_in(&assignment->functions[i].bdf, fault->functions, fault->n_functions));
	EXPECT(fault->n_functions > 0 || assignment->n_functions > GROUP_FUNCTIONS_MAX);
	record_faults_clear(&all);
	assignment_free(assignment);
}

static void remains_are_bounded(const char *bytes, size_t size)
{
	_cleanup_free_ char *lower = malloc(size + 1);
	RecordFaults all = { 0 };
	const RecordFault *fault;

	EXPECT(lower);
	for (size_t i = 0; i < size; i++)
		lower[i] = (char)tolower((unsigned char)bytes[i]);
	record_faults_add(&all, &assignment_kind, "x", -EBADMSG, NULL, bytes, size);
	fault = &all.items[0];
	EXPECT(fault->n_functions <= GROUP_FUNCTIONS_MAX);
	for (size_t i = 0; i < fault->n_functions; i++)
		EXPECT(memmem(lower, size, BDF_TEXT(&fault->functions[i]),
			      strlen(BDF_TEXT(&fault->functions[i]))));
	record_faults_clear(&all);
}

static void the_boot_report_is_read(const char *bytes, size_t size)
{
	_cleanup_(boot_faults_freep) BootFaults *faults = NULL;
	_cleanup_free_ char *why = NULL;
	int r = boot_faults_parse(bytes, size, &faults, &why);

	if (r < 0) {
		EXPECT_REFUSED(r);
		EXPECT(!faults);
		return;
	}
	for (size_t i = 0; i < faults->n_items; i++) {
		_cleanup_free_ char *text = boot_fault_text(&faults->items[i]);

		EXPECT(*text);
	}
}

/* ---- the audit trail ---- */

/* What is read of a line is written as a line of ours, which reads as the same and is intact. */
static void a_record_reads_again(const char *bytes, size_t size)
{
	AuditRecord first = AUDIT_RECORD_EMPTY, second = AUDIT_RECORD_EMPTY;
	_cleanup_free_ char *once = NULL, *twice = NULL;
	LineHash hash, again;
	bool intact = false;
	int r = audit_line_parse(bytes, size, &first, &hash, &intact);

	if (r < 0) {
		EXPECT_REFUSED(r);
		return;
	}
	once = audit_line(&first, &hash);
	EXPECT(once && strlen(once) > 0);
	EXPECT(audit_line_parse(once, strlen(once) - 1, &second, &again, &intact) == 0);
	EXPECT(intact && strcmp(hash.hex, again.hex) == 0);
	twice = audit_line(&second, &again);
	EXPECT_SAME_TEXT(once, twice);
	audit_record_clear(&first);
	audit_record_clear(&second);
}

/*
 * Whatever stands in a file, a person gets a bounded report, and no line is taken for a record that
 * is not one.
 */
static void a_chain_is_judged(const char *bytes, size_t size)
{
	AuditReport report = { 0 };
	size_t n_lines = 0;
	_cleanup_(audit_chain_freep) AuditChain *chain = audit_chain_new();

	for (const char *at = bytes, *end = bytes + size; at < end; n_lines++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = newline ? (size_t)(newline - at) : (size_t)(end - at);

		audit_chain_add(chain, 1, at, n, newline != NULL);
		at += n + 1;
	}
	report = audit_chain_report(chain, NULL);
	EXPECT(report.n_records <= n_lines && report.n_findings <= AUDIT_FINDINGS_MAX);
	for (size_t i = 0; i < report.n_findings; i++) {
		_cleanup_free_ char *text = audit_finding_text(&report.findings[i]);

		EXPECT(text && *text);
	}
	audit_report_clear(&report);
}

/* ---- the journal ---- */

static void a_plan_reads_again(const json_t *json)
{
	_cleanup_(plan_freep) Plan *first = NULL, *second = NULL;
	_cleanup_free_ char *why = NULL, *again = NULL;
	_cleanup_json_ json_t *once = NULL, *twice = NULL;
	int r = plan_from_record(json, &first, &why);

	if (r < 0) {
		EXPECT(r == -EBADMSG && !first && why);
		return;
	}
	once = plan_to_record(first);
	EXPECT(once && plan_from_record(once, &second, &again) == 0);
	twice = plan_to_record(second);
	EXPECT(twice && json_equal(once, twice));
}

/* Each line of the input that is an object becomes a line of the file, with a good hash and place. */
static char *frame(const char *text)
{
	_cleanup_strv_ char **lines = NULL, **more = NULL;
	LineHash hash = LINE_NO_HASH;
	json_int_t sequence = 0;
	char *file = strdup("");

	strv_append(&lines, "{\"record\":\"file-begun\"}");
	strv_split(text, "\n", &more);
	strv_copy(more, &lines);
	for (size_t i = 0; lines[i]; i++) {
		_cleanup_json_ json_t *record = json_loads(lines[i], JSON_REJECT_DUPLICATES, NULL);
		_cleanup_free_ char *line = NULL;
		char *longer;

		if (json_is_object(record)) {
			json_object_set_new(record, "schema", json_string(GPUPASS_SCHEMA_JOURNAL));
			json_object_set_new(record, "sequence", json_integer(++sequence));
			json_object_set_new(record, "previous", json_string(hash.hex));
			line = line_make(record, &hash);
		} else {
			line = strf("%s\n", lines[i]);
		}
		longer = strf("%s%s", file, line);
		free(file);
		file = longer;
	}
	return file;
}

/* A file of the journal becomes an open job, or blocks something, or all of it has ended. */
static void a_journal_is_loaded(const char *name, const char *file)
{
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	_cleanup_(claims_freep) Claims *claims = claims_new();
	_cleanup_free_ char *names = NULL, *damaged = strf("%s.damaged", name);
	Journal journal;
	int fd;

	EXPECT(journal_open(fuzz_directory(&fd), &journal) == 0);
	fuzz_write(fd, name, file, strlen(file));
	EXPECT(journal_load(&journal, claims, &found) == 0);
	EXPECT(found.n_jobs <= 1);
	names = claims_quarantine_names(claims);
	if (found.n_jobs == 1)
		EXPECT(found.jobs[0]->plan &&
		       found.jobs[0]->begun <= found.jobs[0]->plan->n_steps &&
		       found.last >= found.jobs[0]->id);
	else
		EXPECT((*names || found.n_ended > 0 || strstr(file, "\"end\"") ||
			strstr(file, "file-begun")));
	journal_found_clear(&found);
	journal_close(&journal);
	unlinkat(fd, name, 0);
	unlinkat(fd, damaged, 0);
}

/* ---- quarantines ---- */

/* Whatever the file has, its group stays quarantined. */
static void a_quarantine_holds(const char *bytes, size_t size)
{
	_cleanup_(claims_freep) Claims *claims = NULL;
	_cleanup_free_ char *names = NULL;
	QuarantineStore store = { 0 };
	int fd;

	records_open(&store, &quarantine_kind, fuzz_directory(&fd));
	claims = claims_new();
	fuzz_write(fd, "pair0.json", bytes, size);
	quarantine_store_load(&store, claims);
	names = claims_quarantine_names(claims);
	EXPECT(*names);
	records_close(&store);
	unlinkat(fd, "pair0.json", 0);
}

/* promise F1 */
void fuzz_one(const char *bytes, size_t size, const char *text)
{
	_cleanup_json_ json_t *json = NULL;

	if (assignment_reads_again(bytes, size))
		the_functions_of_an_assignment_can_be_found(bytes, size);
	else
		a_refused_assignment_is_a_fault(bytes, size);
	kept_reads_again(bytes, size);
	tenant_reads_again(bytes, size);
	evidence_reads_again(bytes, size);
	fence_reads_again(bytes, size);
	a_record_reads_again(bytes, size);
	a_chain_is_judged(bytes, size);
	snapshot_reads_again(bytes, size);
	remains_are_bounded(bytes, size);
	the_boot_report_is_read(bytes, size);
	if (strstr(text, "\"record\"")) {
		_cleanup_free_ char *file = frame(text);

		a_journal_is_loaded("1.log", file);
		a_journal_is_loaded("7.journal", text);
	}
	if (strstr(text, "quarantine/"))
		a_quarantine_holds(bytes, size);
	json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(json))
		return;
	a_plan_reads_again(json);
}
