/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/trail.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "store/trail-holders.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xalloc.h"

/* What may wait for a disk that does not answer. */
#define WAITING_MAX 1024U

/* On the stack of who waits. */
typedef struct Waiter {
	bool done;
	int result;
} Waiter;

typedef struct Item Item;
struct Item {
	Item *next;
	AuditRecord record;
	AuditHash hash;
	CallerIdentity *caller;
	Waiter *waiter; /* NULL: nobody waits */
	int result;
};

struct Trail {
	TrailFiles files; /* the thread's, once that runs */
	TrailListener listener;
	TrailHolders *holders;
	pthread_t thread;
	bool started;
	bool failing; /* the thread's: the last record could not be written */
	pthread_mutex_t lock;
	pthread_cond_t more, settled;
	/* The lock guards what follows. */
	Item *first, *last;
	size_t n;
	bool writing, ending;
	uint64_t lost; /* records, since the last that was written */
	uint64_t lost_ever;
	uint64_t sequence;
};

/* ---- life ---- */

int trail_open(const char *directory, const TrailLimits *limits, Trail **ret)
{
	_cleanup_(trail_freep) Trail *trail = xcalloc(1, sizeof(Trail));
	int r;

	trail->files.fd = trail->files.dir_fd = -1;
	pthread_mutex_init(&trail->lock, NULL);
	pthread_cond_init(&trail->more, NULL);
	pthread_cond_init(&trail->settled, NULL);
	r = trail_files_open(directory, &trail->files);
	if (r < 0)
		return r;
	trail->holders = trail_holders_new();
	trail->files.limits = *limits;
	*ret = TAKE_PTR(trail);
	return 0;
}

int trail_dir_fd(const Trail *trail)
{
	return trail ? trail->files.dir_fd : -1;
}

TrailFiles *trail_files(Trail *trail)
{
	return &trail->files;
}

static Item *item_free(Item *item)
{
	if (!item)
		return NULL;
	audit_record_clear(&item->record);
	caller_identity_unref(item->caller);
	free(item);
	return NULL;
}

Trail *trail_free(Trail *trail)
{
	if (!trail)
		return NULL;
	if (trail->started) {
		pthread_mutex_lock(&trail->lock);
		trail->ending = true;
		pthread_cond_broadcast(&trail->more);
		pthread_mutex_unlock(&trail->lock);
		pthread_join(trail->thread, NULL);
	}
	while (trail->first) {
		Item *next = trail->first->next;

		item_free(trail->first);
		trail->first = next;
	}
	pthread_cond_destroy(&trail->settled);
	pthread_cond_destroy(&trail->more);
	pthread_mutex_destroy(&trail->lock);
	trail_holders_free(trail->holders);
	trail_files_close(&trail->files);
	free(trail);
	return NULL;
}

/* ---- the thread ---- */

static int append_lost(Trail *trail, uint64_t lost)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	int r;

	if (lost == 0)
		return 0;
	record.kind = AUDIT_LOST;
	record.count = lost;
	record.time_usec = now_realtime();
	record.reason = xstrdup("these could not be written, or there was no room for them");
	record.boot_id = xstrdup(trail->files.boot_id);
	r = trail_files_append(&trail->files, &record, NULL);
	audit_record_clear(&record);
	return r;
}

static uint64_t lost_now(const Item *first)
{
	uint64_t n = 0;

	for (const Item *item = first; item; item = item->next)
		n += item->result < 0;
	return n;
}

static void append_batch(Trail *trail, Item *first)
{
	uint64_t lost, told = 0, failed = 0;
	int r = 0;

	pthread_mutex_lock(&trail->lock);
	lost = trail->lost;
	pthread_mutex_unlock(&trail->lock);
	for (Item *item = first; item; item = item->next) {
		caller_identity_fill(item->caller, &item->record);
		r = append_lost(trail, lost - told + failed);
		if (r >= 0) {
			told = lost;
			failed = 0;
			r = trail_files_append(&trail->files, &item->record, &item->hash);
		}
		item->result = r;
		failed += r < 0;
	}
	r = trail_files_sync(&trail->files);
	/* Nothing of it is on disk: also what was said of losses is not. */
	if (r < 0) {
		told = failed = 0;
		for (Item *item = first; item; item = item->next) {
			item->result = r;
			failed++;
		}
	}
	pthread_mutex_lock(&trail->lock);
	trail->lost = trail->lost - told + failed;
	trail->lost_ever += lost_now(first);
	trail->sequence = trail->files.synced.sequence;
	pthread_mutex_unlock(&trail->lock);
}

static void tell(Trail *trail, const Item *item)
{
	const TrailListener *listener = &trail->listener;
	bool fails = item->result < 0;

	if (!fails && listener->written)
		listener->written(&item->record, &item->hash, listener->userdata);
	if (fails && !trail->failing && listener->failed)
		listener->failed(item->result, listener->userdata);
	trail->failing = fails;
}

