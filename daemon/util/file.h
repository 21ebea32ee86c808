/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below an open directory: bounded reads, exact writes, atomic and durable replacement. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Reads a whole file of at most `max` bytes, NUL-terminated. sysfs and procfs files have no
 * useful size, so it reads until the end. -EFBIG when there is more.
 */
int file_read_at(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size);

/*
 * A file that a person made, perhaps behind a link. -EISDIR; -EBADMSG: a FIFO or similar, which is
 * never waited for.
 */
int file_read_regular_at(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size);

/*
 * A file of our own state: a regular one, under this very name. -ELOOP: a symbolic link. A caller
 * that decides by these files must block whatever an unreadable one may be about.
 */
int file_read_state_at(int dir_fd, const char *name, size_t max, char **ret, size_t *ret_size);
/* What is wrong with the file, in words. */
const char *file_state_error(int error);

/*
 * Durably renames the file to NAME.damaged, or NAME.N.damaged if an earlier one has that name, so
 * that a person can look at it.
 */
int file_set_aside_at(int dir_fd, const char *name);
#define FILE_DAMAGED_SUFFIX ".damaged"

/* The rest of an open file, and all of these bytes into one. */
int file_read_fd(int fd, size_t max, char **ret, size_t *ret_size);
int file_write_fd(int fd, const char *content, size_t size);

/* One line without its newline and outer blanks. -EFBIG over 4096 bytes (a sysfs page). */
int file_read_line_at(int dir_fd, const char *path, char **ret);

/* The last component of a symbolic link's target: how sysfs names drivers and IOMMU groups. */
int file_link_name_at(int dir_fd, const char *path, char **ret);

/*
 * Writes exactly these bytes with one write(2) to an existing file: a sysfs attribute takes the
 * whole value in one call, and a trailing NUL would become part of it. -EIO on a short write.
 */
int file_write_exact_at(int dir_fd, const char *path, const char *value);

/*
 * Replaces files so that after a power cut each has the old content or the new: temporary files,
 * fdatasync of each, renames, one fsync of the directory. A directory of that name is set aside.
 */
typedef struct FileContent {
	const char *name, *content;
	size_t size;
} FileContent;
int file_replace_all_at(int dir_fd, const FileContent *files, size_t n, mode_t mode);
int file_replace_at(int dir_fd, const char *name, const char *content, size_t size, mode_t mode);
/*
 * The same without the fsync of the directory, for one whose old content is as good until then.
 */
int file_put_at(int dir_fd, const char *name, const char *content, size_t size, mode_t mode);
int file_sync_dir(int dir_fd);
/* Whether a file of this name and content could be written now. Leaves nothing, syncs nothing. */
int file_probe_at(int dir_fd, const char *name, const char *content);
#define FILE_PROBE_SUFFIX ".check"

/* unlink + fsync of the directory. -ENOENT is passed on. */
int file_remove_at(int dir_fd, const char *name);

/* Opens a directory below dir_fd, creating its components (0755) when `create`. */
int dir_open_at(int dir_fd, const char *path, bool create, int *ret_fd);

/*
 * The same, created if need be, of a directory that is its owner's alone: 0700. If an older version
 * left it open to others, its files become 0600. What cannot be changed, as on a read-only disk,
 * stays as it is.
 */
int dir_open_private(const char *path, int *ret_fd);
#define FILE_MODE_PRIVATE 0600

/*
 * Keeps other processes that call this from having the directory, for as long as dir_fd is open:
 * until the process ends, however it ends. -EWOULDBLOCK: another process has it.
 */
int dir_lock(int dir_fd);

/*
 * Removes what a power cut left of file_replace_at(): entries that begin with a dot and end with
 * `suffix`. Only for the process that has locked the directory: others may be writing these files.
 */
int dir_sweep(int dir_fd, const char *suffix);
#define FILE_TEMPORARY_SUFFIX ".new"

/* Names of regular entries with this suffix, sorted by byte value, without dotfiles. */
int dir_list(int dir_fd, const char *suffix, char ***ret);
/* The same of a directory below this one. */
int dir_list_at(int dir_fd, const char *path, const char *suffix, char ***ret);
