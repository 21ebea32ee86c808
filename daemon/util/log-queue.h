/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records on their way to a sink that may block, through a thread of its own: a caller that logs
 * waits for a lock at most. The daemon's sink is journald, which itself waits in the kernel while
 * it looks up a device whose driver does not return from remove().
 */
#pragma once

#include <stdint.h>

#include "gpupass/cleanup.h"

typedef struct LogQueue LogQueue;

/* The queue calls both only on its thread, in the order of the records. */
typedef struct LogSink {
	void (*write)(const char *record, size_t size, void *userdata);
	/* The number of records that are missing here, because there was no room for them. */
	void (*dropped)(size_t n, void *userdata);
	void *userdata;
} LogSink;

/* Starts the thread. At most bytes_max wait, including the memory that keeps them. */
int log_queue_new(const LogSink *sink, size_t bytes_max, LogQueue **ret);

/*
 * From any thread. Copies the record; false when it was dropped, which the queue will report to the
 * sink.
 */
bool log_queue_push(LogQueue *queue, const char *record, size_t size);

/* Waits until all pushed records are written, or until the timeout (CLOCK_MONOTONIC). */
bool log_queue_flush(LogQueue *queue, uint64_t timeout_usec);

/* Waits for the sink, so only when it does not block (tests). The daemon never frees its queue. */
LogQueue *log_queue_free(LogQueue *queue);
DEFINE_CLEANUP(LogQueue, log_queue_free)
