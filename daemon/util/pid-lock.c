/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/pid-lock.h"

#include <fcntl.h>

#include "gpupass/cleanup.h"
#include "util/file.h"

#define LOCK_MODE 0600 /* who can open it could take the lock, and keep it */

int pid_lock_take(const char *directory, const char *name, int *ret_fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	_cleanup_close_ int dir_fd = -1, fd = -1;
	int r = dir_open_at(AT_FDCWD, directory, true, &dir_fd);

	if (r < 0)
		return r;
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, LOCK_MODE);
	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETLK, &lock) < 0)
		return errno == EACCES || errno == EAGAIN ? -EBUSY : -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

pid_t pid_lock_holder(const char *directory, const char *name)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	_cleanup_close_ int dir_fd = -1, fd = -1;

	if (dir_open_at(AT_FDCWD, directory, false, &dir_fd) < 0)
		return 0;
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd < 0 || fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}
