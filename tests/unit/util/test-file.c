/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <sys/stat.h>

#include "rig/temp-dir.h"

WITH_DIR(a_file_is_read_up_to_its_bound_and_not_beyond)
{
	static const struct {
		size_t size, max;
		int result;
	} rows[] = {
		{ 0, 0, 0 },	   { 1, 0, -EFBIG },	  { 10, 10, 0 },
		{ 10, 9, -EFBIG }, { 4096, 4096, 0 },	  { 4097, 4096, -EFBIG },
		{ 4095, 8192, 0 }, { 100000, 100000, 0 }, { 100000, 99999, -EFBIG },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *content = malloc(rows[i].size + 1), *text = NULL;
		size_t size = SIZE_MAX;
		int r;

		memset(content, 'x', rows[i].size);
		temp_dir_write_bytes(dir, "f", content, rows[i].size);
		r = file_read_at(dir->fd, "f", rows[i].max, &text, &size);
		if (r != rows[i].result || (r == 0 && (size != rows[i].size || text[size] != '\0' ||
						       memcmp(text, content, size) != 0)))
			fail_msg("row %zu: %d", i, r);
		if (r < 0) {
			assert_null(text);
			assert_int_equal(size, SIZE_MAX);
		}
	}
}

WITH_DIR(what_cannot_be_read_is_an_error_and_leaves_the_result_alone)
{
	char *text = (char *)1;

	temp_dir_write(dir, "d/f", "");
	assert_int_equal(file_read_at(dir->fd, "missing", 10, &text, NULL), -ENOENT);
	assert_int_equal(file_read_at(dir->fd, "d", 10, &text, NULL), -EISDIR);
	assert_int_equal(file_read_at(dir->fd, "d/f/g", 10, &text, NULL), -ENOTDIR);
	assert_int_equal(file_read_line_at(dir->fd, "missing", &text), -ENOENT);
	assert_int_equal(file_link_name_at(dir->fd, "d", &text), -EINVAL);
	assert_ptr_equal(text, (char *)1);
}

static mode_t mode_of(const TempDir *dir, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

/* promise U15 */
WITH_DIR(a_private_directory_is_its_owners_alone_with_what_was_there)
{
	static const mode_t before[] = { 0755, 0777, 0700, 0750, 02755 };

	temp_dir_write(dir, "p/sub/f", "");
	temp_dir_write(dir, "p/open", "");
	temp_dir_write(dir, "p/.hidden.new", "");
	temp_dir_write(dir, "outside", "");
	assert_int_equal(symlinkat("../outside", dir->fd, "p/link"), 0);
	for (size_t i = 0; i < ELEMENTS(before); i++) {
		_cleanup_free_ char *path = strf("%s/p", dir->path);
		_cleanup_close_ int fd = -1;

		assert_int_equal(fchmodat(dir->fd, "p/open", 0644, 0), 0);
		assert_int_equal(fchmodat(dir->fd, "p/.hidden.new", 0644, 0), 0);
		assert_int_equal(fchmodat(dir->fd, "p", before[i], 0), 0);
		assert_int_equal(dir_open_private(path, &fd), 0);
		assert_int_equal(mode_of(dir, "p"), 0700);
		assert_int_equal(mode_of(dir, "p/open"), 0600);
		assert_int_equal(mode_of(dir, "p/.hidden.new"), 0600);
		assert_int_equal(mode_of(dir, "outside"), 0644);
		assert_int_equal(mode_of(dir, "p/sub/f"), 0644);
	}
}

TEST(a_directory_whose_mode_cannot_be_changed_is_opened)
{
	_cleanup_close_ int fd = -1;

	assert_int_equal(dir_open_private("/proc/self/task", &fd), 0);
	assert_true(fd >= 0);
}

WITH_DIR(a_line_is_read_without_its_newline_and_blanks)
{
	static const struct {
		const char *content, *line;
	} rows[] = {
		{ "vfio-pci\n", "vfio-pci" },
		{ "0x10de", "0x10de" },
		{ " \t a b \n\n", "a b" },
		{ "", "" },
		{ "\n", "" },
	};
	char page[4097];
	char *line;

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		temp_dir_write(dir, "f", rows[i].content);
		line = NULL;
		assert_int_equal(file_read_line_at(dir->fd, "f", &line), 0);
		if (!str_equal(line, rows[i].line))
			fail_msg("row %zu: '%s'", i, line);
		free(line);
	}
	memset(page, 'x', sizeof(page));
	temp_dir_write_bytes(dir, "f", page, 4096);
	assert_int_equal(file_read_line_at(dir->fd, "f", &line), 0);
	assert_int_equal(strlen(line), 4096);
	free(line);
	temp_dir_write_bytes(dir, "f", page, 4097);
	assert_int_equal(file_read_line_at(dir->fd, "f", &line), -EFBIG);
}

