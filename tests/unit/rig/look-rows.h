/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of tests that lay files into a tree, look at it, and expect something of what was seen. */
#pragma once

#include <sys/stat.h>

#include "rig/expect-json.h"
#include "rig/sysfs-tree.h"
#include "util/text.h"

typedef struct LookRow {
	const char *what;
	/*
	 * path, text; "PATH +x": a program; "PATH -> TARGET", "": a link; PATH, NULL: what is there
	 * is removed
	 */
	const char *files[48];
	const char *wanted;
} LookRow;

static inline void tree_lay(SysfsTree *tree, const char *path, const char *text)
{
	const char *arrow = strstr(path, " -> "), *mode = strstr(path, " +x");
	const char *end = arrow ? arrow : mode ? mode : path + strlen(path);
	_cleanup_free_ char *name = strndup(path, (size_t)(end - path));
	_cleanup_free_ char *full = strf("%s/%s", tree->path, name);

	if (arrow)
		tree_link(tree, name, arrow + strlen(" -> "));
	else if (text)
		tree_write(tree, name, text);
	else
		tree_remove(tree, name);
	if (!arrow && text)
		assert_int_equal(chmod(full, mode ? 0755 : 0644), 0);
}

static inline void look_rows(const LookRow *rows, size_t n, SysfsTree *(*make)(void),
			     json_t *(*look)(SysfsTree *tree))
{
	for (const LookRow *row = rows; row < rows + n; row++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = make();

		for (size_t k = 0; k + 1 < ELEMENTS(row->files) && row->files[k]; k += 2)
			tree_lay(tree, row->files[k], row->files[k + 1]);
		expect_json(row->what, look(tree), row->wanted);
	}
}
