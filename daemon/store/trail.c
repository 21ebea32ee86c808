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
/* How long a record that nobody waits for may wait for a sync that others need, too. */
#define LAZY_USEC (5 * USEC_PER_SEC)

/* On the stack of who waits. */
typedef struct Waiter {
	bool done;
	int result;
} Waiter;

typedef struct Item Item;
struct Item {
	Item *next;
	AuditRecord record;
	LineHash hash;
	CallerIdentity *caller;
	Waiter *waiter; /* NULL: nobody waits */
	bool lazy;	/* it need not be on disk before another one is */
	int result;
};

typedef struct ItemList {
	Item *first, *last;
} ItemList;

struct Trail {
	TrailFiles files; /* the thread's, once that runs */
	TrailListener listener;
	TrailHolders *holders;
	pthread_t thread;
	bool started;
	/* The thread's own. */
	bool failing;	   /* the last record could not be written */
	ItemList unsynced; /* appended, or failed, since the last sync */
	uint64_t told;	   /* of the lost records, in lines that are not synced yet */
	uint64_t failed;   /* of `unsynced`, that no line tells of */
	uint64_t due_usec; /* CLOCK_MONOTONIC of the next sync; 0: nothing waits for one */
	pthread_mutex_t lock;
	pthread_cond_t more, settled;
	/* The lock guards what follows. */
	ItemList queue;
	size_t n;
	bool writing, ending;
	uint64_t lost; /* records, since the last that was written */
	uint64_t lost_ever;
	uint64_t sequence;
};

/* ---- life ---- */

Trail *trail_open(const char *directory, const TrailLimits *limits)
{
	Trail *trail = xcalloc(1, sizeof(Trail));

	pthread_mutex_init(&trail->lock, NULL);
	pthread_cond_init(&trail->more, NULL);
	pthread_cond_init(&trail->settled, NULL);
	trail_files_open(directory, &trail->files);
	trail->holders = trail_holders_new();
	trail->files.limits = *limits;
	return trail;
}

char *const *trail_faults(const Trail *trail)
{
	return trail ? trail->files.faults : NULL;
}

const TrailJobs *trail_jobs(const Trail *trail)
{
	return trail ? &trail->files.jobs : NULL;
}

int trail_dir_fd(const Trail *trail)
{
	return trail ? trail->files.dir_fd : -1;
}

TrailFiles *trail_files(Trail *trail)
{
	return &trail->files;
}

static void list_add(ItemList *list, Item *item)
{
	item->next = NULL;
	if (list->last)
		list->last->next = item;
	else
		list->first = item;
	list->last = item;
}

