/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker that misbehaves, for test-worker. The way it does is the value of --sysfs, its first
 * argument; the function to move is the one behind "--".
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bad-answers.h"

static void answer(const char *bdf)
{
	printf("{\"schema\":\"org.gpupass1.worker/1\",\"verb\":\"move\",\"bdf\":\"%s\","
	       "\"error\":0,\"phase\":\"read\",\"changed\":true,\"driver\":\"vfio-pci\"}\n",
	       bdf);
	fflush(stdout);
}

static void wait_milliseconds(long milliseconds)
{
	struct timespec left = {
		.tv_sec = milliseconds / 1000,
		.tv_nsec = milliseconds % 1000 * 1000000,
	};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* What a worker shall start with; otherwise the number of what is wrong. */
static int untidy(void)
{
	struct stat in, null;
	struct sigaction action;
	sigset_t blocked;

	if (environ && environ[0])
		return 11;
	if (fstat(STDIN_FILENO, &in) < 0 || stat("/dev/null", &null) < 0 ||
	    in.st_rdev != null.st_rdev)
		return 12;
	for (int fd = 3; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 13;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	if (sigismember(&blocked, SIGUSR1))
		return 14;
	if (sigaction(SIGUSR2, NULL, &action) < 0 || action.sa_handler != SIG_DFL)
		return 15;
	if (getpgrp() != getpid())
		return 16;
	return 0;
}

int main(int argc, char **argv)
{
	const char *said = argc > 1 && strncmp(argv[1], "--sysfs=", 8) == 0 ? argv[1] + 8 : "";
	char mode[64];
	const char *bdf = argc > 3 ? argv[argc - 3] : "";

	/* What follows says whose it is. */
	snprintf(mode, sizeof(mode), "%.*s", (int)strcspn(said, "@"), said);
	if (strncmp(mode, "slow-", 5) == 0) {
		wait_milliseconds(atol(mode + 5));
		answer(bdf);
	} else if (strncmp(mode, "silent-", 7) == 0) { /* stdout closed, and still there */
		answer(bdf);
		close(STDOUT_FILENO);
		wait_milliseconds(atol(mode + 7));
		_exit(0);
	} else if (strcmp(mode, "crash-late") == 0) {
		answer(bdf);
		raise(SIGKILL);
	} else if (strcmp(mode, "trailing") == 0) {
		answer(bdf);
		answer(bdf);
	} else if (strcmp(mode, "other-function") == 0) {
		answer("0000:99:00.0");
	} else if (strcmp(mode, "tidy") == 0) {
		int wrong = untidy();

		if (wrong)
			return wrong;
		answer(bdf);
	} else {
		(void)bad_answer(mode, argc > 4 ? argv[4] : "");
	}
	return 0; /* any other mode: no answer at all */
}