WITH_DIR(the_name_of_a_link_is_its_last_component)
{
	static const struct {
		const char *target, *name;
	} rows[] = {
		{ "../../../bus/pci/drivers/vfio-pci", "vfio-pci" },
		{ "33", "33" },
		{ "/a/b", "b" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *name = NULL;

		assert_int_equal(symlinkat(rows[i].target, dir->fd, "l"), 0);
		assert_int_equal(file_link_name_at(dir->fd, "l", &name), 0);
		assert_string_equal(name, rows[i].name);
		unlinkat(dir->fd, "l", 0);
	}
}

WITH_DIR(an_exact_write_has_no_nul_makes_no_file_and_does_not_truncate)
{
	assert_int_equal(file_write_exact_at(dir->fd, "f", "x"), -ENOENT);
	temp_dir_write(dir, "f", "12345");
	assert_int_equal(file_write_exact_at(dir->fd, "f", "ab\n"), 0);
	temp_dir_expect(dir, "f", "ab\n45");
	limit_file_size(2);
	assert_int_equal(file_write_exact_at(dir->fd, "f", "abcd"), -EIO);
	limit_file_size(RLIM_INFINITY);
}

WITH_DIR(a_replaced_file_has_the_content_and_mode_that_were_given)
{
	_cleanup_free_ char *content = NULL;
	mode_t mask = umask(077);
	size_t size = 0;

	temp_dir_write(dir, "f", "a longer text before");
	assert_int_equal(file_replace_at(dir->fd, "f", "new\0x", 5, 0644), 0);
	umask(mask);
	assert_int_equal(mode_of(dir, "f"), 0644);
	assert_int_equal(file_read_at(dir->fd, "f", 99, &content, &size), 0);
	assert_int_equal(size, 5);
	assert_memory_equal(content, "new\0x", 5);
}

WITH_DIR(a_replacement_that_fails_leaves_the_old_file_and_nothing_else)
{
	int r;

	temp_dir_write(dir, "f", "old");
	limit_file_size(2);
	r = file_replace_at(dir->fd, "f", "newer", 5, 0644);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(r, -EFBIG);
	temp_dir_expect(dir, "f", "old");
	temp_dir_expect(dir, ".f.new", NULL);
}

/* Nothing that is in it is lost, of this one and of the next one. */
WITH_DIR(a_directory_in_the_place_of_a_file_is_set_aside)
{
	temp_dir_write(dir, "d/f", "in it");
	assert_int_equal(file_replace_at(dir->fd, "d", "x", 1, 0644), 0);
	temp_dir_expect(dir, "d", "x");
	unlinkat(dir->fd, "d", 0);
	temp_dir_write(dir, "d/f", "more in it");
	assert_int_equal(file_replace_at(dir->fd, "d", "y", 1, 0644), 0);
	temp_dir_expect(dir, "d" FILE_DAMAGED_SUFFIX "/f", "in it");
	temp_dir_expect(dir, "d.2" FILE_DAMAGED_SUFFIX "/f", "more in it");
}

/* Without a sync, and so for every check before a job. */
WITH_DIR(a_probe_leaves_nothing)
{
	_cleanup_strv_ char **names = NULL;

	assert_int_equal(file_probe_at(dir->fd, "f", "text"), 0);
	limit_file_size(2);
	assert_int_equal(file_probe_at(dir->fd, "f", "text"), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(faccessat(dir->fd, ".f" FILE_PROBE_SUFFIX, F_OK, 0), -1);
	assert_int_equal(dir_list(dir->fd, "", &names), 0);
	assert_null(names);
}

/* It overwrites what a crash left, and does not follow a link that a user put there. */
WITH_DIR(a_leftover_temporary_file_does_no_harm_and_a_missing_one_is_told)
{
	temp_dir_write(dir, ".f.new", "a leftover that is longer than the text");
	assert_int_equal(file_replace_at(dir->fd, "f", "new", 3, 0644), 0);
	temp_dir_expect(dir, "f", "new");
	temp_dir_write(dir, "victim", "untouched");
	assert_int_equal(symlinkat("victim", dir->fd, ".f.new"), 0);
	assert_int_equal(file_replace_at(dir->fd, "f", "x", 1, 0644), -ELOOP);
	temp_dir_expect(dir, "victim", "untouched");
	assert_int_equal(file_remove_at(dir->fd, "f"), 0);
	temp_dir_expect(dir, "f", NULL);
	assert_int_equal(file_remove_at(dir->fd, "f"), -ENOENT);
}

WITH_DIR(directories_are_made_only_when_asked_for)
{
	static const struct {
		const char *path;
		bool create;
		int result;
	} rows[] = {
		{ "a/b/c", false, -ENOENT }, { "a/b/c", true, 0 },    { "a/b/c", false, 0 },
		{ "a/b/c", true, 0 },	     { "d/", true, 0 },	      { "e//f/", true, 0 },
		{ "f", false, -ENOTDIR },    { "f", true, -ENOTDIR }, { "f/g", true, -ENOTDIR },
		{ "", false, -ENOENT },	     { "", true, -ENOENT },   { ".", true, 0 },
	};

	temp_dir_write(dir, "f", "");
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		/* On the heap, so that a read past its end is seen. */
		_cleanup_free_ char *path = strdup(rows[i].path);
		_cleanup_close_ int fd = -1;
		int r = dir_open_at(dir->fd, path, rows[i].create, &fd);

		if (r != rows[i].result || (r < 0 && fd != -1))
			fail_msg("row %zu, '%s': %d", i, rows[i].path, r);
	}
}

WITH_DIR(a_list_is_sorted_and_has_only_what_ends_so)
{
	const char *const there[] = { "b.conf",	 "B.conf",	   "10.conf",
				      "9.conf",	 ".hidden.conf",   ".conf",
				      "a.conf~", "a.conf.rpmsave", "aconf" };
	_cleanup_strv_ char **names = NULL, **none = NULL;
	_cleanup_free_ char *joined = NULL;

	assert_int_equal(dir_list(dir->fd, ".conf", &none), 0);
	assert_null(none);
	for (size_t i = 0; i < ELEMENTS(there); i++)
		temp_dir_write(dir, there[i], "");
	assert_int_equal(dir_list(dir->fd, ".conf", &names), 0);
	joined = strv_join(names, " ");
	assert_string_equal(joined, "10.conf 9.conf B.conf b.conf");
}
