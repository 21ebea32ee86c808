/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/trail-files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

static char *file_name(uint64_t number)
{
	return strf("%" PRIu64 TRAIL_FILE_SUFFIX, number);
}

static int append_all(_unused_ void *userdata, int fd, const char *text, size_t size)
{
	ssize_t n = write(fd, text, size);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -ENOSPC;
}

static int sync_data(_unused_ void *userdata, int fd)
{
	return fdatasync(fd) < 0 ? -errno : 0;
}

int trail_files_open(const char *directory, TrailFiles *ret)
{
	_cleanup_free_ char *above =
		xstrndup(directory, (size_t)(strrchr(directory, '/') - directory));
	const char *name = strrchr(directory, '/') + 1;
	_cleanup_close_ int above_fd = -1;
	int fd = -1, r;

	r = dir_open_at(AT_FDCWD, above, true, &above_fd);
	if (r < 0)
		return r;
	if (mkdirat(above_fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(above_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0700) < 0 && errno != EROFS) {
		r = -errno;
		close_fd(fd);
		return r;
	}
	*ret = (TrailFiles){
		.dir_fd = fd,
		.fd = -1,
		.limits = TRAIL_LIMITS_DEFAULT,
		.io = { .append = append_all, .sync = sync_data },
		.end.hash = AUDIT_NO_HASH,
		.synced.hash = AUDIT_NO_HASH,
	};
	return 0;
}

void trail_files_close(TrailFiles *files)
{
	close_fd(files->fd);
	close_fd(files->dir_fd);
	free(files->boot_id);
	free(files->mended);
	*files = (TrailFiles){ .fd = -1, .dir_fd = -1 };
}

/* ---- the end of what is there ---- */

typedef struct End {
	uint64_t sequence; /* of the last record that can be read */
	AuditHash hash;	   /* of the last line that has one */
	off_t whole;	   /* bytes of whole lines */
	off_t torn;	   /* bytes behind them */
	uint64_t bad;	   /* lines behind the last record that can be read */
} End;

static int see_line(const char *line, size_t size, bool whole, void *userdata)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	End *end = userdata;
	AuditHash hash;
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
	audit_record_clear(&record);
	return 0;
}

static int open_newest(TrailFiles *files, int flags)
{
	_cleanup_free_ char *name = file_name(files->end.number);
	struct stat st;
	int fd;

	fd = openat(files->dir_fd, name,
		    O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close_fd(fd);
		return -EBADMSG;
	}
	close_fd(files->fd);
	files->fd = fd;
	return 0;
}

/* The next record says what was found. */
static int mend(TrailFiles *files, const End *end)
{
	if (end->torn > 0 && ftruncate(files->fd, end->whole) < 0)
		return -errno;
	if (end->torn > 0)
		files->mended = strf("%" PRIu64 TRAIL_FILE_SUFFIX
				     ": the last line was cut off, and its %jd bytes were removed",
				     files->end.number, (intmax_t)end->torn);
	/* Numbers go on as if they had been records, so that nothing else can take their place. */
	if (end->bad > 0) {
		files->end.sequence += end->bad;
		files->broken = true;
		free(files->mended);
		files->mended = strf("%" PRIu64 TRAIL_FILE_SUFFIX ": its last %" PRIu64
				     " lines cannot be read, and were left as they are",
				     files->end.number, end->bad);
	}
	return 0;
}

int trail_files_load(TrailFiles *files)
{
	_cleanup_free_ uint64_t *numbers = NULL;
	End end = { .hash = AUDIT_NO_HASH };
	size_t n = 0;
	int r = trail_files_list(files->dir_fd, &numbers, &n);

	/* The newest may be empty: the power was cut right after it was made. */
	for (size_t i = n; r >= 0 && i > 0 && end.sequence == 0; i--) {
		End of_file = { .hash = AUDIT_NO_HASH };

		r = trail_file_visit(files->dir_fd, numbers[i - 1], see_line, &of_file);
		end.sequence = of_file.sequence;
		end.hash = of_file.hash;
		if (i == n) {
			end.whole = of_file.whole;
			end.torn = of_file.torn;
			end.bad = of_file.bad;
		}
	}
	if (r < 0 || n == 0)
		return r;
	files->end.number = numbers[n - 1];
	files->end.sequence = end.sequence;
	files->end.hash = end.hash;
	files->end.size = end.whole;
	/* Another file is begun then, or on a read-only disk nothing is. */
	if (open_newest(files, 0) < 0 || mend(files, &end) < 0)
		files->broken = true;
	files->synced = files->end;
	return 0;
}

/* ---- appending ---- */

