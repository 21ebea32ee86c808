/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of a pointer and a count. */
#pragma once

#include "util/xalloc.h"

/* Appends an item, zeroed, to a list of `n`, and is its place. */
#define GROW(items, n)                                                                             \
	({                                                                                         \
		(items) = xreallocarray((items), (n) + 1, sizeof(*(items)));                       \
		memset(&(items)[(n)], 0, sizeof(*(items)));                                        \
		&(items)[(n)++];                                                                   \
	})
