/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records on their way to a sink that may block, through a thread of their own: whoever logs waits
 * for a lock at most. The sink of the daemon is journald, which itself waits in the kernel while
 * it looks up a device whose driver does not come out of remove().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpupass/cleanup.h"

typedef struct LogQueue LogQueue;

/* Both on the queue's thread only, and in the order of the records. */
typedef struct LogSink {
	void (*write)(const char *record, size_t size, void *userdata);
	/* So many records are missing here: there was no room for them. */
	void (*dropped)(size_t n, void *userdata);
	void *userdata;
} LogSink;

/* Starts the thread. No more than bytes_max wait, with what it takes to keep them. */
int log_queue_new(const LogSink *sink, size_t bytes_max, LogQueue **ret);

/* From any thread. Copies the record; false when it was dropped, which the sink will be told. */
bool log_queue_push(LogQueue *queue, const char *record, size_t size);

/* Waits until all that was pushed is written, but not beyond the timeout (CLOCK_MONOTONIC). */
bool log_queue_flush(LogQueue *queue, uint64_t timeout_usec);

/* Only when the sink does not block (tests): waits for it. The daemon leaves it to its end. */
LogQueue *log_queue_free(LogQueue *queue);
DEFINE_CLEANUP(LogQueue, log_queue_free)
