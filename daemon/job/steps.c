/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/steps.h"

#include "util/xalloc.h"

/* What the "done" of each rests on: every_step_names_its_evidence(), in its tests. */
static const StepOps *const steps[] = {
	[STEP_PREFLIGHT] = &step_preflight,
	[STEP_BIND] = &step_bind,
	[STEP_DEFINE] = &step_define,
	[STEP_ATTACH] = &step_attach,
	[STEP_DETACH] = &step_detach,
	[STEP_RESET] = &step_reset,
	[STEP_RESTORE] = &step_restore,
	[STEP_VERIFY] = &step_verify,
	[STEP_PERSISTENCE_OFF] = &step_persistence_off,
	[STEP_PERSISTENCE_ON] = &step_persistence_on,
	[STEP_RECORD] = &step_record,
	[STEP_FORGET] = &step_forget,
	[STEP_KEEP] = &step_keep,
	[STEP_UNKEEP] = &step_unkeep,
	[STEP_VFS] = &step_vfs,
	[STEP_ERASE] = &step_erase,
};

/*
 * What must be on disk before a step begins. The begin of the journal announces all steps up to the
 * first that has an effect. Recovery undoes the whole plan, and each undo looks first, so that it
 * does no harm where the act never began:
 *
 * preflight, verify  change nothing;
 * bind, restore      move functions to the drivers they are on;
 * define             finds the definition as it was before;
 * detach             attaches what the guest has already, which libvirt refuses as there;
 * reset              has no undo; that it was made stands in the boards' marks;
 * persistence        sets a mode that is set;
 * record, forget     find the record as it was before;
 * vfs                sets the number of VFs that there was before;
 * erase              as bind; what is not erased stands in the NVMe's mark.
 *
 * But the undo of attach resets what a guest may have had, and those of keep and unkeep remove files
 * that share a function: these are announced (StepOps.announced), and so are all steps before them.
 */
_Static_assert(ELEMENTS(steps) == STEP_KIND_MAX_, "every step kind has its operations");

const StepOps *step_ops(StepKind kind)
{
	return steps[kind];
}

#include "steps.inc"

static int cannot_store(const StepContext *c, int error, Problem **ret_problem)
{
	_cleanup_free_ char *file =
		strf("assignments.d/%s*.json", c->plan->assignment->domain_uuid);

	return disk_watch_refuse(c->place->disk, "the assignment", file, error, ret_problem);
}

/* Checked before any change, and not when all changes would have to be undone. */
static int check_store(const StepContext *c, Problem **ret_problem)
{
	int r;

	if (!plan_has_step(c->plan, STEP_RECORD) && !plan_has_step(c->plan, STEP_FORGET))
		return 0;
	r = assignment_store_check(c->place->store, c->plan->assignment);
	return r < 0 ? cannot_store(c, r, ret_problem) : 0;
}

/* All else that the first write goes by was looked at by prepare(), with the fence closed. */
static int preflight(StepContext *c, Problem **ret_problem)
{
	int r = check_store(c, ret_problem);

	return r == 0 ? step_check_keep(c, ret_problem) : r;
}

const StepOps step_preflight = { .act = preflight, .shows = GROUP_BINDING };

/* Re-reads the post-condition of every other step of the plan. */
static int verify(StepContext *c, Problem **ret_problem)
{
	for (size_t i = 0; i < c->plan->n_steps && c->plan->steps[i] != STEP_VERIFY; i++) {
		const StepOps *ops = step_ops(c->plan->steps[i]);
		int r = ops->holds ? ops->holds(c, ret_problem) : 0;

		if (r != 0)
			return r;
	}
	return 0;
}

const StepOps step_verify = { .act = verify };

static int record(StepContext *c, Problem **ret_problem)
{
	int r = assignment_store_save(c->place->store, c->plan->assignment);

	return r < 0 ? cannot_store(c, r, ret_problem) : 0;
}

static int forget(StepContext *c, Problem **ret_problem)
{
	int r = assignment_store_remove(c->place->store, c->plan->assignment);

	return r < 0 ? cannot_store(c, r, ret_problem) : 0;
}

/* The assignment as it is stored, as text; NULL: there is none. */
static char *stored_text(const StepContext *c)
{
	_cleanup_(assignments_freep) Assignments *all = assignment_store_load(c->place->store);
	const Assignment *assignment = assignments_find_same(all, c->plan->assignment);

	return assignment ? assignment_to_json(assignment) : NULL;
}

/* Restores the previous record, if there was one. Writes nothing if the record is unchanged. */
static int put_back_record(StepContext *c, Problem **ret_problem)
{
	const Assignment *before =
		assignments_find_same(c->prepared->assignments, c->plan->assignment);
	_cleanup_free_ char *now = stored_text(c), *then = NULL;
	int r;

	if (before)
		then = assignment_to_json(before);
	if (str_equal(now, then))
		return 0;
	r = before ? assignment_store_save(c->place->store, before)
		   : assignment_store_remove(c->place->store, c->plan->assignment);
	return r < 0 ? cannot_store(c, r, ret_problem) : 0;
}

static int is_recorded(StepContext *c, bool wanted, Problem **ret_problem)
{
	_cleanup_free_ char *now = stored_text(c);

	if (!now == !wanted)
		return 0;
	return cannot_store(c, wanted ? -ENOENT : -EEXIST, ret_problem);
}

static int recorded(StepContext *c, Problem **ret_problem)
{
	return is_recorded(c, true, ret_problem);
}

static int forgotten(StepContext *c, Problem **ret_problem)
{
	return is_recorded(c, false, ret_problem);
}

const StepOps step_record = {
	.act = record,
	.undo = put_back_record,
	.holds = recorded,
	.changes = STEP_CHANGES_RECORD,
	.finishes = true,
};
const StepOps step_forget = {
	.act = forget,
	.undo = put_back_record,
	.holds = forgotten,
	.changes = STEP_CHANGES_RECORD,
	.shows = GROUP_RELEASING,
	.finishes = true,
};

/* ---- kept groups ---- */

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
