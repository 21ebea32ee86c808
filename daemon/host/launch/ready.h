/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts that systemd has started before there is anything to ask: connections on which nothing was
 * said yet, so that systemd's time for a unit is on nobody's path. Between two requests of what
 * runs, a connection whose part serves more than one is kept here, too. When nothing runs any more,
 * the used ones are closed, so that no part of one job lives to serve a later one.
 */
#pragma once

#include <stdint.h>

#include "gpupass/cleanup.h"

typedef struct ReadyParts ReadyParts;

/* One connection to a part. */
typedef struct ReadyPart {
	int fd;
	unsigned served; /* requests that it has answered */
	uint64_t socket; /* inode of the socket that it was made through */
	uint64_t view;	 /* what it was shown when it started: ready.c; 0: nothing that changes */
} ReadyPart;

/* `root`, `proc`: of view_of_prober(). All are borrowed. */
ReadyParts *ready_parts_new(const char *directory, const char *root, const char *proc);
/* Closes all: what waits at the other end sees that nobody will ask it, and ends. */
ReadyParts *ready_parts_free(ReadyParts *ready);
DEFINE_CLEANUP(ReadyParts, ready_parts_free)

/* Whether this part waits for another request when it has answered one. */
bool ready_parts_stays(const ReadyParts *ready, const char *part);

/*
 * Takes one that is there, from any thread, without waiting. false: there is none that looks alive,
 * was made through the socket that listens now, and sees what is there now.
 */
bool ready_parts_take(ReadyParts *ready, const char *part, ReadyPart *ret);

/* A connection of its own, as good as a ready one but for the time it takes: part_connect(). */
int ready_parts_connect(const ReadyParts *ready, const char *part, bool wait, ReadyPart *ret);

/* From any thread: its request was answered, and it waits for the next one. Takes the connection.
 */
void ready_parts_give_back(ReadyParts *ready, const char *part, ReadyPart *connection);

/*
 * From any thread, without waiting: this part is to be asked soon. One is started now if none is
 * ready, or if what is ready sees what is no longer so.
 */
void ready_parts_expect(ReadyParts *ready, const char *part);

/* On the loop, when nothing runs: closes what was used. */
void ready_parts_rest(ReadyParts *ready);
/* On the loop: makes ready what is missing. */
void ready_parts_fill(ReadyParts *ready);
