/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "util/mailbox.h"

#define PATIENCE_MSEC 30000

static int setup(void **state)
{
	return mailbox_new((Mailbox **)state);
}

static int teardown(void **state)
{
	mailbox_free(*state);
	return 0;
}

static bool readable(const Mailbox *mailbox, int timeout_msec)
{
	struct pollfd pollfd = { .fd = mailbox_fd(mailbox), .events = POLLIN };

	return poll(&pollfd, 1, timeout_msec) == 1;
}

static unsigned delivered[8], n_delivered;

static void deliver(void *data)
{
	assert_true(n_delivered < ELEMENTS(delivered));
	delivered[n_delivered++] = *(unsigned *)data;
}

#define WITH_MAILBOX(test) TEST_WITH(test, setup, teardown)

WITH_MAILBOX(letters_are_delivered_once_and_in_order)
{
	unsigned numbers[] = { 1, 2, 3 };

	n_delivered = 0;
	assert_false(readable(*state, 0));
	for (size_t i = 0; i < ELEMENTS(numbers); i++)
		mailbox_post(*state, deliver, &numbers[i]);
	assert_int_equal(n_delivered, 0);
	/* One a turn, so that the loop's other sources have theirs. */
	for (size_t i = 0; i < ELEMENTS(numbers); i++) {
		assert_true(readable(*state, 0));
		mailbox_dispatch(*state);
		assert_int_equal(n_delivered, i + 1);
		assert_int_equal(delivered[i], numbers[i]);
	}
	assert_false(readable(*state, 0));
	mailbox_dispatch(*state);
	assert_int_equal(n_delivered, 3);
}

static Mailbox *reposting;

static void deliver_and_post(void *data)
{
	static unsigned last = 9;

	deliver(data);
	mailbox_post(reposting, deliver, &last);
}

WITH_MAILBOX(what_a_letter_posts_comes_with_the_next_turn)
{
	unsigned one = 1;

	n_delivered = 0;
	reposting = *state;
	mailbox_post(*state, deliver_and_post, &one);
	mailbox_dispatch(*state);
	assert_int_equal(n_delivered, 1);
	assert_true(readable(*state, 0));
	mailbox_dispatch(*state);
	assert_int_equal(n_delivered, 2);
	assert_int_equal(delivered[1], 9);
}

/* ---- runs ---- */

typedef struct Work {
	pthread_t loop, worker;
	bool worked, done;
	sigset_t blocked;
} Work;

static void work(void *data)
{
	Work *w = data;

	w->worker = pthread_self();
	pthread_sigmask(SIG_SETMASK, NULL, &w->blocked);
	w->worked = true;
}

static void done(void *data)
{
	Work *w = data;

	assert_true(w->worked);
	assert_true(pthread_equal(pthread_self(), w->loop));
	w->done = true;
}

WITH_MAILBOX(work_runs_on_a_thread_that_takes_no_signal_and_done_on_the_loop)
{
	Work w = { .loop = pthread_self() };
	sigset_t now;

	mailbox_run(*state, work, done, &w);
	assert_true(readable(*state, PATIENCE_MSEC));
	mailbox_dispatch(*state);
	assert_true(w.done);
	assert_false(pthread_equal(w.worker, w.loop));
	assert_true(sigismember(&w.blocked, SIGTERM) && sigismember(&w.blocked, SIGCHLD));
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	assert_false(sigismember(&now, SIGTERM));
}

static void count(void *data)
{
	++*(unsigned *)data;
}

static void dispatch_until(void **state, const bool *done)
{
	while (!*done) {
		assert_true(readable(*state, PATIENCE_MSEC));
		mailbox_dispatch(*state);
	}
}

typedef struct Chain {
	Mailbox *mailbox;
	Work first, second;
	unsigned *quiet;
} Chain;

static void work_once_more(void *data)
{
	Chain *chain = data;

	assert_int_equal(*chain->quiet, 0);
	mailbox_run(chain->mailbox, work, done, &chain->second);
	chain->first.done = true;
}

static void do_nothing(_unused_ void *data)
{
}

WITH_MAILBOX(it_is_quiet_when_the_last_run_is_done)
{
	unsigned quiet = 0;
	Chain chain = { .mailbox = *state, .quiet = &quiet };

	chain.second.loop = pthread_self();
	mailbox_on_quiet(*state, count, &quiet);
	/* A letter alone was not preceded by any work. */
	mailbox_post(*state, do_nothing, NULL);
	mailbox_dispatch(*state);
	assert_int_equal(quiet, 0);
	/* What follows from one run belongs to it. */
	mailbox_run(*state, do_nothing, work_once_more, &chain);
	dispatch_until(state, &chain.first.done);
	dispatch_until(state, &chain.second.done);
	assert_int_equal(quiet, 1);
}

/* ---- many threads ---- */

#define N_THREADS 8
#define N_LETTERS 5000

typedef struct Poster {
	Mailbox *mailbox;
	unsigned next;	    /* to be delivered; the loop's */
	unsigned *received; /* by all */
} Poster;

typedef struct Numbered {
	Poster *poster;
	unsigned number;
} Numbered;

static void receive(void *data)
{
	_cleanup_free_ Numbered *numbered = data;

	/* One poster's letters come in the order in which it posted them. */
	assert_int_equal(numbered->number, numbered->poster->next);
	numbered->poster->next++;
	(*numbered->poster->received)++;
}

static void *post_many(void *data)
{
	for (unsigned i = 0; i < N_LETTERS; i++) {
		Numbered *numbered = malloc(sizeof(*numbered));

		*numbered = (Numbered){ data, i };
		mailbox_post(((Poster *)data)->mailbox, receive, numbered);
	}
	return NULL;
}

WITH_MAILBOX(no_letter_of_any_thread_is_lost)
{
	pthread_t threads[N_THREADS];
	Poster posters[N_THREADS];
	unsigned received = 0;

	for (size_t i = 0; i < N_THREADS; i++) {
		posters[i] = (Poster){ .mailbox = *state, .received = &received };
		assert_int_equal(pthread_create(&threads[i], NULL, post_many, &posters[i]), 0);
	}
	while (received < N_THREADS * N_LETTERS) {
		assert_true(readable(*state, PATIENCE_MSEC));
		mailbox_dispatch(*state);
	}
	for (size_t i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(received, N_THREADS * N_LETTERS);
}

TEST(letters_left_over_are_freed_with_the_mailbox)
{
	Mailbox *mailbox = NULL;
	unsigned one = 1;

	n_delivered = 0;
	assert_int_equal(mailbox_new(&mailbox), 0);
	mailbox_post(mailbox, deliver, &one);
	assert_null(mailbox_free(mailbox));
	assert_int_equal(n_delivered, 0);
	assert_null(mailbox_free(NULL));
}
