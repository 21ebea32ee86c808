/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory for one test, removed with all that is in it. */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "util/file.h"
#include "util/text.h"

typedef struct TempDir {
	char path[64];
	int fd;
} TempDir;

static inline _unused_ TempDir *temp_dir_new(void)
{
	TempDir *dir = calloc(1, sizeof(*dir));

	assert_non_null(dir);
	strcpy(dir->path, "/tmp/gpupass-test-XXXXXX");
	assert_non_null(mkdtemp(dir->path));
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir->fd >= 0);
	return dir;
}

static inline _unused_ int temp_dir_remove_one(const char *path, const struct stat *st, int type,
					       struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	return type == FTW_DP ? rmdir(path) : unlink(path);
}

static inline _unused_ void temp_dir_free(TempDir *dir)
{
	close(dir->fd);
	nftw(dir->path, temp_dir_remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(dir);
}

static inline _unused_ int temp_dir_setup(void **state)
{
	*state = temp_dir_new();
	return 0;
}

static inline _unused_ int temp_dir_teardown(void **state)
{
	temp_dir_free(*state);
	return 0;
}

/* The test has it as `dir`. */
#define WITH_DIR(test)                                                                             \
	static void test##_in(const TempDir *dir);                                                 \
	TEST_WITH(test, temp_dir_setup, temp_dir_teardown)                                         \
	{                                                                                          \
		test##_in(*state);                                                                 \
	}                                                                                          \
	static void test##_in(const TempDir *dir)

/* Puts a file there, in a directory made for it where the name has one. */
static inline _unused_ void temp_dir_write_bytes(const TempDir *dir, const char *name,
						 const char *content, size_t size)
{
	const char *slash = strrchr(name, '/');
	int fd;

	if (slash) {
		_cleanup_free_ char *parent = strndup(name, (size_t)(slash - name));
		_cleanup_close_ int parent_fd = -1;

		assert_int_equal(dir_open_at(dir->fd, parent, true, &parent_fd), 0);
	}
	fd = openat(dir->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, size), size);
	close(fd);
}

static inline _unused_ void temp_dir_write(const TempDir *dir, const char *name,
					   const char *content)
{
	temp_dir_write_bytes(dir, name, content, strlen(content));
}

/* The file's text; NULL when there is none. */
static inline _unused_ char *temp_dir_read(const TempDir *dir, const char *name)
{
	char *content = NULL;

	return file_read_at(dir->fd, name, 1024 * 1024, &content, NULL) < 0 ? NULL : content;
}

/* The file has this text; NULL: there is no such file. */
static inline _unused_ void temp_dir_expect(const TempDir *dir, const char *name, const char *text)
{
	_cleanup_free_ char *content = temp_dir_read(dir, name);

	if (!str_equal(content, text))
		fail_msg("%s: %s", name, content ? content : "is not there");
}

/* Files of this process cannot grow beyond `bytes`: what a full disk is to a writer. */
static inline _unused_ void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
