/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that gets no more memory, as on a host that has none. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A sanitizer has a heap of its own. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) ||                           \
	__has_feature(thread_sanitizer)
#define GLIBCS_HEAP 0
#else
#define GLIBCS_HEAP 1
#endif

#define LITTLE_BLOCK 4096

/*
 * Takes all that there still is and gives back `bytes` of it, in one piece. Returns how much there
 * was. The limit counts what malloc() gets, and no stack.
 */
static inline size_t little_memory(size_t bytes)
{
	const struct rlimit none = { 0 };
	void **last = NULL, **block;
	size_t all = 0;

	if (setrlimit(RLIMIT_DATA, &none) < 0)
		return 0;
	while ((block = malloc(LITTLE_BLOCK))) {
		*block = last;
		last = block;
		all += LITTLE_BLOCK;
	}
	for (size_t left = bytes; last && left > 0; left -= LITTLE_BLOCK) {
		block = last;
		last = *block;
		free(block);
	}
	return all;
}

/* Whether `work` succeeds in a process of its own. */
static inline bool little_child(bool (*work)(void *userdata), void *userdata)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(!work(userdata));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
