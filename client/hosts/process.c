/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hosts/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "gpupass/cleanup.h"

/* The parent kills it at its limit; by itself it ends so much later. */
#define GRACE_SECONDS 5

/* Its whole process group: ssh may wait for ever. */
static void end_group(_unused_ int number)
{
	kill(0, SIGKILL);
}

/* Nothing may outlive the gpupass that somebody has interrupted. */
static int end_with_parent(pid_t parent, uint64_t limit_usec)
{
	struct sigaction action = { .sa_handler = end_group };
	sigset_t none;

	sigemptyset(&none);
	if (setsid() < 0 || sigaction(SIGTERM, &action, NULL) < 0 ||
	    sigaction(SIGALRM, &action, NULL) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		return -errno;
	alarm((unsigned)(limit_usec / 1000000) + GRACE_SECONDS);
	return getppid() == parent ? 0 : -ESRCH;
}

static int set_streams(int err)
{
	_cleanup_close_ int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
	    dup2(err, STDERR_FILENO) < 0)
		return -errno;
	/* Without a terminal ssh would open a window to ask for a password, where it can. */
	return setenv("SSH_ASKPASS_REQUIRE", "never", 1) < 0 ? -errno : 0;
}

/* Both ends are closed in what ssh becomes; reads of the first do not wait. */
static int open_pipe(int *ret_read, int *ret_write)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
		int r = -errno;

		close(ends[0]);
		close(ends[1]);
		return r;
	}
	*ret_read = ends[0];
	*ret_write = ends[1];
	return 0;
}

int process_start(ProcessRun *run, void *userdata, size_t i, uint64_t limit_usec, Process *ret)
{
	_cleanup_close_ int out = -1, out_end = -1, err = -1, err_end = -1;
	pid_t parent = getpid(), pid;
	int r;

	r = open_pipe(&out, &out_end);
	if (r >= 0)
		r = open_pipe(&err, &err_end);
	if (r < 0)
		return r;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		if (end_with_parent(parent, limit_usec) < 0 || set_streams(err_end) < 0)
			_exit(1);
		_exit(run(userdata, i, out_end));
	}
	*ret = (Process){ .pid = pid, .out = TAKE_FD(out), .err = TAKE_FD(err) };
	return 0;
}

void process_kill(pid_t pid)
{
	/* It may not have its own group yet. */
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
}
