/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig/temp-dir.h"
#include "util/text.h"
#include "worker/read-only.h"

static int refused(int fd)
{
	return fd < 0 && errno == EPERM ? 0 : 1;
}

/* In a process that is read-only from now on: the number of the first thing that is wrong. */
static int try_all(const char *file)
{
	static const int writes[] = { O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC,
				      O_RDONLY | O_APPEND };
	struct open_how how = { .flags = O_WRONLY };

	if (become_read_only() < 0)
		return 1;
	for (size_t i = 0; i < ELEMENTS(writes); i++)
		if (refused(openat(AT_FDCWD, file, writes[i], 0600)))
			return 10 + (int)i;
	if (refused(openat(AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0600)))
		return 2;
	if (refused((int)syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof(how))))
		return 3;
#ifdef SYS_open
	if (refused((int)syscall(SYS_open, file, O_RDWR, 0)))
		return 4;
	if (refused((int)syscall(SYS_creat, file, 0600)))
		return 5;
	if (syscall(SYS_open, file, O_RDONLY, 0) < 0)
		return 6;
#endif
	if (open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) < 0)
		return 7;
	if (open("/", O_RDONLY | O_DIRECTORY | O_PATH) < 0)
		return 8;
	/* What is open already stays as it was: the answer is written there. */
	return write(STDOUT_FILENO, "", 0) < 0 ? 9 : 0;
}

/* promise C8 */
WITH_DIR(nothing_is_opened_for_writing)
{
	const TempDir *dir = *state;
	_cleanup_free_ char *file = strf("%s/x", dir->path);
	int status = 0, fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	pid_t pid;

	assert_true(fd >= 0);
	close(fd);
	pid = fork();
	if (pid == 0)
		_exit(try_all(file));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
