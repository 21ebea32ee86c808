/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/trail-files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "gpupass/dbus.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

static int open_directory(TrailFiles *files, const char *directory)
{
	const char *name = str_base_name(directory);
	_cleanup_free_ char *above = xstrndup(directory, (size_t)(name - directory));
	_cleanup_close_ int above_fd = -1;
	int r = dir_open_at(AT_FDCWD, above, true, &above_fd);

	if (r < 0)
		return r;
	if (mkdirat(above_fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	files->dir_fd = openat(above_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (files->dir_fd < 0)
		return -errno;
	/* What cannot be changed, as on a read-only disk, stays as it is. */
	(void)fchmod(files->dir_fd, 0700);
	files->file.dir_fd = files->dir_fd;
	return 0;
}

void trail_files_open(const char *directory, TrailFiles *ret)
{
	*ret = (TrailFiles){
		.dir_fd = -1,
		.limits = TRAIL_LIMITS_DEFAULT,
		.file = { .fd = -1,
			  .io = ledger_io,
			  .end = LEDGER_NO_MARK,
			  .synced = LEDGER_NO_MARK },
	};
	ret->error = open_directory(ret, directory);
}

void trail_files_close(TrailFiles *files)
{
	ledger_close(&files->file);
	close_fd(files->dir_fd);
	free(files->boot_id);
	free(files->mended);
	strv_free(files->faults);
	for (size_t i = 0; i < files->jobs.n_open; i++)
		audit_record_clear(&files->jobs.open[i]);
	free(files->jobs.open);
	*files = (TrailFiles){ .file.fd = -1, .dir_fd = -1 };
}

/* ---- reading, line by line, while others may append ---- */

/* Calls visit() for each line of a file: ledger_visit(). */
static int visit_file(int dir_fd, uint64_t number, LedgerVisit visit, void *userdata)
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

/* The number of its first record that can be read; it stays as it is where there is none. */
static int first_of(int dir_fd, uint64_t number, uint64_t *sequence)
{
	return visit_file(dir_fd, number, see_first, sequence);
}

/* ---- the end of what is there ---- */

typedef struct End {
	uint64_t sequence; /* of the last record that can be read */
	LineHash hash;	   /* of the last line that has one */
	off_t whole;	   /* bytes of whole lines */
	off_t torn;	   /* bytes behind them */
	uint64_t bad;	   /* lines behind the last record that can be read */
	TrailJobs *jobs;
} End;

static void close_job(TrailJobs *jobs, uint32_t job)
{
	for (size_t i = 0; i < jobs->n_open; i++) {
		if (jobs->open[i].job != job)
			continue;
		audit_record_clear(&jobs->open[i]);
		jobs->open[i--] = jobs->open[--jobs->n_open];
	}
}

/* Takes the record. Numbers of the versions before began anew with each start. */
static void note_job(TrailJobs *jobs, AuditRecord *record)
{
	bool ends = record->kind == AUDIT_JOB_ENDED ||
		    (record->kind == AUDIT_RECOVERED && record->verdict != AUDIT_NO_VERDICT);

	/* Calls name numbers that no job has. */
	if ((ends || record->kind == AUDIT_JOB_BEGUN) && record->job > jobs->last)
		jobs->last = record->job;
	if (ends || record->kind == AUDIT_JOB_BEGUN)
		close_job(jobs, record->job);
	if (record->kind == AUDIT_JOB_BEGUN) {
		*GROW(jobs->open, jobs->n_open) = *record;
		*record = AUDIT_RECORD_EMPTY;
	}
	audit_record_clear(record);
}

static int see_line(const char *line, size_t size, bool whole, void *userdata)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	End *end = userdata;
	LineHash hash;
	bool intact;
	int r;

	if (!whole) {
		end->torn = (off_t)size;
		return 0;
	}
	end->whole += (off_t)size + 1;
	r = audit_line_parse(line, size, &record, &hash, &intact);
	end->bad = r < 0 ? end->bad + 1 : 0;
	if (r < 0)
		return 0;
	end->sequence = record.sequence;
	end->hash = hash;
	note_job(end->jobs, &record);
	return 0;
}

static int see_any(_unused_ const char *line, _unused_ size_t size, _unused_ bool whole,
		   _unused_ void *userdata)
{
	return 1;
}

/* The next record says what was found. */
static int mend(TrailFiles *files, const End *end)
{
	LedgerFile *file = &files->file;

	if (end->torn > 0 && ftruncate(file->fd, end->whole) < 0)
		return -errno;
	if (end->torn > 0)
		files->mended = strf("%" PRIu64 LEDGER_SUFFIX
				     ": the last line was cut off, and its %jd bytes were removed",
				     file->end.number, (intmax_t)end->torn);
	/* Numbers go on as if they had been records, so that nothing else can take their place. */
	if (end->bad > 0) {
		file->end.sequence += end->bad;
		file->broken = true;
		free(files->mended);
		files->mended = strf("%" PRIu64 LEDGER_SUFFIX ": its last %" PRIu64
				     " lines cannot be read, and were left as they are",
				     file->end.number, end->bad);
	}
	return 0;
}

static void note_fault(TrailFiles *files, const char *name, int error)
{
	strv_appendf(&files->faults,
		     "audit%s%s cannot be read (%s): the audit trail %s; see gpupassd(8), AUDIT",
		     name ? "/" : "", str_or_empty(name), file_state_error(error),
		     name ? "goes on in another file, and that one is left as it is"
			  : "is not written, and nothing is given away until it can be");
}

/* More records than such a file can have. */
static uint64_t records_at_most(const TrailFiles *files)
{
	return files->limits.file_bytes / LINE_HASH_HEX + AUDIT_LINE_MAX;
}

/* Of all files, the newest last: those that can be read need not be read whole. */
static int look_at(TrailFiles *files, uint64_t number, bool whole, End *ret)
{
	_cleanup_free_ char *name = ledger_name(number);
	int r = visit_file(files->dir_fd, number, whole ? see_line : see_any, ret);

	if (r < 0)
		note_fault(files, name, r);
	return r;
}

/* So many of the newest are read whole: a job is shorter, and the newest may be empty. */
#define READ_WHOLE 2U

static void find_end(TrailFiles *files, const uint64_t *numbers, size_t n, size_t whole, End *end)
{
	uint64_t unknown = 0;

	for (size_t i = 0; i < n; i++) {
		End of_file = { .hash = LINE_NO_HASH, .jobs = &files->jobs };
		int r = look_at(files, numbers[i], i + whole >= n, &of_file);

		unknown = r >= 0 ? of_file.sequence > 0 ? 0 : unknown
				 : unknown + records_at_most(files);
		/* What an empty one follows. */
		if (of_file.sequence == 0) {
			of_file.sequence = end->sequence;
			of_file.hash = end->hash;
		}
		*end = of_file;
		files->file.broken = r < 0;
	}
	if (unknown == 0)
		return;
	end->sequence += unknown;
	files->mended = xstrdup("a file cannot be read; numbers go on behind all that it can have");
}

void trail_files_load(TrailFiles *files)
{
	_cleanup_free_ uint64_t *numbers = NULL;
	LedgerFile *file = &files->file;
	End end = { .hash = LINE_NO_HASH };
	size_t n = 0;
	int r = files->dir_fd < 0 ? files->error : ledger_list(files->dir_fd, &numbers, &n);

	if (r < 0)
		note_fault(files, NULL, r);
	if (r < 0 || n == 0)
		return;
	find_end(files, numbers, n, READ_WHOLE, &end);
	if (end.sequence == 0 && n > READ_WHOLE) {
		files->faults = strv_free(files->faults);
		find_end(files, numbers, n, n, &end);
	}
	file->end = (LedgerMark){ numbers[n - 1], end.whole, end.sequence, end.hash };
	/* What cannot be written now, as on a read-only disk, is left for another file, too. */
	if (!file->broken && (ledger_open(file, 0) < 0 || mend(files, &end) < 0))
		file->broken = true;
	file->synced = file->end;
}

/* ---- appending ---- */

static int write_record(TrailFiles *files, AuditRecord *record, LineHash *ret_hash)
{
	_cleanup_free_ char *line = NULL;
	LineHash hash;
	size_t size;
	int r;

	free(record->previous);
	record->previous = xstrdup(files->file.end.hash.hex);
	record->sequence = files->file.end.sequence + 1;
	line = audit_line(record, &hash);
	size = strlen(line);
	if (size > AUDIT_LINE_MAX)
		return -EMSGSIZE;
	r = ledger_append(&files->file, line, size, record->sequence, &hash);
	if (r >= 0 && ret_hash)
		*ret_hash = hash;
	return r;
}

/* A record of the trail about itself. Takes the reason. */
static int write_own(TrailFiles *files, AuditKind kind, char *reason, uint64_t count)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	int r;

	record.kind = kind;
	record.time_usec = now_realtime();
	record.count = count;
	record.reason = reason;
	record.boot_id = xstrdup(files->boot_id);
	r = write_record(files, &record, NULL);
	audit_record_clear(&record);
	return r;
}

static char *begin_reason(const TrailFiles *files)
{
	return files->file.end.number == 1
		       ? xstrdup("the trail begins")
		       : strf("follows %" PRIu64 LEDGER_SUFFIX, files->file.end.number - 1);
}

static int begin_file(TrailFiles *files)
{
	LedgerFile *file = &files->file;
	int r;

	file->end.number++;
	r = ledger_open(file, O_CREAT | O_EXCL);
	if (r < 0) {
		file->end.number--;
		return r;
	}
	file->end.size = 0;
	file->broken = false;
	r = file_sync_dir(files->dir_fd);
	return r < 0 ? r : write_own(files, AUDIT_FILE_BEGUN, begin_reason(files), 0);
}

/* The record comes to the disk before the file goes. */
static int drop(TrailFiles *files, uint64_t number, uint64_t next)
{
	_cleanup_free_ char *name = ledger_name(number);
	uint64_t first = 0;
	int r = first_of(files->dir_fd, next, &first);

	if (r >= 0)
		r = write_own(files, AUDIT_FILE_DROPPED, strf("%s was the oldest file", name),
			      first);
	if (r >= 0)
		r = files->file.io.sync(files->file.io.userdata, files->file.fd);
	if (r < 0)
		return r;
	return unlinkat(files->dir_fd, name, 0) < 0 ? -errno : 0;
}

static int drop_oldest(TrailFiles *files)
{
	_cleanup_free_ uint64_t *numbers = NULL;
	size_t n = 0;
	int r = ledger_list(files->dir_fd, &numbers, &n);

	for (size_t i = 0; r >= 0 && i + 1 < n && i + files->limits.files < n; i++)
		r = drop(files, numbers[i], numbers[i + 1]);
	return r;
}

static bool is_full(const TrailFiles *files)
{
	const LedgerFile *file = &files->file;

	return file->end.number == 0 || file->broken ||
	       (uint64_t)file->end.size >= files->limits.file_bytes;
}

/* Whatever is in the file of before is on disk first, so that no later sync need know of it. */
static int rotate(TrailFiles *files)
{
	LedgerFile *file = &files->file;
	LedgerMark before;
	int r = ledger_sync(file);

	if (r < 0)
		return r;
	before = file->end;
	r = begin_file(files);
	if (r >= 0)
		r = file->io.sync(file->io.userdata, file->fd);
	if (r < 0 && file->end.number != before.number)
		ledger_go_back(file, &before);
	if (r >= 0)
		file->synced = file->end;
	/* An old file that cannot be dropped now is dropped with the next. */
	if (r >= 0)
		(void)drop_oldest(files);
	return r;
}

static int mend_record(TrailFiles *files)
{
	int r = files->mended ? write_own(files, AUDIT_TAIL_MENDED, xstrdup(files->mended), 0) : 0;

	if (r < 0)
		return r;
	free(files->mended);
	files->mended = NULL;
	return 0;
}

int trail_files_append(TrailFiles *files, AuditRecord *record, LineHash *ret_hash)
{
	int r = files->dir_fd < 0 ? files->error : 0;

	if (r < 0)
		return r;
	if (is_full(files))
		r = rotate(files);
	else if (files->file.end.size == 0)
		r = write_own(files, AUDIT_FILE_BEGUN, begin_reason(files), 0);
	if (r >= 0)
		r = mend_record(files);
	return r < 0 ? r : write_record(files, record, ret_hash);
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

		r = visit_file(dir_fd, numbers[i], check_line, &check);
		/* Not a word about its records, but the others are judged all the same. */
		if (r < 0 && r != -EACCES && r != -ENOENT) {
			audit_chain_add(chain, numbers[i], "", 0, true);
			r = 0;
		}
	}
	return r;
}

/* ---- a page ---- */

#define PAGE_RECORDS_MAX 256U
#define PAGE_BYTES_MAX (512U * 1024)

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
		(void)first_of(dir_fd, numbers[i], &sequence);
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
		r = visit_file(dir_fd, numbers[i], page_line, &page);
		/* Rotation may have dropped it meanwhile; what cannot be read was told of. */
		if (r < 0)
			r = 0;
	}
	if (r < 0)
		return r;
	*ret = page_text(&page);
	return 0;
}
