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
static int by_store(const StepContext *c, int (*what)(KeptStore *store, const Assignment *kept),
		    Problem **ret_problem)
{
	KeptStore *store = c->place->store->kept;
	int r = store ? what(store, c->plan->kept) : -ENOSYS;

	return r < 0 ? cannot_keep(c, r, ret_problem) : 0;
}

int step_check_keep(StepContext *c, Problem **ret_problem)
{
	return c->plan->kept ? by_store(c, kept_store_check, ret_problem) : 0;
}

static int keep(StepContext *c, Problem **ret_problem)
{
	return by_store(c, kept_store_save, ret_problem);
}

static int unkeep(StepContext *c, Problem **ret_problem)
{
	return by_store(c, kept_store_remove, ret_problem);
}

/* A file says that a person asked for it. */
static bool is_stored(KeptStore *store, const Assignment *kept)
{
	_cleanup_(assignments_freep) Assignments *all = xcalloc(1, sizeof(Assignments));

	if (store)
		records_load(store, kept_take, all);
	return SOME_OF(all->kept, all->n_kept, kept_covers(it, kept));
}

static int is_kept(StepContext *c, Problem **ret_problem)
{
	return is_stored(c->place->store->kept, c->plan->kept)
		       ? 0
		       : cannot_keep(c, -ENOENT, ret_problem);
}

static int is_not_kept(StepContext *c, Problem **ret_problem)
{
	return is_stored(c->place->store->kept, c->plan->kept)
		       ? cannot_keep(c, -EEXIST, ret_problem)
		       : 0;
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
