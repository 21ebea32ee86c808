/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the trail's files, line by line, while others may append to them. */
#include <errno.h>

#include "gpupass/dbus.h"
#include "store/trail-files.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define PAGE_RECORDS_MAX 256U
#define PAGE_BYTES_MAX (512U * 1024)

int trail_file_visit(int dir_fd, uint64_t number, LedgerVisit visit, void *userdata)
{
	_cleanup_free_ char *name = ledger_name(number);

	return ledger_visit(dir_fd, name, AUDIT_LINE_MAX, visit, userdata);
}

static int see_first(const char *line, size_t size, bool whole, void *userdata)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	uint64_t *first = userdata;
	LineHash hash;
	bool intact;
	int r = whole ? audit_line_parse(line, size, &record, &hash, &intact) : -EBADMSG;

	if (r < 0)
		return 0; /* some later line tells */
	*first = record.sequence;
	audit_record_clear(&record);
	return 1;
}

int trail_file_first(int dir_fd, uint64_t number, uint64_t *sequence)
{
	return trail_file_visit(dir_fd, number, see_first, sequence);
}

/* ---- the whole ---- */

typedef struct Check {
	AuditChain *chain;
	uint64_t file;
} Check;

static int check_line(const char *line, size_t size, bool whole, void *userdata)
{
	const Check *check = userdata;

	audit_chain_add(check->chain, check->file, line, size, whole);
	return 0;
}

int trail_files_check(int dir_fd, AuditChain *chain)
{
	_cleanup_free_ uint64_t *numbers = NULL;
	size_t n = 0;
	int r = ledger_list(dir_fd, &numbers, &n);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		Check check = { .chain = chain, .file = numbers[i] };

		r = trail_file_visit(dir_fd, numbers[i], check_line, &check);
		/* Not a word about its records, but the others are judged all the same. */
		if (r < 0 && r != -EACCES && r != -ENOENT) {
			audit_chain_add(chain, numbers[i], "", 0, true);
			r = 0;
		}
	}
	return r;
}

/* ---- a page ---- */

typedef struct Page {
	const AuditQuery *query;
	json_t *records;
	size_t bytes;
	uint64_t last;
	bool more;
} Page;

static int take(Page *page, const AuditRecord *record, const LineHash *hash, size_t size)
{
	if (json_array_size(page->records) >= PAGE_RECORDS_MAX ||
	    page->bytes + size > PAGE_BYTES_MAX) {
		page->more = true;
		return 1;
	}
	page->bytes += size;
	json_append(page->records, audit_record_to_json(record, hash));
	return 0;
}

static int page_line(const char *line, size_t size, bool whole, void *userdata)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	Page *page = userdata;
	LineHash hash;
	bool intact;
	int r = whole ? audit_line_parse(line, size, &record, &hash, &intact) : -EBADMSG;

	if (r < 0)
		return 0; /* audit --verify reports such a line */
	if (audit_query_matches(page->query, &record))
		r = take(page, &record, &hash, size);
	if (r == 0 && record.sequence > page->last)
		page->last = record.sequence;
	audit_record_clear(&record);
	return r;
}

/* The index of the first file that may have records after that one. */
static size_t begin_at(int dir_fd, const uint64_t *numbers, size_t n, uint64_t after)
{
	size_t i = n;

	while (i > 0) {
		uint64_t sequence = UINT64_MAX;

		i--;
		(void)trail_file_first(dir_fd, numbers[i], &sequence);
		if (sequence <= after)
			break;
	}
	return i;
}

static char *page_text(const Page *page)
{
	_cleanup_json_ json_t *o =
		json_build("{s:s, s:O, s:I, s:b}", "schema", GPUPASS_SCHEMA_AUDIT_PAGE, "records",
			   page->records, "last", (json_int_t)page->last, "more", page->more);

	return json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII);
}

int trail_files_page(int dir_fd, const AuditQuery *query, char **ret)
{
	_cleanup_json_ json_t *records = json_array();
	_cleanup_free_ uint64_t *numbers = NULL;
	Page page = { .query = query, .records = records, .last = query->after };
	size_t n = 0;
	int r = ledger_list(dir_fd, &numbers, &n);

	if (r < 0)
		return r;
	for (size_t i = begin_at(dir_fd, numbers, n, query->after); r == 0 && i < n; i++) {
		r = trail_file_visit(dir_fd, numbers[i], page_line, &page);
		/* Rotation may have dropped it meanwhile; what cannot be read was told of. */
		if (r < 0)
			r = 0;
	}
	if (r < 0)
		return r;
	*ret = page_text(&page);
	return 0;
}
