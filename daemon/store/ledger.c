/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/ledger.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

static int append_all(_unused_ void *userdata, int fd, const char *text, size_t size)
{
	return file_write_fd(fd, text, size);
}

static int sync_data(_unused_ void *userdata, int fd)
{
	return fdatasync(fd) < 0 ? -errno : 0;
}

static int remove_durably(_unused_ void *userdata, int dir_fd, const char *name)
{
	return file_remove_at(dir_fd, name);
}

const LedgerIo ledger_io = { append_all, sync_data, remove_durably, NULL };

char *ledger_name(uint64_t number)
{
	return strf("%" PRIu64 LEDGER_SUFFIX, number);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int ledger_list(int dir_fd, uint64_t **ret, size_t *ret_n)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ uint64_t *numbers = NULL;
	size_t n = 0;
	int r = dir_list(dir_fd, LEDGER_SUFFIX, &names);

	if (r < 0)
		return r;
	numbers = xcalloc(strv_length(names) + 1, sizeof(uint64_t));
	for (char **name = names; name && *name; name++) {
		unsigned long long number = 0;

		(*name)[strlen(*name) - strlen(LEDGER_SUFFIX)] = '\0';
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

/* ---- writing ---- */

int ledger_open(LedgerFile *file, int flags)
{
	_cleanup_free_ char *name = ledger_name(file->end.number);
	struct stat st;
	int fd;

	fd = openat(file->dir_fd, name,
		    O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close_fd(fd);
		return -EBADMSG;
	}
	close_fd(file->fd);
	file->fd = fd;
	return 0;
}

void ledger_close(LedgerFile *file)
{
	file->fd = close_fd(file->fd);
}

int ledger_append(LedgerFile *file, const char *text, size_t size, uint64_t sequence,
		  const LineHash *hash)
{
	int r = file->io.append(file->io.userdata, file->fd, text, size);

	if (r < 0) {
		/* Whatever part of it was written. */
		file->broken |= ftruncate(file->fd, file->end.size) < 0;
		return r;
	}
	file->end.size += (off_t)size;
	file->end.sequence = sequence;
	file->end.hash = *hash;
	return 0;
}

void ledger_go_back(LedgerFile *file, const LedgerMark *mark)
{
	if (file->end.number != mark->number) {
		_cleanup_free_ char *name = ledger_name(file->end.number);

		ledger_close(file);
		(void)unlinkat(file->dir_fd, name, 0);
		file->end.number = mark->number;
		file->broken |= mark->number > 0 && ledger_open(file, 0) < 0;
	}
	file->end = *mark;
	if (file->fd >= 0)
		file->broken |= ftruncate(file->fd, mark->size) < 0;
}

int ledger_sync(LedgerFile *file)
{
	int r = file->fd < 0 ? 0 : file->io.sync(file->io.userdata, file->fd);

	if (r < 0) {
		const LedgerMark synced = file->synced;

		ledger_go_back(file, &synced);
	} else {
		file->synced = file->end;
	}
	return r;
}

/* ---- reading ---- */

typedef struct Lines {
	char *buffer;
	size_t room, max, used;
	size_t over; /* bytes of the line so far that had no room; such a line is none of ours */
} Lines;

static int visit_lines(Lines *lines, LedgerVisit visit, void *userdata)
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
	return r;
}

static void make_room(Lines *lines)
{
	if (lines->used < lines->room)
		return;
	if (lines->room > lines->max) {
		lines->over += lines->used;
		lines->used = 0;
		return;
	}
	lines->room = lines->room ? 2 * lines->room : 16384;
	lines->buffer = xrealloc(lines->buffer, lines->room);
}

static int visit_fd(int fd, Lines *lines, LedgerVisit visit, void *userdata)
{
	ssize_t n;
	int r;

	for (;;) {
		make_room(lines);
		n = read(fd, lines->buffer + lines->used, lines->room - lines->used);
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

int ledger_visit(int dir_fd, const char *name, size_t line_max, LedgerVisit visit, void *userdata)
{
	Lines lines = { .max = line_max };
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	r = visit_fd(fd, &lines, visit, userdata);
	free(lines.buffer);
	return r;
}
