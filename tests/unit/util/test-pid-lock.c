/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig/temp-dir.h"
#include "util/pid-lock.h"
#include "util/text.h"

/* A process that has the lock, until it is killed; 0 if it did not get it. */
static pid_t hold(const char *directory, const char *name)
{
	int fds[2], fd = -1;
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		if (pid_lock_take(directory, name, &fd) < 0 || write(fds[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(fds[1]);
	if (read(fds[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(fds[0]);
	return pid;
}

WITH_DIR(the_holder_is_known_until_it_ends)
{
	_cleanup_free_ char *directory = strf("%s/a/b", dir->path);
	pid_t pid;
	int fd = -1;

	assert_int_equal(pid_lock_holder(directory, "x"), 0);
	/* To ask takes nothing, or who only wants to know would keep a mover from its work. */
	assert_int_equal(pid_lock_take(directory, "x", &fd), 0);
	close(fd);
	assert_int_equal(pid_lock_holder(directory, "x"), 0);
	pid = hold(directory, "x");
	assert_true(pid > 0);
	assert_int_equal(pid_lock_holder(directory, "x"), pid);
	assert_int_equal(pid_lock_holder(directory, "y"), 0);
	assert_int_equal(pid_lock_take(directory, "x", &fd), -EBUSY);
	assert_int_equal(hold(directory, "x"), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(pid_lock_holder(directory, "x"), 0);
	assert_int_equal(pid_lock_take(directory, "x", &fd), 0);
	close(fd);
}

/* promise C11 */
WITH_DIR(nobody_else_can_open_the_file)
{
	_cleanup_free_ char *path = strf("%s/x", dir->path);
	struct stat st;
	int fd = -1;

	assert_int_equal(pid_lock_take(dir->path, "x", &fd), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 077, 0);
	close(fd);
}

WITH_DIR(a_link_in_its_place_is_not_followed)
{
	_cleanup_free_ char *path = strf("%s/x", dir->path);
	int fd = -1;

	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(pid_lock_take(dir->path, "x", &fd), -ELOOP);
	assert_int_equal(pid_lock_holder(dir->path, "x"), 0);
}
