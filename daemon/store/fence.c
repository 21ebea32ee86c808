/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/fence.h"

#include "util/file.h"
#include "util/mutex.h"
#include "util/xalloc.h"

#define FILE_MAX (4U * 1024 * 1024)

/* What the daemon before wrote is on disk, but nobody stands by it: it is not `written`. */
static void read_last(FenceStore *store)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;

	if (file_read_state_at(store->dir_fd, FENCE_FILE, FILE_MAX, &text, &size) >= 0)
		(void)fence_from_json(text, size, &store->last, NULL);
	if (store->last)
		store->generation = store->last->generation;
}

int fence_store_open(const char *state_directory, FenceStore *ret)
{
	int r;

	*ret = (FenceStore){ .dir_fd = -1 };
	pthread_mutex_init(&ret->writing, NULL);
	pthread_mutex_init(&ret->lock, NULL);
	r = dir_open_private(state_directory, &ret->dir_fd);
	if (r >= 0)
		read_last(ret);
	return r;
}

static void close_held(Fence *fence, const FenceHold *hold)
{
	_cleanup_free_ char *reason =
		strf("job %u is at work on it, or was interrupted", hold->job);

	fence_close(fence, hold->group, hold->functions, hold->n_functions, FENCE_BUSY, reason);
}

static bool same_functions(const FenceGroup *a, const FenceGroup *b)
{
	for (size_t i = 0; a->n_functions == b->n_functions && i < a->n_functions; i++)
		if (!bdf_equal(&a->functions[i].bdf, &b->functions[i].bdf))
			return false;
	return a->n_functions == b->n_functions;
}

/* On an unsafe group a vGPU may start: check_vgpu(). */
static bool is_closed(const FenceGroup *was, const FenceGroup *is)
{
	return was->state != FENCE_OPEN && was->state != FENCE_UNSAFE && same_functions(was, is);
}

/*
 * true: the file that is there refuses whatever this one refuses, so that it does no harm if a power
 * cut brings it back; the next daemon writes another. So it is with the one that a job's end
 * replaces: the job's group is closed in it, and all others are as they were.
 */
static bool only_opens(const Fence *written, const Fence *fence)
{
	return written && fence_equal_but(written, fence, is_closed);
}

/* Whose it is and was is no matter while a job is at work on it: nobody gets it. */
static bool is_still_busy(const FenceGroup *was, const FenceGroup *is)
{
	return was->state == FENCE_BUSY && is->state == FENCE_BUSY &&
	       str_equal(was->reason, is->reason) && str_equal(was->name, is->name) &&
	       same_functions(was, is);
}

static bool is_new(const FenceStore *store, const Fence *fence, uint64_t now_usec)
{
	const Fence *written = store->written;

	return !written || !fence_equal_but(written, fence, is_still_busy) ||
	       now_usec < written->written_usec ||
	       now_usec - written->written_usec >= FENCE_REFRESH_USEC;
}

/* Takes what was written. */
static int write_fence(FenceStore *store, Fence **fence, uint64_t now_usec)
{
	_cleanup_free_ char *text = NULL;
	bool opens = only_opens(store->written, *fence);
	int r;

	(*fence)->generation = store->generation + 1;
	(*fence)->written_usec = now_usec;
	text = fence_to_json(*fence);
	/* After a failure either may be there. */
	store->written = fence_free(store->written);
	r = file_put_at(store->dir_fd, FENCE_FILE, text, strlen(text), FILE_MODE_PRIVATE);
	if (r >= 0 && !opens)
		r = file_sync_dir(store->dir_fd);
	if (r < 0)
		return r;
	store->generation++;
	store->written = TAKE_PTR(*fence);
	return 0;
}

static bool is_one_of(uint32_t job, const uint32_t *jobs, size_t n)
{
	return SOME_OF(jobs, n, it == job);
}

/*
 * The fence with all holds but those of these jobs; `fence` NULL: the last one. Without any the hook
 * refuses all GPUs, so that there is nothing to close yet.
 */
