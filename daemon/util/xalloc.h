/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory, or the end of the process, as GLib does it. Linux gives memory that it does not have and
 * then kills, so that a failed allocation is rare, and no code behind it was ever seen at work. The
 * daemon is started again and takes its jobs back by their journal; gpupass-hook's end is a refusal
 * of the start. The mover must not end between two writes, and has its memory before the first one:
 * heap_reserve().
 *
 * All results are owned by the caller and never NULL.
 */
#pragma once

#include "gpupass/cleanup.h"

/* EX_OSERR of sysexits.h. Units start again what ended with it. */
#define EXIT_NO_MEMORY 71

/*
 * Says so with one write(2), without an allocation, and ends the process without its exit handlers.
 */
_Noreturn void no_memory(void);
/* The same for what no input may lead to. */
_Noreturn void impossible(const char *what);

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *old, size_t size);
void *xreallocarray(void *old, size_t n, size_t size);
/* NULL for NULL. */
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t size);
/* NULL for nothing: `from` may be NULL then. */
void *xmemdup(const void *from, size_t size);

/* open_memstream(). The text is there after xmemstream_end(), which leaves *f NULL. */
FILE *xmemstream(char **ret, size_t *ret_size);
void xmemstream_end(FILE **f);
