/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "libc-faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

#include "gpupass/cleanup.h"

static struct {
	bool armed, all_later;
	LibcFault kind;
	unsigned nth, count;
} plan;

static bool fails(LibcFault kind)
{
	if (!plan.armed || plan.kind != kind)
		return false;
	plan.count++;
	return plan.nth > 0 &&
	       (plan.count == plan.nth || (plan.all_later && plan.count > plan.nth));
}

#define FAIL(kind, error, value)                                                                   \
	do {                                                                                       \
		if (fails(kind)) {                                                                 \
			errno = error;                                                             \
			return value;                                                              \
		}                                                                                  \
	} while (0)

int __real_open64(const char *path, int flags, ...);
int __real_openat64(int dir_fd, const char *path, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t size);
int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __real_ftruncate64(int fd, off_t size);

int __wrap_open64(const char *path, int flags, ...);
int __wrap_openat64(int dir_fd, const char *path, int flags, ...);
ssize_t __wrap_write(int fd, const void *data, size_t size);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_ftruncate64(int fd, off_t size);

int __wrap_open64(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	FAIL(LIBC_OPEN, EMFILE, -1);
	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return __real_open64(path, flags, mode);
}

int __wrap_openat64(int dir_fd, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	FAIL(LIBC_OPEN, EMFILE, -1);
	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return __real_openat64(dir_fd, path, flags, mode);
}

/* A full disk takes a part of it first. */
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	if (fails(LIBC_WRITE)) {
		(void)!__real_write(fd, data, size / 2);
		errno = ENOSPC;
		return -1;
	}
	return __real_write(fd, data, size);
}

/* Nobody pulls the plug here, so that nothing need be waited for. */
int __wrap_fsync(_unused_ int fd)
{
	FAIL(LIBC_SYNC, EIO, -1);
	return 0;
}

int __wrap_fdatasync(_unused_ int fd)
{
	FAIL(LIBC_SYNC, EIO, -1);
	return 0;
}

int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	FAIL(LIBC_RENAME, EIO, -1);
	return __real_renameat(from_fd, from, to_fd, to);
}

int __wrap_ftruncate64(int fd, off_t size)
{
	FAIL(LIBC_TRUNCATE, EIO, -1);
	return __real_ftruncate64(fd, size);
}

void libc_arm(LibcFault kind, unsigned nth, bool and_all_later)
{
	plan.kind = kind;
	plan.nth = nth;
	plan.all_later = and_all_later;
	plan.count = 0;
	plan.armed = true;
}

unsigned libc_disarm(void)
{
	plan.armed = false;
	return plan.count;
}

const char *libc_fault_name(LibcFault kind)
{
	static const char *const names[LIBC_FAULT_MAX_] = {
		[LIBC_OPEN] = "open",	  [LIBC_WRITE] = "write",	[LIBC_SYNC] = "sync",
		[LIBC_RENAME] = "rename", [LIBC_TRUNCATE] = "truncate",
	};

	return names[kind];
}
