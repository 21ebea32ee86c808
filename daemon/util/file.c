/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "util/text.h"
#include "util/xalloc.h"

/* A sysfs attribute is at most a page. */
#define LINE_MAX_BYTES 4096

static void grow(char **buffer, size_t *capacity, size_t limit)
{
	size_t bigger = *capacity ? *capacity * 2 : 4096;

	*capacity = bigger < limit ? bigger : limit;
	*buffer = xrealloc(*buffer, *capacity);
}

int file_read_fd(int fd, size_t max, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *buffer = NULL;
	size_t size = 0, capacity = 0;

	for (;;) {
		ssize_t n;

		/* One byte more than max tells "full" from "too big"; one more holds the NUL. */
		if (size + 1 >= capacity)
			grow(&buffer, &capacity, max + 2);
		n = read(fd, buffer + size, capacity - size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
		if (size > max)
			return -EFBIG;
	}
	buffer[size] = '\0';
	*ret = TAKE_PTR(buffer);
	if (ret_size)
		*ret_size = size;
	return 0;
}

int file_read_at(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : file_read_fd(fd, max, ret, ret_size);
}

/* The open of a FIFO would wait for a writer, which may never come. */
static int read_regular(int dir_fd, const char *path, int flags, size_t max, char **ret,
			size_t *ret_size)
{
	_cleanup_close_ int fd =
		openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	/* People leave a file of settings out by making it a link to /dev/null. */
	if (!S_ISREG(st.st_mode) && (!S_ISCHR(st.st_mode) || flags & O_NOFOLLOW))
		return -EBADMSG;
	return file_read_fd(fd, max, ret, ret_size);
}

int file_read_regular_at(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size)
{
	return read_regular(dir_fd, path, 0, max, ret, ret_size);
}

int file_read_state_at(int dir_fd, const char *name, size_t max, char **ret, size_t *ret_size)
{
	return read_regular(dir_fd, name, O_NOFOLLOW, max, ret, ret_size);
}

const char *file_state_error(int error)
{
	return error == -EBADMSG ? "it is no regular file"
	       : error == -ELOOP ? "it is a symbolic link"
				 : strerror(-error);
}

/* To NAME.damaged, or to NAME.N.damaged: *ret. */
static int move_aside(int dir_fd, const char *from, const char *name, char **ret)
{
	for (unsigned i = 1; i < 1000; i++) {
		_cleanup_free_ char *aside = i == 1 ? strf("%s" FILE_DAMAGED_SUFFIX, name)
						    : strf("%s.%u" FILE_DAMAGED_SUFFIX, name, i);

		if (renameat2(dir_fd, from, dir_fd, aside, RENAME_NOREPLACE) >= 0) {
			*ret = TAKE_PTR(aside);
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int file_set_aside_at(int dir_fd, const char *name)
{
	_cleanup_free_ char *aside = NULL;
	int r = move_aside(dir_fd, name, name, &aside);

	return r < 0 || fsync(dir_fd) >= 0 ? r : -errno;
}

int file_read_line_at(int dir_fd, const char *path, char **ret)
{
	_cleanup_free_ char *content = NULL;
	int r = file_read_at(dir_fd, path, LINE_MAX_BYTES, &content, NULL);

	if (r >= 0)
		*ret = xstrdup(str_strip(content));
	return r;
}

int file_link_name_at(int dir_fd, const char *path, char **ret)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir_fd, path, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	*ret = xstrdup(str_base_name(target));
	return 0;
}

int file_write_exact_at(int dir_fd, const char *path, const char *value)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	size_t size = strlen(value);
	ssize_t n;

	if (fd < 0)
		return -errno;
	/*
	 * Not retried on EINTR: a sysfs store either runs to its end or has not begun, and
	 * repeating an unbind is not harmless.
	 */
	n = write(fd, value, size);
	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EIO;
}

int file_write_fd(int fd, const char *content, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, content, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		content += n;
		size -= (size_t)n;
	}
	return 0;
}

static char *temporary_of(const char *name)
{
	/* A leading dot keeps a leftover of a crash out of dir_list(). */
	return strf(".%s" FILE_TEMPORARY_SUFFIX, name);
}

static int write_temporary(int dir_fd, const FileContent *file, mode_t mode)
{
	_cleanup_free_ char *temporary = temporary_of(file->name);
	_cleanup_close_ int fd = openat(
		dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	int r;

	if (fd < 0)
		return -errno;
	r = file_write_fd(fd, file->content, file->size);
	if (r >= 0 && (fchmod(fd, mode) < 0 || fdatasync(fd) < 0))
		r = -errno;
	if (r < 0)
		unlinkat(dir_fd, temporary, 0);
	return r;
}

/* A directory in its place is set aside in the moment in which the file is there. */
static int replace_directory(int dir_fd, const char *temporary, const char *name)
{
	_cleanup_free_ char *aside = NULL;
	int r = move_aside(dir_fd, temporary, name, &aside);

	return r < 0 || renameat2(dir_fd, aside, dir_fd, name, RENAME_EXCHANGE) >= 0 ? r : -errno;
}

static int put_in_place(int dir_fd, const char *name)
{
	_cleanup_free_ char *temporary = temporary_of(name);
	int r = 0;

	if (renameat(dir_fd, temporary, dir_fd, name) < 0)
		r = errno == EISDIR ? replace_directory(dir_fd, temporary, name) : -errno;
	if (r < 0)
		unlinkat(dir_fd, temporary, 0);
	return r;
}

int file_put_at(int dir_fd, const char *name, const char *content, size_t size, mode_t mode)
{
	int r = write_temporary(dir_fd, &(FileContent){ name, content, size }, mode);

	return r < 0 ? r : put_in_place(dir_fd, name);
}

int file_sync_dir(int dir_fd)
{
	return fsync(dir_fd) < 0 ? -errno : 0;
}

int file_replace_all_at(int dir_fd, const FileContent *files, size_t n, mode_t mode)
{
	size_t written = 0, placed = 0;
	int r = 0;

	for (; r >= 0 && written < n; written++)
		r = write_temporary(dir_fd, &files[written], mode);
	for (; r >= 0 && placed < n; placed++)
		r = put_in_place(dir_fd, files[placed].name);
	for (size_t i = placed; i < written; i++) {
		_cleanup_free_ char *temporary = temporary_of(files[i].name);

		unlinkat(dir_fd, temporary, 0);
	}
	/* Some may be in place already. */
	if (placed > 0 && fsync(dir_fd) < 0 && r >= 0)
		r = -errno;
	return r;
}

int file_replace_at(int dir_fd, const char *name, const char *content, size_t size, mode_t mode)
{
	return file_replace_all_at(dir_fd, &(FileContent){ name, content, size }, 1, mode);
}

int file_probe_at(int dir_fd, const char *name, const char *content)
{
	_cleanup_free_ char *probe = strf(".%s" FILE_PROBE_SUFFIX, name);
	_cleanup_close_ int fd =
		openat(dir_fd, probe, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		       FILE_MODE_PRIVATE);
	int r;

	if (fd < 0)
		return -errno;
	r = file_write_fd(fd, content, strlen(content));
	if (unlinkat(dir_fd, probe, 0) < 0 && r >= 0)
		r = -errno;
	return r;
}

int file_remove_at(int dir_fd, const char *name)
{
	return unlinkat(dir_fd, name, 0) < 0 ? -errno : file_sync_dir(dir_fd);
}

static int make_directories(int dir_fd, const char *path)
{
	_cleanup_free_ char *copy = xstrdup(path);

	if (!*copy)
		return -ENOENT; /* as open() has it */
	for (char *slash = strchr(copy + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdirat(dir_fd, copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		if (!slash)
			return 0;
		*slash = '/';
	}
}

int dir_open_at(int dir_fd, const char *path, bool create, int *ret_fd)
{
	int fd;

	if (create) {
		int r = make_directories(dir_fd, path);

		if (r < 0)
			return r;
	}
	fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* The directory last: what was cut off is done anew. */
static void make_private(int dir_fd)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	struct stat st;
	int fd;

	fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		close_fd(fd);
	while (dir && (entry = readdir(dir)))
		if (fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && st.st_mode & 077 &&
		    fchmodat(dir_fd, entry->d_name, FILE_MODE_PRIVATE, 0) < 0)
			break; /* and so it is with the others; the directory may still be ours */
	if (fstat(dir_fd, &st) == 0 && (st.st_mode & 07777) != 0700)
		(void)fchmod(dir_fd, 0700);
}

int dir_open_private(const char *path, int *ret_fd)
{
	int r = dir_open_at(AT_FDCWD, path, true, ret_fd);

	if (r >= 0)
		make_private(*ret_fd);
	return r;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int dir_lock(int dir_fd)
{
	return flock(dir_fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

/* The names with this suffix that begin with a dot, or those that do not. */
static int list_names(int dir_fd, bool dotted, const char *suffix, char ***ret)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_close_ int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	(void)TAKE_FD(fd); /* the stream owns it now */
	for (;;) {
		struct dirent *entry;

		errno = 0;
		entry = readdir(dir);
		if (!entry && errno != 0)
			return -errno;
		if (!entry)
			break;
		if ((entry->d_name[0] == '.') == dotted && str_ends_with(entry->d_name, suffix))
			strv_append(&names, entry->d_name);
	}
	if (names)
		qsort(names, strv_length(names), sizeof(char *), compare_names);
	*ret = TAKE_PTR(names);
	return 0;
}

int dir_list(int dir_fd, const char *suffix, char ***ret)
{
	return list_names(dir_fd, false, suffix, ret);
}

int dir_list_at(int dir_fd, const char *path, const char *suffix, char ***ret)
{
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(dir_fd, path, false, &fd);

	return r < 0 ? r : dir_list(fd, suffix, ret);
}

int dir_sweep(int dir_fd, const char *suffix)
{
	_cleanup_strv_ char **names = NULL;
	int r = list_names(dir_fd, true, suffix, &names);

	for (char **name = names; r >= 0 && name && *name; name++)
		if (unlinkat(dir_fd, *name, 0) < 0 && errno != ENOENT)
			r = -errno;
	return r;
}
