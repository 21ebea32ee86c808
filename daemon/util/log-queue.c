/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/log-queue.h"

#include <pthread.h>

#include "util/clock.h"
#include "util/thread.h"
#include "util/xalloc.h"

typedef struct Record Record;
struct Record {
	Record *next;
	size_t dropped_before; /* lost between the record before it and this one */
	size_t size;
	char data[];
};

struct LogQueue {
	LogSink sink;
	size_t bytes_max;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more, idle;
	/* The lock guards what follows. */
	Record *first, *last;
	size_t bytes;
	size_t dropped; /* after the last one */
	bool writing;
	bool ending;
};

static bool nothing_waits(const LogQueue *queue)
{
	return !queue->first && queue->dropped == 0;
}

/* NULL: only a count of dropped records. */
static Record *take_first(LogQueue *queue, size_t *ret_dropped)
{
	Record *record = queue->first;

	if (!record) {
		*ret_dropped = queue->dropped;
		queue->dropped = 0;
		return NULL;
	}
	*ret_dropped = record->dropped_before;
	queue->first = record->next;
	if (!queue->first)
		queue->last = NULL;
	queue->bytes -= sizeof(Record) + record->size;
	return record;
}

static void hand_on(const LogSink *sink, const Record *record, size_t dropped)
{
	if (dropped > 0)
		sink->dropped(dropped, sink->userdata);
	if (record)
		sink->write(record->data, record->size, sink->userdata);
}

static void *write_records(void *userdata)
{
	LogQueue *queue = userdata;

	pthread_mutex_lock(&queue->lock);
	for (;;) {
		_cleanup_free_ Record *record = NULL;
		size_t dropped = 0;

		while (nothing_waits(queue) && !queue->ending)
			pthread_cond_wait(&queue->more, &queue->lock);
		if (nothing_waits(queue))
			break;
		record = take_first(queue, &dropped);
		queue->writing = true;
		pthread_mutex_unlock(&queue->lock);
		hand_on(&queue->sink, record, dropped);
		pthread_mutex_lock(&queue->lock);
		queue->writing = false;
		if (nothing_waits(queue))
			pthread_cond_broadcast(&queue->idle);
	}
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

static void queue_destroy(LogQueue *queue)
{
	pthread_cond_destroy(&queue->idle);
	pthread_cond_destroy(&queue->more);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

int log_queue_new(const LogSink *sink, size_t bytes_max, LogQueue **ret)
{
	LogQueue *queue = xcalloc(1, sizeof(*queue));
	int r;

	queue->sink = *sink;
	queue->bytes_max = bytes_max;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->more, NULL);
	pthread_cond_init(&queue->idle, NULL);
	r = thread_start(&queue->thread, write_records, queue, false);
	if (r < 0) {
		queue_destroy(queue);
		return r;
	}
	*ret = queue;
	return 0;
}

static bool append(LogQueue *queue, Record *record)
{
	if (sizeof(Record) + record->size > queue->bytes_max - queue->bytes) {
		queue->dropped++;
		return false;
	}
	record->dropped_before = queue->dropped;
	queue->dropped = 0;
	if (queue->last)
		queue->last->next = record;
	else
		queue->first = record;
	queue->last = record;
	queue->bytes += sizeof(Record) + record->size;
	return true;
}

bool log_queue_push(LogQueue *queue, const char *data, size_t size)
{
	Record *record = xmalloc(sizeof(Record) + size);
	bool taken;

	*record = (Record){ .size = size };
	memcpy(record->data, data, size);
	pthread_mutex_lock(&queue->lock);
	taken = append(queue, record);
	pthread_cond_signal(&queue->more);
	pthread_mutex_unlock(&queue->lock);
	if (!taken)
		free(record);
	return taken;
}

bool log_queue_flush(LogQueue *queue, uint64_t timeout_usec)
{
	const struct timespec until = clock_timespec(now_monotonic() + timeout_usec);
	bool written;
	int e = 0;

	pthread_mutex_lock(&queue->lock);
	while ((queue->writing || !nothing_waits(queue)) && e == 0)
		e = pthread_cond_clockwait(&queue->idle, &queue->lock, CLOCK_MONOTONIC, &until);
	written = !queue->writing && nothing_waits(queue);
	pthread_mutex_unlock(&queue->lock);
	return written;
}

LogQueue *log_queue_free(LogQueue *queue)
{
	if (!queue)
		return NULL;
	pthread_mutex_lock(&queue->lock);
	queue->ending = true;
	pthread_cond_signal(&queue->more);
	pthread_mutex_unlock(&queue->lock);
	pthread_join(queue->thread, NULL);
	queue_destroy(queue);
	return NULL;
}