/* Of the list, which is then empty. */
static Item *list_take(ItemList *list)
{
	Item *first = list->first;

	*list = (ItemList){ 0 };
	return first;
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
	for (Item *item = list_take(&trail->queue), *next; item; item = next) {
		next = item->next;
		item_free(item);
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

/* Whether a sync must follow now. */
static bool append_item(Trail *trail, Item *item, uint64_t lost)
{
	uint64_t owed = lost - trail->told + trail->failed;
	int r;

	caller_identity_fill(item->caller, &item->record);
	r = append_lost(trail, owed);
	if (r >= 0) {
		trail->told = lost;
		trail->failed = 0;
		r = trail_files_append(&trail->files, &item->record, &item->hash);
	}
	item->result = r;
	trail->failed += r < 0;
	list_add(&trail->unsynced, item);
	if (trail->due_usec == 0)
		trail->due_usec = now_monotonic() + LAZY_USEC;
	return !item->lazy || r < 0;
}

static bool append_batch(Trail *trail, Item *first)
{
	bool sync = false;
	uint64_t lost;

	pthread_mutex_lock(&trail->lock);
	lost = trail->lost;
	pthread_mutex_unlock(&trail->lock);
	for (Item *item = first, *next; item; item = next) {
		next = item->next;
		sync |= append_item(trail, item, lost);
	}
	return sync;
}

/* For what was appended, and need not be on disk, the callee is told at once. */
static void settle_lazy(Trail *trail)
{
	pthread_mutex_lock(&trail->lock);
	for (Item *item = trail->unsynced.first; item; item = item->next)
		if (item->lazy && item->waiter) {
			*item->waiter = (Waiter){ .done = true, .result = item->result };
			item->waiter = NULL;
		}
	pthread_cond_broadcast(&trail->settled);
	pthread_mutex_unlock(&trail->lock);
}

static void sync_all(Trail *trail)
{
	uint64_t lost_now = 0;
	int r = ledger_sync(&trail->files.file);

	/* Nothing of it is on disk: also what was said of losses is not. */
	if (r < 0)
		trail->told = trail->failed = 0;
	for (Item *item = trail->unsynced.first; item; item = item->next) {
		if (r < 0) {
			item->result = r;
			trail->failed++;
		}
		lost_now += item->result < 0;
	}
	pthread_mutex_lock(&trail->lock);
	trail->lost = trail->lost - trail->told + trail->failed;
	trail->lost_ever += lost_now;
	trail->sequence = trail->files.file.synced.sequence;
	pthread_mutex_unlock(&trail->lock);
	trail->told = trail->failed = 0;
	trail->due_usec = 0;
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

static void settle(Trail *trail)
{
	Item *first = list_take(&trail->unsynced);

	for (const Item *item = first; item; item = item->next)
		tell(trail, item);
	pthread_mutex_lock(&trail->lock);
	for (Item *item = first, *next; item; item = next) {
		next = item->next;
		if (item->waiter)
			*item->waiter = (Waiter){ .done = true, .result = item->result };
		item_free(item);
	}
	pthread_mutex_unlock(&trail->lock);
}

/* With the lock. true: time is up for what is not synced yet. */
static bool wait_for_more(Trail *trail)
{
	const struct timespec due = clock_timespec(trail->due_usec);
	int e = 0;

	while (!trail->queue.first && !trail->ending && e == 0) {
		if (trail->due_usec == 0)
			pthread_cond_wait(&trail->more, &trail->lock);
		else
			e = pthread_cond_clockwait(&trail->more, &trail->lock, CLOCK_MONOTONIC,
						   &due);
	}
	return e != 0 || trail->ending;
}

static void *write_records(void *userdata)
{
	Trail *trail = userdata;
	bool ending = false;

	while (!ending) {
		Item *batch;
		bool sync;

		pthread_mutex_lock(&trail->lock);
		sync = wait_for_more(trail);
		ending = trail->ending;
		batch = list_take(&trail->queue);
		trail->n = 0;
		trail->writing = true;
		pthread_mutex_unlock(&trail->lock);
		sync |= append_batch(trail, batch);
		if (sync) {
			sync_all(trail);
			settle(trail);
		} else {
			settle_lazy(trail);
		}
		pthread_mutex_lock(&trail->lock);
		trail->writing = false;
		pthread_cond_broadcast(&trail->settled);
		pthread_mutex_unlock(&trail->lock);
	}
	return NULL;
}

int trail_start(Trail *trail, const char *boot_id, const TrailListener *listener)
{
	sigset_t all, before;
	int r;

	trail->listener = *listener;
	trail->files.boot_id = xstrdup(boot_id);
	trail_files_load(&trail->files);
	trail->sequence = trail->files.file.end.sequence;
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
	list_add(&trail->queue, item);
	trail->n++;
	pthread_cond_signal(&trail->more);
	return 0;
}

static void add(Trail *trail, AuditRecord *record, CallerIdentity *caller, bool lazy)
{
	Item *item;

	if (!trail) {
		audit_record_clear(record);
		return;
	}
	item = item_new(trail, record, caller);
	item->lazy = lazy;
	pthread_mutex_lock(&trail->lock);
	(void)enqueue(trail, item);
	pthread_mutex_unlock(&trail->lock);
}

void trail_add(Trail *trail, AuditRecord *record, CallerIdentity *caller)
{
	add(trail, record, caller, false);
}

void trail_add_lazily(Trail *trail, AuditRecord *record, CallerIdentity *caller)
{
	add(trail, record, caller, true);
}

int trail_append(Trail *trail, AuditRecord *record, CallerIdentity *caller)
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
	item->lazy = true;
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
	while ((trail->queue.first || trail->writing) && e == 0)
		e = pthread_cond_clockwait(&trail->settled, &trail->lock, CLOCK_MONOTONIC, &until);
	written = !trail->queue.first && !trail->writing;
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
		trail_add_lazily(trail, &records[i], NULL);
	free(records);
}
