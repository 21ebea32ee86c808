/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig-copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "util/file.h"
#include "util/text.h"

#define N_DIRECTORIES 4

static void directories_of(const Rig *rig, int ret[N_DIRECTORIES])
{
	ret[0] = rig->store.dir_fd;
	ret[1] = rig->receipts.dir_fd;
	ret[2] = rig->journal.dir_fd;
	ret[3] = rig->quarantine.dir_fd;
}

static void copy_file(int from, int to, const char *name)
{
	_cleanup_close_ int fd = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	_cleanup_free_ char *content = NULL;
	size_t size = 0;

	assert_true(fd >= 0);
	assert_int_equal(file_read_at(from, name, 1024 * 1024, &content, &size), 0);
	assert_int_equal(write(fd, content, size), (ssize_t)size);
}

/* Also temporary files that a crash left, whose names begin with a dot. */
static void copy_directory(int from, int to)
{
	_cleanup_closedir_ DIR *dir = fdopendir(openat(from, ".", O_RDONLY | O_DIRECTORY));
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
			copy_file(from, to, entry->d_name);
}

static int open_part(const RigCopy *copy, int part)
{
	_cleanup_free_ char *path = strf("%s/%d", copy->directory, part);
	int fd = -1;

	assert_int_equal(dir_open_at(AT_FDCWD, path, true, &fd), 0);
	return fd;
}

void rig_copy_make(const Rig *rig, RigCopy *ret)
{
	int directories[N_DIRECTORIES];

	directories_of(rig, directories);
	rig_make_directory(ret->directory, "copy");
	for (int i = 0; i < N_DIRECTORIES; i++) {
		_cleanup_close_ int fd = open_part(ret, i);

		copy_directory(directories[i], fd);
	}
}

/* The rig's file descriptors keep their numbers, so that whoever has one sees the copy. */
void rig_copy_enter(Rig *rig, const RigCopy *copy)
{
	int directories[N_DIRECTORIES];

	directories_of(rig, directories);
	for (int i = 0; i < N_DIRECTORIES; i++) {
		_cleanup_close_ int fd = open_part(copy, i);

		assert_int_equal(dup3(fd, directories[i], O_CLOEXEC), directories[i]);
	}
}

static int remove_one(const char *path, _unused_ const struct stat *st, int type,
		      _unused_ struct FTW *ftw)
{
	return type == FTW_DP ? rmdir(path) : unlink(path);
}

void rig_copy_remove(const RigCopy *copy)
{
	nftw(copy->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
