/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/heap.h"

#include <malloc.h>

#include "util/xalloc.h"

/*
 * Allocations of this size and more go back to the system when freed. Otherwise glibc keeps as much
 * as the largest message so far: after it has freed one, it takes the next from its heap.
 */
#define KEPT_BYTES (4 * 1024 * 1024)

void heap_keep_little(void)
{
	mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	/*
	 * A job's thread lives for a second, and with a heap of its own each of up to eight a
	 * processor would keep what the largest of its domains' XML took.
	 */
	mallopt(M_ARENA_MAX, 1);
}

void heap_reserve(size_t bytes)
{
	char *all;

	/* What is freed stays at the top of the heap, and nothing is taken from elsewhere. */
	mallopt(M_TRIM_THRESHOLD, -1);
	mallopt(M_MMAP_MAX, 0);
	all = xmalloc(bytes);
	memset(all, 1, bytes);
	/* Or the compiler leaves out what nobody reads. */
	__asm__ volatile("" : : "r"(all) : "memory");
	free(all);
}

void heap_give_back(void)
{
	malloc_trim(0);
}
