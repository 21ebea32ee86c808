/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <pthread.h>
#include <string.h>

#include "util/clock.h"
#include "util/log-queue.h"
#include "util/mutex.h"
#include "util/text.h"

#define LONG (20 * USEC_PER_SEC)

/* A sink whose door can be shut. */
typedef struct Sink {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	bool shut, waited;
	char **lines;
} Sink;

static void pass(Sink *sink, char *line)
{
	MUTEX_HOLD(&sink->lock);

	sink->waited = true;
	while (sink->shut)
		pthread_cond_wait(&sink->opened, &sink->lock);
	strv_append_take(&sink->lines, line);
}

static void take(const char *record, size_t size, void *userdata)
{
	pass(userdata, strndup(record, size));
}

static void miss(size_t n, void *userdata)
{
	pass(userdata, strf("%zu dropped", n));
}

static void set_shut(Sink *sink, bool shut)
{
	MUTEX_HOLD(&sink->lock);

	sink->shut = shut;
	pthread_cond_broadcast(&sink->opened);
}

static bool somebody_waits(Sink *sink)
{
	MUTEX_HOLD(&sink->lock);

	return sink->waited;
}

static LogQueue *queue_to(Sink *sink, size_t bytes_max)
{
	const LogSink to = { .write = take, .dropped = miss, .userdata = sink };
	LogQueue *queue = NULL;

	*sink = (Sink){ .shut = false };
	pthread_mutex_init(&sink->lock, NULL);
	pthread_cond_init(&sink->opened, NULL);
	assert_int_equal(log_queue_new(&to, bytes_max, &queue), 0);
	return queue;
}

static bool push(LogQueue *queue, const char *text)
{
	return log_queue_push(queue, text, strlen(text));
}

static void assert_lines(Sink *sink, const char *expected)
{
	_cleanup_free_ char *found = strv_join(sink->lines, ",");

	assert_string_equal(found, expected);
	sink->lines = strv_free(sink->lines);
}

/* The end of a queue waits for its lines. */
TEST(lines_come_out_in_their_order_before_the_queue_ends)
{
	Sink sink;
	LogQueue *queue = queue_to(&sink, 1 << 20);

	for (int i = 0; i < 1000; i++) {
		_cleanup_free_ char *text = strf("%d", i);

		assert_true(push(queue, text));
	}
	queue = log_queue_free(queue);
	assert_int_equal(strv_length(sink.lines), 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(atoi(sink.lines[i]), i);
	sink.lines = strv_free(sink.lines);
}

/* fault 50 */
/* The sink has the first line; as many others wait as there is room for. */
TEST(a_sink_that_blocks_holds_nobody_up_and_what_was_dropped_is_told)
{
	Sink sink;
	_cleanup_(log_queue_freep) LogQueue *queue = queue_to(&sink, 400);
	_cleanup_free_ char *told = NULL;
	uint64_t start;
	int taken = 0;

	set_shut(&sink, true);
	assert_true(push(queue, "first"));
	while (!somebody_waits(&sink))
		usleep(1000);
	start = now_monotonic();
	for (int i = 0; i < 1000; i++)
		taken += push(queue, "more");
	assert_true(now_monotonic() - start < USEC_PER_SEC);
	assert_true(taken > 2 && taken < 100);
	set_shut(&sink, false);
	assert_true(log_queue_flush(queue, LONG));
	assert_true(push(queue, "last"));
	assert_true(log_queue_flush(queue, LONG));
	told = strf("%d dropped", 1000 - taken);
	assert_int_equal(strv_length(sink.lines), taken + 3);
	assert_string_equal(sink.lines[0], "first");
	assert_string_equal(sink.lines[taken], "more");
	assert_string_equal(sink.lines[taken + 1], told);
	assert_string_equal(sink.lines[taken + 2], "last");
	sink.lines = strv_free(sink.lines);
}

/* Lost lines are reported at their place, not at the end. */
TEST(what_was_dropped_is_told_at_its_place)
{
	Sink sink;
	_cleanup_(log_queue_freep) LogQueue *queue = queue_to(&sink, 200);
	char huge[300];

	memset(huge, 'x', sizeof(huge));
	set_shut(&sink, true);
	assert_true(push(queue, "a"));
	assert_false(log_queue_push(queue, huge, sizeof(huge)));
	assert_false(log_queue_push(queue, huge, sizeof(huge)));
	assert_true(push(queue, "b"));
	set_shut(&sink, false);
	assert_true(log_queue_flush(queue, LONG));
	assert_lines(&sink, "a,2 dropped,b");
}

/* fault 50 */
TEST(a_flush_ends_also_while_the_sink_blocks)
{
	Sink sink;
	_cleanup_(log_queue_freep) LogQueue *queue = queue_to(&sink, 400);
	uint64_t start = now_monotonic();

	assert_true(log_queue_flush(queue, 0));
	set_shut(&sink, true);
	assert_true(push(queue, "a"));
	assert_false(log_queue_flush(queue, USEC_PER_SEC / 10));
	assert_true(now_monotonic() - start >= USEC_PER_SEC / 10);
	assert_true(now_monotonic() - start < 5 * USEC_PER_SEC);
	set_shut(&sink, false);
	assert_true(log_queue_flush(queue, LONG));
	assert_lines(&sink, "a");
}

static void *push_some(void *queue)
{
	for (int i = 0; i < 500; i++)
		push(queue, "x");
	return NULL;
}

TEST(many_threads_lose_nothing)
{
	Sink sink;
	_cleanup_(log_queue_freep) LogQueue *queue = queue_to(&sink, 1 << 20);
	pthread_t threads[8];

	for (size_t i = 0; i < ELEMENTS(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, push_some, queue), 0);
	for (size_t i = 0; i < ELEMENTS(threads); i++)
		pthread_join(threads[i], NULL);
	assert_true(log_queue_flush(queue, LONG));
	assert_int_equal(strv_length(sink.lines), 8 * 500);
	sink.lines = strv_free(sink.lines);
}
