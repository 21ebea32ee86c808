/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/mailbox.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "util/log.h"
#include "util/mutex.h"
#include "util/thread.h"
#include "util/xalloc.h"

/* Until a thread is tried again where none could be started. */
#define RETRY_NSEC (100 * 1000 * 1000)

typedef struct Letter Letter;
struct Letter {
	Letter *next;
	Mailbox *mailbox;
	MailboxCallback work; /* of mailbox_run(), before it is posted; NULL: none */
	MailboxCallback deliver;
	void *data;
};

typedef struct Letters {
	Letter *first, *last;
} Letters;

struct Mailbox {
	pthread_mutex_t lock;
	Letters posted;
	int event_fd;
	int timer_fd; /* on while `late` has some */
	int poll_fd;  /* both */
	/* These are the loop's alone. */
	Letters late; /* no thread could be started for them yet */
	MailboxCallback quiet;
	void *quiet_data;
	size_t running;
};

static int watch(const Mailbox *mailbox, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return fd < 0 || epoll_ctl(mailbox->poll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int mailbox_new(Mailbox **ret)
{
	_cleanup_(mailbox_freep) Mailbox *mailbox = xcalloc(1, sizeof(Mailbox));
	int r;

	pthread_mutex_init(&mailbox->lock, NULL);
	mailbox->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	mailbox->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	mailbox->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	r = watch(mailbox, mailbox->event_fd);
	if (r >= 0)
		r = watch(mailbox, mailbox->timer_fd);
	if (r >= 0)
		*ret = TAKE_PTR(mailbox);
	return r;
}

int mailbox_fd(const Mailbox *mailbox)
{
	return mailbox->poll_fd;
}

static void letters_add(Letters *letters, Letter *letter)
{
	letter->next = NULL;
	if (letters->first)
		letters->last->next = letter;
	else
		letters->first = letter;
	letters->last = letter;
}

/* The first, which is in there no more; NULL: there is none. */
static Letter *letters_take(Letters *letters)
{
	Letter *first = letters->first;

	if (first)
		letters->first = first->next;
	return first;
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
	letters_add(&mailbox->posted, letter);
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

/* ---- threads ---- */

static void *run_thread(void *userdata)
{
	Letter *letter = userdata;

	letter->work(letter->data);
	post(letter);
	return NULL;
}

static int start_or_wait(Mailbox *mailbox, Letter *letter)
{
	const struct itimerspec again = { .it_value.tv_nsec = RETRY_NSEC };
	pthread_t thread;
	int r = thread_start(&thread, run_thread, letter, true);

	if (r >= 0)
		return 0;
	letters_add(&mailbox->late, letter);
	(void)timerfd_settime(mailbox->timer_fd, 0, &again, NULL);
	return r;
}

void mailbox_run(Mailbox *mailbox, MailboxCallback work, MailboxCallback done, void *data)
{
	bool waits = mailbox->late.first;
	int r;

	mailbox->running++;
	r = start_or_wait(mailbox, letter_new(mailbox, work, done, data));
	if (r < 0 && !waits)
		log_error("no thread can be started (%s): what was asked waits for one",
			  strerror(-r));
}

static void start_late(Mailbox *mailbox)
{
	Letters late = mailbox->late;
	Letter *letter;

	mailbox->late = (Letters){ 0 };
	while ((letter = letters_take(&late)))
		(void)start_or_wait(mailbox, letter);
}

/* ---- the loop ---- */

static bool take_count(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) > 0;
}

static Letter *take_posted(Mailbox *mailbox)
{
	MUTEX_HOLD(&mailbox->lock);

	/* A letter is there before it is counted. */
	return take_count(mailbox->event_fd) ? letters_take(&mailbox->posted) : NULL;
}

void mailbox_dispatch(Mailbox *mailbox)
{
	_cleanup_free_ Letter *letter = NULL;

	if (take_count(mailbox->timer_fd))
		start_late(mailbox);
	letter = take_posted(mailbox);
	if (!letter)
		return;
	letter->deliver(letter->data);
	if (letter->work && --mailbox->running == 0 && mailbox->quiet)
		mailbox->quiet(mailbox->quiet_data);
}

void mailbox_on_quiet(Mailbox *mailbox, MailboxCallback quiet, void *data)
{
	mailbox->quiet = quiet;
	mailbox->quiet_data = data;
}

static void letters_free(Letters *letters)
{
	Letter *letter;

	while ((letter = letters_take(letters)))
		free(letter);
}

static void mailbox_clear(Mailbox *mailbox)
{
	letters_free(&mailbox->posted);
	letters_free(&mailbox->late);
	close_fd(mailbox->event_fd);
	close_fd(mailbox->timer_fd);
	close_fd(mailbox->poll_fd);
	pthread_mutex_destroy(&mailbox->lock);
}

DEFINE_FREE(Mailbox, mailbox_free, mailbox_clear)
