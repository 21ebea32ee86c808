/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gate before a guest: every act or undo that puts a function into a domain comes here first.
 * So the mark of the board is on disk before the guest can touch the board.
 */

#include "job/steps.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xalloc.h"

int tenant_not_stored(const JobPlace *place, const Bdf *bdf, int error, Problem **ret_problem)
{
	_cleanup_free_ char *name = tenant_file_name(bdf), *file = strf("tenants/%s", name);
	_cleanup_free_ char *what = strf("the mark of who uses %s", BDF_TEXT(bdf));

	return disk_watch_refuse(place->disk, what, file, error, ret_problem);
}

/* true: the board goes back to the domain that had it a moment ago. */
static bool goes_back(const Plan *plan)
{
	return plan->operation == OPERATION_RELEASE;
}

static bool is_ours(const StepContext *c, const TenantMark *mark)
{
	return mark->state == TENANT_DIRTY && str_equal(mark->domain_uuid, c->plan->domain_uuid);
}

/* true: the board holds no data of another tenant, or an operator accepted the risk. */
static bool may_have(const StepContext *c, const TenantFile *file, const PlanBoard *board)
{
	const TenantMark *mark = file ? file->mark : NULL;

	if (c->plan->accept_dirty && !(board && board->nvme) && !(mark && mark->n_erases > 0))
		return true;
	if (goes_back(c->plan))
		return !mark || mark->state != TENANT_DIRTY || !mark->domain_uuid ||
		       is_ours(c, mark);
	if (!file)
		return !board || board->last.state != TENANT_DIRTY || is_ours(c, &board->last);
	if (!mark || (board && !tenant_marks_match(mark, &board->last)))
		return false;
	return mark->state != TENANT_DIRTY || is_ours(c, mark);
}

static int refuse(const Bdf *bdf, const TenantFile *file, Problem **ret_problem)
{
	const TenantMark *mark = file ? file->mark : NULL;
	_cleanup_free_ char *tenant = tenancy_tenant_text(mark ? mark->domain_uuid : NULL,
							  mark ? mark->domain_name : NULL);

	return problem_refuse(
		ret_problem, GPUPASS_ERROR_RESET_FAILED,
		.reason = strf("%s was not reset since another tenant had it", BDF_TEXT(bdf)),
		.cause = strf("%s was last used by %s", BDF_TEXT(bdf), tenant),
		.remedy = xstrdup("run the command again: it is reset then"));
}

/* Of the board as the plan saw it; for a plan from a journal as its mark, or its record, has it. */
static void identify(const StepContext *c, const Bdf *bdf, const TenantMark *there,
		     const PlanBoard *board, TenantMark *ret)
{
	const Assignment *record = c->plan->assignment;
	const AssignedFunction *f = record ? assignment_function(record, bdf) : NULL;
	const TenantMark *from = board ? &board->last : there;

	ret->bdf = from ? from->bdf : *bdf;
	if (!from && !f)
		return; /* a board of no ids is none that is there: it counts as dirty */
	ret->vendor = from ? from->vendor : f->vendor;
	ret->device = from ? from->device : f->device;
	ret->subsystem_vendor = from ? from->subsystem_vendor : f->subsystem_vendor;
	ret->subsystem_device = from ? from->subsystem_device : f->subsystem_device;
	ret->uuid = xstrdup(from ? from->uuid : f->uuid);
	ret->serial_number = xstrdup(from ? from->serial_number : f->serial_number);
}

/* *ret is the mark that the board gets. 0: it has it. */
#define NEW_MARK 2
static int mark_board(StepContext *c, const Tenants *tenants, const Bdf *bdf, TenantMark *ret,
		      Problem **ret_problem)
{
	const TenantFile *file = tenants_find(tenants, bdf);
	const PlanBoard *board = plan_board(c->plan, bdf);
	const TenantMark *there = file ? file->mark : NULL;

	if (!may_have(c, file, board))
		return refuse(bdf, file, ret_problem);
	if (there && is_ours(c, there) && (!board || tenant_marks_match(there, &board->last)))
		return 0;
	/* What cannot be understood says dirty as it is. */
	if (file && !there && goes_back(c->plan))
		return 0;
	*ret = (TenantMark){ .state = TENANT_DIRTY, .since_usec = now_realtime() };
	ret->no_method = there && there->no_method;
	if (there && there->n_erases > 0) {
		ret->erases = xcalloc(1, sizeof(NvmeReceipt));
		ret->erases[0] = nvme_receipt_copy(&there->erases[0]);
		ret->n_erases = 1;
	}
	identify(c, bdf, there, board, ret);
	ret->domain_uuid = xstrdup(c->plan->domain_uuid);
	ret->domain_name = xstrdup(c->plan->domain_name);
	ret->why = xstrdup(goes_back(c->plan) ? "given back by a release that failed"
					      : "given to it by gpupass");
	return NEW_MARK;
}

/* All at once: a domain gets the whole group, or nothing of it. */
static int mark_boards(StepContext *c, const Tenants *tenants, TenantMark *marks, size_t *n,
		       Problem **ret_problem)
{
	const Plan *plan = c->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->n_functions; i++) {
		if (!plan_begins_board(plan, i))
			continue;
		r = mark_board(c, tenants, &plan->functions[i].bdf, &marks[*n], ret_problem);
		if (r == NEW_MARK) {
			++*n;
			r = 0;
		}
	}
	return r;
}

static int save_marks(const StepContext *c, const TenantMark *marks, size_t n,
		      Problem **ret_problem)
{
	int r = n > 0 ? tenant_store_save(c->place->tenants, marks, n) : 0;

	return r < 0 ? tenant_not_stored(c->place, &marks[0].bdf, r, ret_problem) : 0;
}

static int refuse_unread(const RecordFault *fault, Problem **ret_problem)
{
	return problem_refuse(ret_problem, GPUPASS_ERROR_STATE_READ_ONLY,
			      .reason = xstrdup("who had its boards last cannot be read"),
			      .cause = record_fault_what(fault),
			      .remedy = xstrdup(record_fault_remedy(fault)));
}

int step_mark_tenant(StepContext *c, Problem **ret_problem)
{
	_cleanup_(tenants_freep) Tenants *tenants = NULL;
	TenantMark *marks;
	size_t n = 0;
	int r;

	if (!c->place->tenants)
		return 0;
	tenants = tenant_store_load(c->place->tenants);
	if (tenants->unread)
		return refuse_unread(&tenants->faults.items[0], ret_problem);
	marks = xcalloc(c->plan->n_functions + 1, sizeof(TenantMark));
	r = mark_boards(c, tenants, marks, &n, ret_problem);
	if (r == 0)
		r = save_marks(c, marks, n, ret_problem);
	for (size_t i = 0; i < n; i++)
		tenant_mark_clear(&marks[i]);
	free(marks);
	return r;
}
