/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/mailbox.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>

#include "util/mutex.h"
#include "util/xalloc.h"

typedef struct Letter Letter;
struct Letter {
	Letter *next;
	Mailbox *mailbox;
	MailboxCallback work; /* of mailbox_run(), before it is posted; NULL: none */
	MailboxCallback deliver;
	void *data;
};

struct Mailbox {
	pthread_mutex_t lock;
	Letter *first, *last;
	int event_fd;
	MailboxCallback quiet; /* these are the loop's alone */
	void *quiet_data;
	size_t running;
};

int mailbox_new(Mailbox **ret)
{
	Mailbox *mailbox = xcalloc(1, sizeof(Mailbox));

	mailbox->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	if (mailbox->event_fd < 0) {
		int r = -errno;

		free(mailbox);
		return r;
	}
	pthread_mutex_init(&mailbox->lock, NULL);
	*ret = mailbox;
	return 0;
}

int mailbox_fd(const Mailbox *mailbox)
{
	return mailbox->event_fd;
}

static Letter *letter_new(Mailbox *mailbox, MailboxCallback work, MailboxCallback deliver,
			  void *data)
{
	Letter *letter = xmalloc(sizeof(Letter));

	*letter = (Letter){ .mailbox = mailbox, .work = work, .deliver = deliver, .data = data };
	return letter;
}

static void post(Letter *letter)
{
	Mailbox *mailbox = letter->mailbox;
	uint64_t one = 1;

	pthread_mutex_lock(&mailbox->lock);
	if (mailbox->last)
		mailbox->last->next = letter;
	else
		mailbox->first = letter;
	mailbox->last = letter;
	pthread_mutex_unlock(&mailbox->lock);
	/*
	 * The counter is far from full. A write fails only with EAGAIN, and then it is readable
	 * anyway.
	 */
	if (write(mailbox->event_fd, &one, sizeof(one)) < 0)
		return;
}

void mailbox_post(Mailbox *mailbox, MailboxCallback deliver, void *data)
{
	post(letter_new(mailbox, NULL, deliver, data));
}

static Letter *take_first(Mailbox *mailbox)
{
	MUTEX_HOLD(&mailbox->lock);
	Letter *letter = mailbox->first;

	mailbox->first = letter->next;
	if (!mailbox->first)
		mailbox->last = NULL;
	return letter;
}

void mailbox_dispatch(Mailbox *mailbox)
{
	Letter *letter;
	uint64_t one;
	bool ended;

	/* A letter is in the list before it is counted. */
	if (read(mailbox->event_fd, &one, sizeof(one)) < 0)
		return;
	letter = take_first(mailbox);
	letter->deliver(letter->data);
	ended = letter->work != NULL;
	mailbox->running -= ended;
	free(letter);
	if (ended && mailbox->running == 0 && mailbox->quiet)
		mailbox->quiet(mailbox->quiet_data);
}

void mailbox_on_quiet(Mailbox *mailbox, MailboxCallback quiet, void *data)
{
	mailbox->quiet = quiet;
	mailbox->quiet_data = data;
}

static void *run_thread(void *userdata)
{
	Letter *letter = userdata;

	letter->work(letter->data);
	post(letter);
	return NULL;
}

int mailbox_run(Mailbox *mailbox, MailboxCallback work, MailboxCallback done, void *data)
{
	_cleanup_free_ Letter *letter = letter_new(mailbox, work, done, data);
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	r = pthread_attr_init(&attributes);
	if (r != 0)
		return -r;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* The loop takes signals, through signalfd: a thread that could take one would lose it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attributes, run_thread, letter);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (r != 0)
		return -r;
	mailbox->running++;
	TAKE_PTR(letter);
	return 0;
}

static void mailbox_clear(Mailbox *mailbox)
{
	while (mailbox->first) {
		Letter *next = mailbox->first->next;

		free(mailbox->first);
		mailbox->first = next;
	}
	close_fd(mailbox->event_fd);
	pthread_mutex_destroy(&mailbox->lock);
}

DEFINE_FREE(Mailbox, mailbox_free, mailbox_clear)
