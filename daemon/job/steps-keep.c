/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps that write and remove a kept group. */
#include <string.h>

#include "job/steps.h"
#include "util/text.h"
#include "util/xalloc.h"

static int cannot_keep(const StepContext *c, int error, Problem **ret_problem)
{
	_cleanup_free_ char *name = kept_file_name(c->plan->kept), *file = strf("kept.d/%s", name);
	_cleanup_free_ char *what = strf("the file that keeps %s on vfio-pci", c->plan->group);

	return disk_watch_refuse(c->place->disk, what, file, error, ret_problem);
}

/* A place without a store cannot keep anything. */
static KeptStore *store_of(const StepContext *c)
{
	return c->place->store->kept;
}

int step_check_keep(StepContext *c, Problem **ret_problem)
{
	int r;

	if (!c->plan->kept)
		return 0;
	r = store_of(c) ? kept_store_check(store_of(c), c->plan->kept) : -ENOSYS;
	return r < 0 ? cannot_keep(c, r, ret_problem) : 0;
}

static int keep(StepContext *c, Problem **ret_problem)
{
	int r = store_of(c) ? kept_store_save(store_of(c), c->plan->kept) : -ENOSYS;

	return r < 0 ? cannot_keep(c, r, ret_problem) : 0;
}

static int unkeep(StepContext *c, Problem **ret_problem)
{
	int r = store_of(c) ? kept_store_remove(store_of(c), c->plan->kept) : -ENOSYS;

	return r < 0 ? cannot_keep(c, r, ret_problem) : 0;
}

/* 1: a file says that a person asked for it; 0: none does. */
static int is_stored(const StepContext *c)
{
	_cleanup_(assignments_freep) Assignments *all = xcalloc(1, sizeof(Assignments));

	if (!store_of(c))
		return -ENOSYS;
	kept_store_load(store_of(c), all);
	for (size_t i = 0; i < all->n_kept; i++)
		if (kept_covers(all->kept[i], c->plan->kept))
			return 1;
	return 0;
}

static int is_kept(StepContext *c, Problem **ret_problem)
{
	int r = is_stored(c);

	if (r > 0)
		return 0;
	return cannot_keep(c, r < 0 ? r : -ENOENT, ret_problem);
}

static int is_not_kept(StepContext *c, Problem **ret_problem)
{
	int r = is_stored(c);

	if (r == 0)
		return 0;
	return cannot_keep(c, r < 0 ? r : -EEXIST, ret_problem);
}

/*
 * The undo of each is the other: a plan has a step only for what changes. What KeepBound= names,
 * the manager writes again by itself.
 */
const StepOps step_keep = {
	.act = keep,
	.undo = unkeep,
	.holds = is_kept,
	.changes = STEP_CHANGES_RECORD,
	.finishes = true,
	.announced = true,
};
const StepOps step_unkeep = {
	.act = unkeep,
	.undo = keep,
	.holds = is_not_kept,
	.changes = STEP_CHANGES_RECORD,
	.finishes = true,
	.announced = true,
};
