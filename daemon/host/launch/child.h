/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child processes in parallel, under one deadline, whose output is read up to a limit. The list may
 * also have processes that systemd started for us, of which we have only the connection.
 */
#pragma once

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpupass/cleanup.h"
#include "host/launch/ready.h"

/* What a part was asked, and over which connection. */
typedef struct Asked {
	const char *part;
	char *request; /* owned */
	size_t size;
	ReadyPart connection; /* its file is the child's */
	bool was_ready;	      /* it was started before the request */
} Asked;

typedef struct Child {
	pid_t pid;    /* 0: not started, or not our child */
	bool adopted; /* not our child: ends with its output; how it ended is unknown */
	bool begun;   /* adopted, and it has written something */
	bool running; /* not reaped yet, nor has it said all */
	bool whole;   /* adopted: it has said all, whether or not it has ended */
	int signal;   /* the signal that ended it; 0: none */
	int status;   /* its exit status when no signal ended it; -1: not known */
	int error;    /* while reading: -EFBIG when it wrote more than the limit */
	char *output; /* NUL-terminated; NULL when there is none */
	size_t size;
	size_t capacity;
	int fd; /* its stdout; -1 once it has ended */
	/*
	 * Adopted: the line after which it has said all, and waits for another request. "": its
	 * first. NULL: only the end of its output says so.
	 */
	const char *last;
	Asked asked;
} Child;

typedef struct Children {
	Child *items;
	size_t n_items;
	size_t output_max;
	struct pollfd *polls;
} Children;

Children *children_new(size_t n, size_t output_max);

/* argv ends with NULL; its first entry is a path. Started children are waited for together. */
int children_start(Children *children, size_t index, char *const *argv);

/*
 * The same with a function of this program, whose result is the exit status: for programs of one
 * thread. It does not exec, which costs ten times what a fork does. stdio's buffers are the
 * caller's, so what the function says it writes to STDOUT_FILENO.
 */
int children_fork(Children *children, size_t index, int (*work)(const void *data),
		  const void *data);

/* Takes our end of the connection, which must not block. It ends when nobody has the other end. */
void children_adopt(Children *children, size_t index, int read_fd);

/*
 * Returns when all adopted ones have ended or begun, or when the deadline has passed. One that
 * begins says so by an empty line, which is not part of its output.
 */
void children_wait_begun(Children *children, uint64_t timeout_usec);

/* Returns when all have ended, or when the deadline (CLOCK_MONOTONIC, from now) has passed. */
void children_wait(Children *children, uint64_t timeout_usec);

/*
 * Leaves processes alone that still run: a detached thread reaps each child of ours when it ends.
 */
Children *children_free(Children *children);
DEFINE_CLEANUP(Children, children_free)

/* Whether this is a child of this process that has not ended. */
bool child_runs(pid_t pid);
