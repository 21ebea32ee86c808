/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making the VFs of NICs that groups are declared with, and keeping each to its own address. */
#include "job/steps.h"

static int set_number(StepContext *c, const PlanNic *nic, unsigned number, bool autoprobe,
		      Problem **ret_problem)
{
	const Inventory *seen = c->prepared ? c->prepared->inventory : NULL;
	bool running = false;
	int r;

	vf_watch_forget(c->place->vfs, seen ? seen->snapshot : NULL, &nic->bdf);
	r = host_make_vfs(c->place->host, &nic->bdf, number, autoprobe, &running, ret_problem);
	if (running)
		step_remember_stuck(c, &nic->bdf, "a worker still makes VFs of %s",
				    BDF_TEXT(&nic->bdf));
	return r;
}

static int make_vfs(StepContext *c, Problem **ret_problem)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->plan->n_nics; i++)
		r = set_number(c, &c->plan->nics[i], c->plan->nics[i].number, false, ret_problem);
	if (r == 0)
		r = host_rule_vfs(c->place->host, c->plan->vfs, c->plan->n_vfs, true, ret_problem);
	if (r == 0)
		vf_watch_add(c->place->vfs, c->plan->vfs, c->plan->n_vfs);
	return r == 0 ? step_move(c, STEP_MOVE_VFS, ret_problem) : r;
}

/* Rules that keep a guest to itself stay. A boot has taken the VFs; the NIC there may be another. */
static int unmake_vfs(StepContext *c, Problem **ret_problem)
{
	int r = 0;

	for (size_t i = c->rebooted ? 0 : c->plan->n_nics; r == 0 && i-- > 0;)
		r = set_number(c, &c->plan->nics[i], c->plan->nics[i].before,
			       c->plan->nics[i].autoprobe > 0, ret_problem);
	return r;
}

static int are_there(StepContext *c, Problem **ret_problem)
{
	return host_rule_vfs(c->place->host, c->plan->vfs, c->plan->n_vfs, false, ret_problem);
}

/*
 * VFs that stay, as those that udev bound for a group that is assigned, do no harm: the fence is
 * closed until a prepare has kept them to their address.
 */
const StepOps step_vfs = {
	.act = make_vfs,
	.undo = unmake_vfs,
	.holds = are_there,
	.changes = STEP_CHANGES_MODE,
	.shows = GROUP_UNREADY,
	.undo_optional = true,
};
