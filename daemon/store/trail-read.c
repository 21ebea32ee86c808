/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the trail's files, line by line, while others may append to them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpupass/dbus.h"
#include "store/trail-files.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define PAGE_RECORDS_MAX 256U
#define PAGE_BYTES_MAX (512U * 1024)

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int trail_files_list(int dir_fd, uint64_t **ret, size_t *ret_n)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ uint64_t *numbers = NULL;
	size_t n = 0;
	int r = dir_list(dir_fd, TRAIL_FILE_SUFFIX, &names);

	if (r < 0)
		return r;
	numbers = xcalloc(strv_length(names) + 1, sizeof(uint64_t));
	for (char **name = names; name && *name; name++) {
		unsigned long long number = 0;

		(*name)[strlen(*name) - strlen(TRAIL_FILE_SUFFIX)] = '\0';
		/* Anything else there is not ours. */
		if (str_to_unsigned(*name, 10, INT64_MAX, &number) >= 0 && number > 0 &&
		    **name != '0')
			numbers[n++] = number;
	}
	if (n > 0)
		qsort(numbers, n, sizeof(uint64_t), by_number);
	*ret = TAKE_PTR(numbers);
	*ret_n = n;
	return 0;
}

/* ---- lines ---- */

typedef struct Lines {
	char buffer[AUDIT_LINE_MAX + 2];
	size_t used;
	size_t over; /* bytes of the line so far that had no room; such a line is none of ours */
} Lines;

static int visit_lines(Lines *lines, TrailVisit visit, void *userdata)
{
	char *begin = lines->buffer, *end;
	int r = 0;

	while (r == 0 &&
	       (end = memchr(begin, '\n', lines->used - (size_t)(begin - lines->buffer)))) {
		r = visit(begin, (size_t)(end - begin) + lines->over, true, userdata);
		lines->over = 0;
		begin = end + 1;
	}
	lines->used -= (size_t)(begin - lines->buffer);
	memmove(lines->buffer, begin, lines->used);
	if (lines->used == sizeof(lines->buffer)) {
		lines->over += lines->used;
		lines->used = 0;
	}
	return r;
}

static int visit_fd(int fd, Lines *lines, TrailVisit visit, void *userdata)
{
	ssize_t n;
	int r;

	for (;;) {
		n = read(fd, lines->buffer + lines->used, sizeof(lines->buffer) - lines->used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		lines->used += (size_t)n;
		r = visit_lines(lines, visit, userdata);
		if (r != 0)
			return r;
	}
	return lines->used + lines->over > 0
		       ? visit(lines->buffer, lines->used + lines->over, false, userdata)
		       : 0;
}

int trail_file_visit(int dir_fd, uint64_t number, TrailVisit visit, void *userdata)
{
	_cleanup_free_ char *name = strf("%" PRIu64 TRAIL_FILE_SUFFIX, number);
	_cleanup_free_ Lines *lines = xmalloc(sizeof(Lines));
	_cleanup_close_ int fd = -1;
	struct stat st;

	lines->used = lines->over = 0;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? visit_fd(fd, lines, visit, userdata) : -EBADMSG;
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
	int r = trail_files_list(dir_fd, &numbers, &n);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		Check check = { .chain = chain, .file = numbers[i] };

		r = trail_file_visit(dir_fd, numbers[i], check_line, &check);
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

static int take(Page *page, const AuditRecord *record, const AuditHash *hash, size_t size)
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
	AuditHash hash;
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

static int first_line(const char *line, size_t size, bool whole, void *userdata)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	uint64_t *sequence = userdata;
	AuditHash hash;
	bool intact;

	if (!whole || audit_line_parse(line, size, &record, &hash, &intact) < 0)
		return 1;
	*sequence = record.sequence;
	audit_record_clear(&record);
	return 1;
}

/* The index of the first file that may have records after that one. */
static size_t begin_at(int dir_fd, const uint64_t *numbers, size_t n, uint64_t after)
{
	size_t i = n;

	while (i > 0) {
		uint64_t sequence = UINT64_MAX;

		i--;
		(void)trail_file_visit(dir_fd, numbers[i], first_line, &sequence);
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
	int r = trail_files_list(dir_fd, &numbers, &n);

	if (r < 0)
		return r;
	for (size_t i = begin_at(dir_fd, numbers, n, query->after); r == 0 && i < n; i++) {
		r = trail_file_visit(dir_fd, numbers[i], page_line, &page);
		/* Rotation may have dropped it meanwhile. */
		if (r == -ENOENT)
			r = 0;
	}
	if (r < 0)
		return r;
	*ret = page_text(&page);
	return 0;
}
