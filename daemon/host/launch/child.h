/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child processes side by side, under one deadline, whose output is read up to a bound. Beside them
 * may be processes that somebody else started for us, of which there is only the output.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpupass/cleanup.h"

typedef struct Child {
	pid_t pid;    /* 0: not started, or not ours */
	bool adopted; /* not ours: it ends with its output, and how is not known */
	bool running; /* not reaped yet */
	int signal;   /* that ended it; 0: none */
	int status;   /* its exit status when no signal ended it; -1: not known */
	int error;    /* while reading: -EFBIG when it wrote more than the bound, -ENOMEM */
	char *output; /* NUL-terminated; NULL when there is none */
	size_t size;
	size_t capacity;
	int fd; /* its stdout; -1 once it has ended */
} Child;

typedef struct Children {
	Child *items;
	size_t n_items;
	size_t output_max;
	struct pollfd *polls;
} Children;

int children_new(size_t n, size_t output_max, Children **ret);

/* argv ends with NULL; its first entry is a path. Started children are waited for together. */
int children_start(Children *children, size_t index, char *const *argv);

/* A pipe for such a process: our end does not block, the other is its stdout. */
int children_pipe(int *ret_read_fd, int *ret_write_fd);

/* Takes the end of the pipe. The other end must be open nowhere but where the process is. */
void children_adopt(Children *children, size_t index, int read_fd);

static inline bool child_started(const Child *child)
{
	return child->pid != 0 || child->adopted;
}

/* Returns when all have ended, or when the deadline (CLOCK_MONOTONIC, from now) has passed. */
void children_wait(Children *children, uint64_t timeout_usec);

/* One child, started and waited for: all three of the above. *ret: owned by the caller. */
int children_run_one(char *const *argv, size_t output_max, uint64_t timeout_usec, Children **ret);

/* What still runs is left alone: a detached thread reaps each child of ours when it ends. */
Children *children_free(Children *children);
DEFINE_CLEANUP(Children, children_free)

/* A child of this process that has not ended. */
bool child_runs(pid_t pid);
