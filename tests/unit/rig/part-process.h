/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part as a process, with the test at the other end of its connection. */
#pragma once

#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpupass/cleanup.h"

typedef struct PartProcess {
	pid_t pid;
	int fd; /* ours */
} PartProcess;

/* With bytes that are on their way before it begins; gone: nobody waits for an answer. */
static inline _unused_ PartProcess part_start_with(char *const argv[], const void *bytes,
						   size_t size, bool gone)
{
	posix_spawn_file_actions_t actions;
	PartProcess part = { 0 };
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(send(fds[0], bytes, size, 0), size);
	part.fd = fds[0];
	if (gone) {
		close(fds[0]);
		part.fd = -1;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	assert_int_equal(posix_spawn(&part.pid, argv[0], &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	return part;
}

/* One that waits for a request. */
static inline _unused_ PartProcess part_start(char *const argv[])
{
	return part_start_with(argv, "", 0, false);
}

/* Up to a line that ends so; what it has said so far. */
static inline _unused_ void part_read_up_to(const PartProcess *part, const char *last, char *output,
					    size_t size)
{
	size_t n = 0;

	memset(output, 0, size);
	while (!strstr(output, last) && n < size - 1) {
		ssize_t got = read(part->fd, output + n, size - 1 - n);

		assert_true(got > 0);
		n += (size_t)got;
	}
}

/* Its exit status, -1 where a signal ended it, and the rest of what it says, which it ends with. */
static inline _unused_ int part_end(PartProcess *part, char *output, size_t size)
{
	int status = 0;

	memset(output, 0, size);
	for (ssize_t n; size > 1 && (n = read(part->fd, output, size - 1)) > 0; size -= (size_t)n)
		output += n;
	close(part->fd);
	assert_int_equal(waitpid(part->pid, &status, 0), part->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