static int write_record(TrailFiles *files, AuditRecord *record, AuditHash *ret_hash)
{
	_cleanup_free_ char *line = NULL;
	AuditHash hash;
	size_t size;
	int r;

	free(record->previous);
	record->previous = xstrdup(files->end.hash.hex);
	record->sequence = files->end.sequence + 1;
	line = audit_line(record, &hash);
	size = strlen(line);
	if (size > AUDIT_LINE_MAX)
		return -EMSGSIZE;
	r = files->io.append(files->io.userdata, files->fd, line, size);
	if (r < 0) {
		/* Whatever part of it was written. */
		files->broken |= ftruncate(files->fd, files->end.size) < 0;
		return r;
	}
	files->end.size += (off_t)size;
	files->end.sequence = record->sequence;
	files->end.hash = hash;
	if (ret_hash)
		*ret_hash = hash;
	return 0;
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

static void go_back(TrailFiles *files, const TrailMark *mark)
{
	if (files->end.number != mark->number) {
		_cleanup_free_ char *name = file_name(files->end.number);

		files->fd = close_fd(files->fd);
		(void)unlinkat(files->dir_fd, name, 0);
		files->end.number = mark->number;
		files->broken |= mark->number > 0 && open_newest(files, 0) < 0;
	}
	files->end = *mark;
	if (files->fd >= 0)
		files->broken |= ftruncate(files->fd, mark->size) < 0;
}

int trail_files_sync(TrailFiles *files)
{
	int r = files->fd < 0 ? 0 : files->io.sync(files->io.userdata, files->fd);

	if (r < 0)
		go_back(files, &files->synced);
	else
		files->synced = files->end;
	return r;
}

static char *begin_reason(const TrailFiles *files)
{
	return files->end.number == 1
		       ? xstrdup("the trail begins")
		       : strf("follows %" PRIu64 TRAIL_FILE_SUFFIX, files->end.number - 1);
}

static int begin_file(TrailFiles *files)
{
	int r;

	files->end.number++;
	r = open_newest(files, O_CREAT | O_EXCL);
	if (r < 0) {
		files->end.number--;
		return r;
	}
	files->end.size = 0;
	files->broken = false;
	if (fsync(files->dir_fd) < 0)
		return -errno;
	return write_own(files, AUDIT_FILE_BEGUN, begin_reason(files), 0);
}

typedef struct First {
	uint64_t sequence;
} First;

static int see_first(const char *line, size_t size, bool whole, void *userdata)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	First *first = userdata;
	AuditHash hash;
	bool intact;
	int r = whole ? audit_line_parse(line, size, &record, &hash, &intact) : -EBADMSG;

	if (r < 0)
		return 0; /* some later line tells */
	first->sequence = record.sequence;
	audit_record_clear(&record);
	return 1;
}

/* The record comes to the disk before the file goes. */
static int drop(TrailFiles *files, uint64_t number, uint64_t next)
{
	_cleanup_free_ char *name = file_name(number);
	First first = { 0 };
	int r = trail_file_visit(files->dir_fd, next, see_first, &first);

	if (r >= 0)
		r = write_own(files, AUDIT_FILE_DROPPED, strf("%s was the oldest file", name),
			      first.sequence);
	if (r >= 0)
		r = files->io.sync(files->io.userdata, files->fd);
	if (r < 0)
		return r;
	return unlinkat(files->dir_fd, name, 0) < 0 ? -errno : 0;
}

static int drop_oldest(TrailFiles *files)
{
	_cleanup_free_ uint64_t *numbers = NULL;
	size_t n = 0;
	int r = trail_files_list(files->dir_fd, &numbers, &n);

	for (size_t i = 0; r >= 0 && i + 1 < n && i + files->limits.files < n; i++)
		r = drop(files, numbers[i], numbers[i + 1]);
	return r;
}

static bool is_full(const TrailFiles *files)
{
	return files->end.number == 0 || files->broken ||
	       (uint64_t)files->end.size >= files->limits.file_bytes;
}

/* Whatever is in the file of before is on disk first, so that no later sync need know of it. */
static int rotate(TrailFiles *files)
{
	TrailMark before;
	int r = trail_files_sync(files);

	if (r < 0)
		return r;
	before = files->end;
	r = begin_file(files);
	if (r >= 0)
		r = files->io.sync(files->io.userdata, files->fd);
	if (r < 0 && files->end.number != before.number)
		go_back(files, &before);
	if (r >= 0)
		files->synced = files->end;
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

int trail_files_append(TrailFiles *files, AuditRecord *record, AuditHash *ret_hash)
{
	int r = 0;

	if (is_full(files))
		r = rotate(files);
	else if (files->end.size == 0)
		r = write_own(files, AUDIT_FILE_BEGUN, begin_reason(files), 0);
	if (r >= 0)
		r = mend_record(files);
	return r < 0 ? r : write_record(files, record, ret_hash);
}
