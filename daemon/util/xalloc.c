/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/xalloc.h"

#include <sys/uio.h>

static _Noreturn void end(const char *why)
{
	struct iovec line[] = {
		{ program_invocation_short_name, strlen(program_invocation_short_name) },
		{ (void *)": ", 2 },
		{ (void *)why, strlen(why) },
		{ (void *)"\n", 1 },
	};

	if (writev(STDERR_FILENO, line, sizeof(line) / sizeof(line[0])) < 0)
		_exit(EXIT_NO_MEMORY);
	_exit(EXIT_NO_MEMORY);
}

void no_memory(void)
{
	end("no memory is left, so this process ends");
}

void impossible(const char *what)
{
	end(what);
}

static void *got(void *p)
{
	if (!p)
		no_memory();
	return p;
}

void *xmalloc(size_t size)
{
	return got(malloc(size > 0 ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return got(n > 0 && size > 0 ? calloc(n, size) : calloc(1, 1));
}

void *xrealloc(void *old, size_t size)
{
	return got(realloc(old, size > 0 ? size : 1));
}

void *xreallocarray(void *old, size_t n, size_t size)
{
	return got(n > 0 && size > 0 ? reallocarray(old, n, size) : realloc(old, 1));
}

char *xstrdup(const char *s)
{
	return s ? got(strdup(s)) : NULL;
}

char *xstrndup(const char *s, size_t size)
{
	return got(strndup(s, size));
}

void *xmemdup(const void *from, size_t size)
{
	return size > 0 ? memcpy(xmalloc(size), from, size) : NULL;
}

FILE *xmemstream(char **ret, size_t *ret_size)
{
	return got(open_memstream(ret, ret_size));
}

void xmemstream_end(FILE **f)
{
	FILE *stream = *f;
	bool failed = ferror(stream) != 0;

	*f = NULL;
	if (fclose(stream) != 0 || failed)
		no_memory();
}
