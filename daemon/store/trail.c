/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/trail.h"

#include "util/clock.h"
#include "util/mutex.h"
#include "util/thread.h"
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
	Item *next _borrowed_;
	AuditRecord record;
	LineHash hash;
	CallerIdentity *caller;
	Waiter *waiter _borrowed_; /* NULL: nobody waits */
	bool lazy;		   /* it need not be on disk before another one is */
	int result;
};
LOCAL_FREE(Item, item_free)

typedef struct ItemList {
	Item *first, *last;
} ItemList;

/* ---- which processes were last seen with a device's file open, so that only news is recorded ---- */

LOCAL_CLEAR(Holder, holder_clear)
LOCAL_COPY(Holder, holder_copy)

/* More are not remembered, and so recorded each time. */
#define HOLDERS_MAX 512

typedef struct Holders {
	pthread_mutex_t lock;
	Holder items[HOLDERS_MAX];
	size_t n;
} Holders;

static void holders_clear(Holders *holders)
{
	for (size_t i = 0; i < holders->n; i++)
		holder_clear(&holders->items[i]);
	pthread_mutex_destroy(&holders->lock);
}

static bool is_same(const Holder *known, const Holder *holder)
{
	return bdf_compare(&known->bdf, &holder->bdf) == 0 && known->pid == holder->pid &&
	       str_equal(known->path, holder->path) && str_equal(known->command, holder->command);
}

static const Holder *find_known(const Holders *holders, const Holder *holder)
{
	return FIND(holders->items, holders->n, is_same(it, holder));
}

/* Also when it is not known. */
static bool still_holds(const Inspection *inspection, const Holder *known)
{
	if (inspection->all_unseen > inspection->n_unseen)
		return true;
	return SOME(inspection->unseen, inspection->n_unseen, it->pid == known->pid) ||
	       SOME(inspection->holders, inspection->n_holders, is_same(known, it));
}

static AuditRecord make_record(AuditKind kind, const Holder *known)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;

	record.kind = kind;
	record.pid = (int)known->pid;
	record.command = audit_text(known->command);
	record.unit = audit_text(known->unit);
	record.reason = audit_text(known->path);
	strv_append(&record.functions, BDF_TEXT(&known->bdf));
	return record;
}

static void note_gone(Holders *holders, const Inspection *inspection, AuditRecord *records,
		      size_t *n)
{
	for (size_t i = 0; i < holders->n;) {
		Holder *known = &holders->items[i];

		/* Of other functions this look says nothing. */
		if (!inspection_find(inspection, &known->bdf) || still_holds(inspection, known)) {
			i++;
			continue;
		}
		records[(*n)++] = make_record(AUDIT_HOLDER_GONE, known);
		holder_clear(known);
		*known = holders->items[--holders->n];
	}
}

static void note_come(Holders *holders, const Inspection *inspection, AuditRecord *records,
		      size_t *n)
{
	EACH (const Holder, holder, inspection->holders, inspection->n_holders) {
		if (find_known(holders, holder))
			continue;
		records[(*n)++] = make_record(AUDIT_HOLDER, holder);
		/* Without room it is not remembered, and the next look records it again. */
		if (holders->n < HOLDERS_MAX)
			holders->items[holders->n++] = holder_copy(holder);
	}
}

/* *ret: a record for each that came or went, which the caller frees. */
static void holders_note(Holders *holders, const Inspection *inspection, AuditRecord **ret,
			 size_t *ret_n)
{
	MUTEX_HOLD(&holders->lock);

	*ret = xcalloc(holders->n + inspection->n_holders + 1, sizeof(AuditRecord));
	note_gone(holders, inspection, *ret, ret_n);
	note_come(holders, inspection, *ret, ret_n);
}

/* ---- the trail ---- */

