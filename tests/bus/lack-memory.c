// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that runs out at the chosen call: preloaded into gpupassd. The file that LACK_MEMORY names
 * holds an int, which the test writes at any time: N lets the N-th allocation from then on return
 * NULL, whoever makes it, the daemon or a library; less than 1 lets all succeed. It counts down
 * there, so that the test can read how many there were.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* What glibc's own names of these are; with dlsym() the first call would need memory itself. */
void *__libc_malloc(size_t size);	      /* NOLINT: the library's name */
void *__libc_calloc(size_t n, size_t size);   /* NOLINT: the library's name */
void *__libc_realloc(void *old, size_t size); /* NOLINT: the library's name */

static atomic_int *left;
static _Thread_local bool exempt;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("LACK_MEMORY");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map = fd >= 0 ? mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			    : MAP_FAILED;

	if (map != MAP_FAILED)
		left = map;
	if (fd >= 0)
		close(fd);
}

static bool is_lacking(void)
{
	if (exempt || !left || atomic_load(left) < 1 || atomic_fetch_sub(left, 1) != 1)
		return false;
	errno = ENOMEM;
	return true;
}

/* strdup() and the like, reallocarray(), open_memstream() and fopen() come to these. */

void *malloc(size_t size)
{
	return is_lacking() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return is_lacking() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return is_lacking() ? NULL : __libc_realloc(old, size);
}

/*
 * libvirt's test driver checks each definition against a schema, which takes three of four
 * allocations. With libvirtd that is another process.
 */

void *xmlRelaxNGParse(void *context);			  /* NOLINT: the library's name */
int xmlRelaxNGValidateDoc(void *context, void *document); /* NOLINT: the library's name */

void *xmlRelaxNGParse(void *context)
{
	void *(*real)(void *) = dlsym(RTLD_NEXT, __func__);
	void *schema;

	exempt = true;
	schema = real(context);
	exempt = false;
	return schema;
}

int xmlRelaxNGValidateDoc(void *context, void *document)
{
	int (*real)(void *, void *) = dlsym(RTLD_NEXT, __func__);
	int r;

	exempt = true;
	r = real(context, document);
	exempt = false;
	return r;
}