/* With the lock. */
static void settle_batch(Trail *trail, Item *first)
{
	for (Item *item = first, *next; item; item = next) {
		next = item->next;
		if (item->waiter)
			*item->waiter = (Waiter){ .done = true, .result = item->result };
		item_free(item);
	}
	trail->writing = false;
	pthread_cond_broadcast(&trail->settled);
}

static void *write_records(void *userdata)
{
	Trail *trail = userdata;

	pthread_mutex_lock(&trail->lock);
	for (;;) {
		Item *batch;

		while (!trail->first && !trail->ending)
			pthread_cond_wait(&trail->more, &trail->lock);
		if (!trail->first)
			break;
		batch = trail->first;
		trail->first = trail->last = NULL;
		trail->n = 0;
		trail->writing = true;
		pthread_mutex_unlock(&trail->lock);
		append_batch(trail, batch);
		for (const Item *item = batch; item; item = item->next)
			tell(trail, item);
		pthread_mutex_lock(&trail->lock);
		settle_batch(trail, batch);
	}
	pthread_mutex_unlock(&trail->lock);
	return NULL;
}

int trail_start(Trail *trail, const char *boot_id, const TrailListener *listener)
{
	sigset_t all, before;
	int r;

	trail->listener = *listener;
	trail->files.boot_id = xstrdup(boot_id);
	r = trail_files_load(&trail->files);
	if (r < 0)
		return r;
	trail->sequence = trail->files.end.sequence;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the other threads' business */
	r = -pthread_create(&trail->thread, NULL, write_records, trail);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	trail->started = r >= 0;
	return r;
}

/* ---- from any thread ---- */

static Item *item_new(const Trail *trail, AuditRecord *record, CallerIdentity *caller)
{
	Item *item = xcalloc(1, sizeof(Item));

	item->record = *record;
	item->caller = caller_identity_ref(caller);
	item->record.time_usec = now_realtime();
	item->record.boot_id = xstrdup(trail->files.boot_id);
	*record = AUDIT_RECORD_EMPTY;
	return item;
}

/* With the lock. Takes the item. */
static int enqueue(Trail *trail, Item *item)
{
	if (trail->n >= WAITING_MAX) {
		trail->lost++;
		trail->lost_ever++;
		item_free(item);
		return -EAGAIN;
	}
	if (trail->last)
		trail->last->next = item;
	else
		trail->first = item;
	trail->last = item;
	trail->n++;
	pthread_cond_signal(&trail->more);
	return 0;
}

void trail_add(Trail *trail, AuditRecord *record, CallerIdentity *caller)
{
	Item *item;

	if (!trail) {
		audit_record_clear(record);
		return;
	}
	item = item_new(trail, record, caller);
	pthread_mutex_lock(&trail->lock);
	(void)enqueue(trail, item);
	pthread_mutex_unlock(&trail->lock);
}

int trail_add_durably(Trail *trail, AuditRecord *record, CallerIdentity *caller)
{
	Waiter waiter = { 0 };
	Item *item;
	int r;

	if (!trail) {
		audit_record_clear(record);
		return 0;
	}
	item = item_new(trail, record, caller);
	item->waiter = &waiter;
	pthread_mutex_lock(&trail->lock);
	r = enqueue(trail, item);
	while (r >= 0 && !waiter.done)
		pthread_cond_wait(&trail->settled, &trail->lock);
	pthread_mutex_unlock(&trail->lock);
	return r < 0 ? r : waiter.result;
}

bool trail_flush(Trail *trail, uint64_t timeout_usec)
{
	const struct timespec until = clock_timespec(now_monotonic() + timeout_usec);
	bool written;
	int e = 0;

	if (!trail)
		return true;
	pthread_mutex_lock(&trail->lock);
	while ((trail->first || trail->writing) && e == 0)
		e = pthread_cond_clockwait(&trail->settled, &trail->lock, CLOCK_MONOTONIC, &until);
	written = !trail->first && !trail->writing;
	pthread_mutex_unlock(&trail->lock);
	return written;
}

uint64_t trail_sequence(Trail *trail)
{
	uint64_t sequence;

	if (!trail)
		return 0;
	pthread_mutex_lock(&trail->lock);
	sequence = trail->sequence;
	pthread_mutex_unlock(&trail->lock);
	return sequence;
}

void trail_health(Trail *trail, bool *ret_writable, uint64_t *ret_lost)
{
	pthread_mutex_lock(&trail->lock);
	*ret_writable = trail->lost == 0;
	*ret_lost = trail->lost_ever;
	pthread_mutex_unlock(&trail->lock);
}

void trail_note_holders(Trail *trail, const Inspection *inspection)
{
	AuditRecord *records = NULL;
	size_t n = 0;

	if (!trail)
		return;
	trail_holders_note(trail->holders, inspection, &records, &n);
	for (size_t i = 0; i < n; i++)
		trail_add(trail, &records[i], NULL);
	free(records);
}
