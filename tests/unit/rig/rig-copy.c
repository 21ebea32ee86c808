/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig-copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "util/file.h"
#include "util/text.h"

#define N_DIRECTORIES 6

static void directories_of(const Rig *rig, int ret[N_DIRECTORIES])
{
	ret[0] = rig->store.records.dir_fd;
	ret[1] = rig->receipts.dir_fd;
	ret[2] = rig->journal.dir_fd;
	ret[3] = rig->quarantine.dir_fd;
	ret[4] = rig->tenants.dir_fd;
	ret[5] = rig->kept.dir_fd;
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

/* ---- what lasts ---- */

/* FNV-1a. */
static void hash(uint64_t *into, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		*into = (*into ^ bytes[i]) * 0x100000001b3;
}

static void hash_text(uint64_t *into, const char *text)
{
	hash(into, text ? text : "\xff", text ? strlen(text) + 1 : 1);
}

/* In whatever order they are listed, so that the files' hashes are added up. */
static uint64_t hash_directory(int dir_fd)
{
	_cleanup_closedir_ DIR *dir = fdopendir(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY));
	struct dirent *entry;
	uint64_t sum = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *content = NULL;
		uint64_t one = 0xcbf29ce484222325;
		size_t size = 0;

		if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
			continue;
		assert_int_equal(file_read_at(dir_fd, entry->d_name, 1024 * 1024, &content, &size),
				 0);
		hash_text(&one, entry->d_name);
		hash(&one, content, size);
		sum += one;
	}
	return sum;
}

static void hash_machine(uint64_t *into, const FakeHost *fake)
{
	size_t n = fake->snapshot->n_functions;

	for (size_t i = 0; i < n; i++) {
		hash_text(into, fake->snapshot->functions[i]->driver);
		hash_text(into, fake->overrides[i]);
	}
	hash(into, fake->stuck, n * sizeof(*fake->stuck));
	hash(into, fake->gone, n * sizeof(*fake->gone));
	hash(into, fake->wake, n * sizeof(*fake->wake));
	hash(into, fake->persistence, n * sizeof(*fake->persistence));
	hash(into, fake->kept, n * sizeof(*fake->kept));
	hash(into, fake->used, n * sizeof(*fake->used));
	for (size_t i = 0; i < fake->n_domains; i++) {
		hash_text(into, fake->domains[i].uuid);
		hash_text(into, fake->domains[i].name);
		hash_text(into, fake->domains[i].config_xml);
		hash_text(into, fake->domains[i].live_xml);
	}
	/* That a reset was made leaves nothing else; and a fault comes at its call. */
	for (char *const *line = fake->log; line && *line; line++)
		hash_text(into, *line);
	for (size_t i = 0; i < fake->n_faults; i++)
		hash(into, &fake->calls[fake->faults[i].op], sizeof(unsigned));
}

uint64_t rig_what_lasts(const Rig *rig)
{
	uint64_t all = 0xcbf29ce484222325;
	int directories[N_DIRECTORIES];

	directories_of(rig, directories);
	for (int i = 0; i < N_DIRECTORIES; i++) {
		uint64_t one = hash_directory(directories[i]);

		hash(&all, &one, sizeof(one));
	}
	hash_machine(&all, &rig->fake);
	return all;
}

/* ---- copies ---- */

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

void rig_copy_remove(const RigCopy *copy)
{
	rig_remove_directory(copy->directory);
}
