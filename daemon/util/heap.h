/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much memory a program keeps that it has freed. */
#pragma once

#include <stddef.h>

/* At the start, before any thread: one heap for all threads, and large blocks are none of it. */
void heap_keep_little(void);
/*
 * Takes so much memory now, for what is allocated from here on: no_memory() comes before the work,
 * and not in its middle. For a process of one thread: others would have heaps of their own.
 */
void heap_reserve(size_t bytes);
/*
 * Gives the system what is free in the middle of the heap. Takes less than a millisecond, and the
 * next allocations some more; so for times of rest.
 */
void heap_give_back(void);
