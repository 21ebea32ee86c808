// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What waits for the disk, counted: preloaded into gpupassd. The file that COUNT_SYNCS names holds
 * an int, which counts up with each fsync, fdatasync and msync, and with whatever else would make a
 * write wait, or all of them: the daemon does not use that, so that it counts a hundred.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FORBIDDEN 100

static atomic_int *count;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("COUNT_SYNCS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map = fd >= 0 ? mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			    : MAP_FAILED;

	if (map != MAP_FAILED)
		count = map;
	if (fd >= 0)
		close(fd);
}

static void add(int n)
{
	if (count)
		atomic_fetch_add(count, n);
}

int fsync(int fd)
{
	add(1);
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	add(1);
	return (int)syscall(SYS_fdatasync, fd);
}

int msync(void *at, size_t size, int flags)
{
	add(1);
	return (int)syscall(SYS_msync, at, size, flags);
}

void sync(void)
{
	add(FORBIDDEN);
	syscall(SYS_sync);
}

int syncfs(int fd)
{
	add(FORBIDDEN);
	return (int)syscall(SYS_syncfs, fd);
}

ssize_t pwritev2(int fd, const struct iovec *parts, int n, off_t offset, int flags)
{
	add(flags & (RWF_DSYNC | RWF_SYNC) ? FORBIDDEN : 0);
	return syscall(SYS_pwritev2, fd, parts, n, (long)offset, 0L, flags);
}

static int open_counted(int dir_fd, const char *path, int flags, mode_t mode)
{
	add((flags & O_ACCMODE) != O_RDONLY && (flags & O_DSYNC) ? FORBIDDEN : 0);
	return (int)syscall(SYS_openat, dir_fd, path, flags | O_LARGEFILE, mode);
}

int openat64(int dir_fd, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_counted(dir_fd, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_counted(AT_FDCWD, path, flags, mode);
}
