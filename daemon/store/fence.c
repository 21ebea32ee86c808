/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FILE_MAX (4U * 1024 * 1024)

struct FenceHold {
	FenceHold *next;
	uint32_t job;
	char *group;
	Bdf *functions;
	size_t n_functions;
};

static FenceHold *fence_hold_free(FenceHold *hold)
{
	if (!hold)
		return NULL;
	free(hold->group);
	free(hold->functions);
	free(hold);
	return NULL;
}
DEFINE_CLEANUP(FenceHold, fence_hold_free)

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
	pthread_mutex_init(&ret->lock, NULL);
	r = dir_open_private(state_directory, &ret->dir_fd);
	if (r >= 0)
		read_last(ret);
	return r;
}

void fence_store_close(FenceStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
	store->last = fence_free(store->last);
	store->written = fence_free(store->written);
	while (store->holds) {
		FenceHold *next = store->holds->next;

		fence_hold_free(store->holds);
		store->holds = next;
	}
	pthread_mutex_destroy(&store->lock);
}

static void close_held(Fence *fence, const FenceHold *hold)
{
	_cleanup_free_ char *reason =
		strf("job %u is at work on it, or was interrupted", hold->job);

	fence_close(fence, hold->group, hold->functions, hold->n_functions, FENCE_BUSY, reason);
}

static bool is_new(const FenceStore *store, const Fence *fence, uint64_t now_usec)
{
	const Fence *written = store->written;

	return !written || !fence_equal(written, fence) || now_usec < written->written_usec ||
	       now_usec - written->written_usec >= FENCE_REFRESH_USEC;
}

/* Takes what was written. */
static int write_fence(FenceStore *store, Fence **fence, uint64_t now_usec)
{
	_cleanup_free_ char *text = NULL;
	int r;

	(*fence)->generation = store->generation + 1;
	(*fence)->written_usec = now_usec;
	text = fence_to_json(*fence);
	/* After a failure either may be there. */
	store->written = fence_free(store->written);
	r = file_replace_at(store->dir_fd, FENCE_FILE, text, strlen(text), FILE_MODE_PRIVATE);
	if (r < 0)
		return r;
	store->generation++;
	store->written = TAKE_PTR(*fence);
	return 0;
}

static bool is_one_of(uint32_t job, const uint32_t *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (jobs[i] == job)
			return true;
	return false;
}

/* The fence with all holds but those of these jobs. */
static int write_held(FenceStore *store, const Fence *fence, const uint32_t *but, size_t n_but,
		      uint64_t now_usec)
{
	_cleanup_(fence_freep) Fence *held = fence_copy(fence);

	for (const FenceHold *hold = store->holds; hold; hold = hold->next)
		if (!is_one_of(hold->job, but, n_but))
			close_held(held, hold);
	return is_new(store, held, now_usec) ? write_fence(store, &held, now_usec) : 0;
}

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

static int update_locked(FenceStore *store, Fence **fence, const uint32_t *ended, size_t n_ended,
			 uint64_t now_usec)
{
	int r = write_held(store, *fence, ended, n_ended, now_usec);

	if (r < 0)
		return r;
	let_go(store, ended, n_ended);
	fence_free(store->last);
	store->last = TAKE_PTR(*fence);
	return 0;
}

int fence_store_update(FenceStore *store, const Fence *fence, const uint32_t *ended, size_t n_ended,
		       uint64_t now_usec)
{
	_cleanup_(fence_freep) Fence *copy = fence_copy(fence);
	int r;

	pthread_mutex_lock(&store->lock);
	r = update_locked(store, &copy, ended, n_ended, now_usec);
	pthread_mutex_unlock(&store->lock);
	return r;
}

static void check_locked(FenceStore *store, char **ret_fault)
{
	_cleanup_free_ char *text = NULL, *message = NULL;
	_cleanup_(fence_freep) Fence *found = NULL;
	size_t size = 0;
	int r;

	if (!store->written)
		return; /* nobody says yet what should be there */
	r = file_read_state_at(store->dir_fd, FENCE_FILE, FILE_MAX, &text, &size);
	if (r >= 0)
		r = fence_from_json(text, size, &found, &message);
	if (r >= 0 && fence_equal(found, store->written))
		return;
	store->written = fence_free(store->written);
	*ret_fault =
		strf(FENCE_FILE " %s%s", r < 0 ? "cannot be read: " : "is not what was written",
		     r >= 0    ? ""
		     : message ? message
			       : file_state_error(r));
}

char *fence_store_check(FenceStore *store)
{
	char *fault = NULL;

	pthread_mutex_lock(&store->lock);
	check_locked(store, &fault);
	pthread_mutex_unlock(&store->lock);
	return fault;
}

static FenceHold *hold_new(uint32_t job, const char *group, const Bdf *functions, size_t n)
{
	FenceHold *hold = xmalloc(sizeof(FenceHold));

	*hold = (FenceHold){
		.job = job,
		.group = xstrdup(group),
		.functions = xmemdup(functions, n * sizeof(Bdf)),
		.n_functions = n,
	};
	return hold;
}

/* Without a fence the hook refuses all GPUs, so there is nothing to close yet. */
static int hold_locked(FenceStore *store, FenceHold **hold, uint64_t now_usec)
{
	int r;

	(*hold)->next = store->holds;
	store->holds = *hold;
	r = store->last ? write_held(store, store->last, NULL, 0, now_usec) : 0;
	if (r < 0)
		store->holds = (*hold)->next;
	else
		TAKE_PTR(*hold);
	return r;
}

int fence_store_hold(FenceStore *store, uint32_t job, const char *group, const Bdf *functions,
		     size_t n, uint64_t now_usec)
{
	_cleanup_(fence_hold_freep) FenceHold *hold = hold_new(job, group, functions, n);
	int r;

	pthread_mutex_lock(&store->lock);
	r = hold_locked(store, &hold, now_usec);
	pthread_mutex_unlock(&store->lock);
	return r;
}
