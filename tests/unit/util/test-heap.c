/* SPDX-License-Identifier: GPL-2.0-or-later */
#define OWN_MAIN
#include "rig/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "gpupass/cleanup.h"
#include "rig/little-memory.h"
#include "util/file.h"
#include "util/heap.h"

#define BLOCK 1024
#define BLOCKS (16 * 1024) /* 16 MiB */

/* Private memory of this process that is no file's, in KiB. */
static size_t resident_kib(void)
{
	_cleanup_free_ char *text = NULL;
	const char *line;

	assert_int_equal(file_read_at(AT_FDCWD, "/proc/self/status", 1 << 16, &text, NULL), 0);
	line = strstr(text, "RssAnon:");
	assert_non_null(line);
	return strtoul(line + strlen("RssAnon:"), NULL, 10);
}

static char *block(void)
{
	char *made = malloc(BLOCK);

	assert_non_null(made);
	memset(made, 1, BLOCK);
	return made;
}

/* Takes 16 MiB, and frees all of it but the last block, which keeps the heap from shrinking. */
static char *take_and_free(char **blocks)
{
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = block();
	for (size_t i = 0; i < BLOCKS - 1; i++)
		free(blocks[i]);
	return blocks[BLOCKS - 1];
}

TEST(what_is_free_below_what_stays_is_given_back)
{
	char **blocks;
	size_t before, after;
	char *last;

	if (!GLIBCS_HEAP)
		skip();
	blocks = calloc(BLOCKS, sizeof(char *));
	assert_non_null(blocks);
	last = take_and_free(blocks);
	before = resident_kib();
	heap_give_back();
	after = resident_kib();
	free(last);
	free(blocks);
	assert_true(before > 16 * 1024);
	assert_true(after < before - 12 * 1024);
}

/* More than malloc() has left by itself, also as one block that it would get elsewhere. */
static bool reserve_and_use(_unused_ void *userdata)
{
	const size_t reserved = 1024 * 1024, one = 512 * 1024;
	char *kept, *large;

	heap_reserve(reserved);
	if (little_memory(one + LITTLE_BLOCK) < reserved)
		return false;
	large = malloc(one);
	free(large);
	/* It is still there after it was freed. */
	kept = large ? malloc(one) : NULL;
	return kept && !malloc(one);
}

TEST(what_is_reserved_is_there_when_the_system_has_no_more)
{
	if (!GLIBCS_HEAP)
		skip();
	assert_true(little_child(reserve_and_use, NULL));
}

int main(void)
{
	heap_keep_little();
	return tests_run();
}