struct Trail {
	TrailFiles files; /* the thread's, once that runs */
	TrailListener listener;
	Holders holders;
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
	pthread_mutex_init(&trail->holders.lock, NULL);
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

static void ask_to_end(Trail *trail)
{
	MUTEX_HOLD(&trail->lock);

	trail->ending = true;
	pthread_cond_broadcast(&trail->more);
}

Trail *trail_free(Trail *trail)
{
	if (!trail)
		return NULL;
	if (trail->started) {
		ask_to_end(trail);
		pthread_join(trail->thread, NULL);
	}
	for (Item *item = list_take(&trail->queue), *next; item; item = next) {
		next = item->next;
		item_free(item);
	}
	pthread_cond_destroy(&trail->settled);
	pthread_cond_destroy(&trail->more);
	pthread_mutex_destroy(&trail->lock);
	holders_clear(&trail->holders);
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

static uint64_t lost_now(Trail *trail)
{
	MUTEX_HOLD(&trail->lock);

	return trail->lost;
}

static bool append_batch(Trail *trail, Item *first)
{
	uint64_t lost = lost_now(trail);
	bool sync = false;

	for (Item *item = first, *next; item; item = next) {
		next = item->next;
		sync |= append_item(trail, item, lost);
	}
	return sync;
}

/* For what was appended, and need not be on disk, the callee is told at once. */
static void settle_lazy(Trail *trail)
{
	MUTEX_HOLD(&trail->lock);

	for (Item *item = trail->unsynced.first; item; item = item->next)
		if (item->lazy && item->waiter) {
			*item->waiter = (Waiter){ .done = true, .result = item->result };
			item->waiter = NULL;
		}
	pthread_cond_broadcast(&trail->settled);
}

static void sync_all(Trail *trail)
{
	uint64_t lost = 0;
	int r = ledger_sync(&trail->files.file);

	/* Nothing of it is on disk: also what was said of losses is not. */
	if (r < 0)
		trail->told = trail->failed = 0;
	for (Item *item = trail->unsynced.first; item; item = item->next) {
		if (r < 0) {
			item->result = r;
			trail->failed++;
		}
		lost += item->result < 0;
	}
	pthread_mutex_lock(&trail->lock);
	trail->lost = trail->lost - trail->told + trail->failed;
	trail->lost_ever += lost;
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
	MUTEX_HOLD(&trail->lock);
	for (Item *item = first, *next; item; item = next) {
		next = item->next;
		if (item->waiter)
			*item->waiter = (Waiter){ .done = true, .result = item->result };
		item_free(item);
	}
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
	int r;

	trail->listener = *listener;
	trail->files.boot_id = xstrdup(boot_id);
	trail_files_load(&trail->files);
	trail->sequence = trail->files.file.end.sequence;
	r = thread_start(&trail->thread, write_records, trail, false);
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
	MUTEX_HOLD(&trail->lock);
	(void)enqueue(trail, item);
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
	MUTEX_HOLD(&trail->lock);
	r = enqueue(trail, item);
	while (r >= 0 && !waiter.done)
		pthread_cond_wait(&trail->settled, &trail->lock);
	return r < 0 ? r : waiter.result;
}

bool trail_flush(Trail *trail, uint64_t timeout_usec)
{
	const struct timespec until = clock_timespec(now_monotonic() + timeout_usec);
	int e = 0;

	if (!trail)
		return true;
	MUTEX_HOLD(&trail->lock);
	while ((trail->queue.first || trail->writing) && e == 0)
		e = pthread_cond_clockwait(&trail->settled, &trail->lock, CLOCK_MONOTONIC, &until);
	return !trail->queue.first && !trail->writing;
}

uint64_t trail_sequence(Trail *trail)
{
	if (!trail)
		return 0;
	MUTEX_HOLD(&trail->lock);
	return trail->sequence;
}

void trail_health(Trail *trail, bool *ret_writable, uint64_t *ret_lost)
{
	MUTEX_HOLD(&trail->lock);

	*ret_writable = trail->lost == 0;
	*ret_lost = trail->lost_ever;
}

void trail_note_holders(Trail *trail, const Inspection *inspection)
{
	AuditRecord *records = NULL;
	size_t n = 0;

	if (!trail)
		return;
	holders_note(&trail->holders, inspection, &records, &n);
	for (size_t i = 0; i < n; i++)
		trail_add_lazily(trail, &records[i], NULL);
	free(records);
}

#include "trail.inc"