static Fence *with_holds(FenceStore *store, const Fence *fence, const uint32_t *but, size_t n_but)
{
	Fence *held = NULL;
	MUTEX_HOLD(&store->lock);

	if (fence || store->last)
		held = fence_copy(fence ? fence : store->last);
	for (const FenceHold *hold = store->holds; held && hold; hold = hold->next)
		if (!is_one_of(hold->job, but, n_but))
			close_held(held, hold);
	return held;
}

static int write_held(FenceStore *store, const Fence *fence, const uint32_t *but, size_t n_but,
		      uint64_t now_usec)
{
	_cleanup_(fence_freep) Fence *held = with_holds(store, fence, but, n_but);

	return held && is_new(store, held, now_usec) ? write_fence(store, &held, now_usec) : 0;
}

/* With the lock. */
static void let_go(FenceStore *store, const uint32_t *ended, size_t n)
{
	for (FenceHold **at = &store->holds; *at;) {
		FenceHold *hold = *at;

		if (!is_one_of(hold->job, ended, n)) {
			at = &hold->next;
			continue;
		}
		*at = hold->next;
		fence_hold_free(hold);
	}
}

static void take(FenceStore *store, const Fence *fence, const uint32_t *ended, size_t n_ended)
{
	MUTEX_HOLD(&store->lock);

	let_go(store, ended, n_ended);
	fence_free(store->last);
	store->last = fence_copy(fence);
}

int fence_store_update(FenceStore *store, const Fence *fence, const uint32_t *ended, size_t n_ended,
		       uint64_t now_usec)
{
	int r;
	MUTEX_HOLD(&store->writing);

	r = write_held(store, fence, ended, n_ended, now_usec);
	if (r >= 0)
		take(store, fence, ended, n_ended);
	return r;
}

char *fence_store_check(FenceStore *store)
{
	_cleanup_free_ char *text = NULL, *message = NULL;
	_cleanup_(fence_freep) Fence *found = NULL;
	size_t size = 0;
	int r;
	MUTEX_HOLD(&store->writing);

	if (!store->written)
		return NULL; /* nobody says yet what should be there */
	r = file_read_state_at(store->dir_fd, FENCE_FILE, FILE_MAX, &text, &size);
	if (r >= 0)
		r = fence_from_json(text, size, &found, &message);
	if (r >= 0 && fence_equal_but(found, store->written, NULL))
		return NULL;
	store->written = fence_free(store->written);
	if (r >= 0)
		return xstrdup(FENCE_FILE " is not what was written");
	return strf(FENCE_FILE " cannot be read: %s", message ? message : file_state_error(r));
}

static void add_hold(FenceStore *store, uint32_t job, const char *group, const Bdf *functions,
		     size_t n)
{
	FenceHold *hold = xmalloc(sizeof(FenceHold));
	MUTEX_HOLD(&store->lock);

	*hold = (FenceHold){
		.next = store->holds,
		.job = job,
		.group = xstrdup(group),
		.functions = xmemdup(functions, n * sizeof(Bdf)),
		.n_functions = n,
	};
	store->holds = hold;
}

static int write_all(FenceStore *store, uint64_t now_usec)
{
	MUTEX_HOLD(&store->writing);

	return write_held(store, NULL, NULL, 0, now_usec);
}

/* Whoever writes next, writes it for all that wait. */
int fence_store_hold(FenceStore *store, uint32_t job, const char *group, const Bdf *functions,
		     size_t n, uint64_t now_usec)
{
	int r;

	add_hold(store, job, group, functions, n);
	r = write_all(store, now_usec);
	if (r < 0) {
		MUTEX_HOLD(&store->lock);
		let_go(store, &job, 1);
	}
	return r < 0 ? r : 0;
}

bool fence_store_holds(FenceStore *store, uint32_t job)
{
	const FenceHold *hold;
	MUTEX_HOLD(&store->lock);

	for (hold = store->holds; hold && hold->job != job;)
		hold = hold->next;
	return hold;
}

#include "fence.inc"
