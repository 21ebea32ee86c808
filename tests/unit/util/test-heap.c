/* SPDX-License-Identifier: GPL-2.0-or-later */
#define OWN_MAIN
#include "rig/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/heap.h"

#define BLOCK 1024
#define BLOCKS (16 * 1024) /* 16 MiB */

/* A sanitizer has a heap of its own. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) ||                           \
	__has_feature(thread_sanitizer)
#define GLIBCS_HEAP 0
#else
#define GLIBCS_HEAP 1
#endif

/* Private memory of this process that is no file's, in KiB. */
static size_t resident_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	size_t kib = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %zu", &kib) == 1)
			break;
	fclose(file);
	assert_true(kib > 0);
	return kib;
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

int main(void)
{
	heap_keep_little();
	return tests_run();
}
