/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Child processes side by side, under one deadline, whose output is read up to a bound. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpupass/cleanup.h"

typedef struct Child {
	pid_t pid;    /* 0: not started */
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

/* Returns when all have ended, or when the deadline (CLOCK_MONOTONIC, from now) has passed. */
void children_wait(Children *children, uint64_t timeout_usec);

/* Children that still run are left alone: a detached thread reaps each when it ends. */
Children *children_free(Children *children);
DEFINE_CLEANUP(Children, children_free)

/* A child of this process that has not ended. */
bool child_runs(pid_t pid);
