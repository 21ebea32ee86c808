/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The turnover between two tenants. Each function that leaves a domain, or comes to one from
 * another, is reset while it is on vfio-pci and no process has it open. It must then answer again.
 * A receipt records the reset, and the mark of its board becomes clean. vfio also resets a function
 * when its file is closed, but reports no failure.
 */

#include "job/turnover.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xalloc.h"

/* ---- memory ---- */

static const char *unpolled_reason(const Turnover *t, const ReceiptBoard *board)
{
	if (!board->reset)
		return "it was not reset";
	if (!t->context->place->rules->policy.poll_memory_clear)
		return "nobody asked: PollMemoryClear=";
	return "it is known to say so after a bus reset only";
}

/* Nobody reads registers of GPUs from a companion. */
static bool is_gpu(const Turnover *t, const Bdf *bdf)
{
	const Plan *plan = t->context->plan;
	const PlanBoard *planned = plan_board(plan, bdf);
	const AssignedFunction *then =
		plan->assignment ? assignment_function(plan->assignment, bdf) : NULL;

	return (planned ? planned->last.vendor : then ? then->vendor : 0) == PCI_VENDOR_NVIDIA;
}

/*
 * Reads from the boards whether they have cleared their memory, where the operator wants it in the
 * receipt. It decides nothing: a reset is no proof of cleared memory, and most boards cannot tell.
 */
static void poll_memory(Turnover *t)
{
	Host *host = t->context->place->host;
	size_t n = 0;

	EACH (ReceiptBoard, board, t->boards, t->n_boards) {
		const ResetReport *report = turnover_report(t, &board->bdf);

		if (is_gpu(t, &board->bdf) && board->reset && report &&
		    memory_method_clears(report->method) &&
		    t->context->place->rules->policy.poll_memory_clear)
			t->polled[n++] = board->bdf;
		else
			board->memory_why = unpolled_reason(t, board);
	}
	if (n > 0)
		host_memory(host, t->polled, n, t->memory);
	t->n_polled = n;
	for (size_t i = 0; i < t->n_polled; i++)
		for (size_t k = 0; k < t->n_boards; k++)
			if (bdf_equal(&t->boards[k].bdf, &t->memory[i].bdf)) {
				t->boards[k].memory = t->memory[i].state;
				t->boards[k].memory_why = t->memory[i].why;
			}
}

static void remember_stuck(const Turnover *t)
{
	for (size_t i = 0; i < t->n; i++) {
		if (!t->outcomes[i].still_running)
			continue;
		step_remember_stuck(t->context, &t->targets[i].bdf,
				    t->outcomes[i].report.error == -EBUSY
					    ? "%s is still at work on %s"
					    : "%s still waits in the kernel to reset %s",
				    step_worker_name(t->outcomes[i].pid).text,
				    BDF_TEXT(&t->targets[i].bdf));
	}
}

static char *remedy(const Turnover *t)
{
	const Plan *plan = t->context->plan;

	if (t->undo)
		return xstrdup("see dmesg for these addresses, power the host off and on");
	if (t->leaves)
		return strf(
			"see dmesg for these addresses, power the host off and on, then: gpupass "
			"release %s",
			plan->group);
	/* For a machine that is not libvirt's, which nothing is assigned to. */
	if (plan->operation == OPERATION_BIND)
		return xstrdup("see dmesg for these addresses, or power the host off and on, which "
			       "clears them, and try again");
	return strf(
		"see dmesg for these addresses, or power the host off and on, which clears them, "
		"and try again; where there is no way to reset them, as root: gpupass assign "
		"--accept-dirty %s %s",
		str_or_empty(plan->domain_name), plan->group);
}

/* A stuck function cannot be put back as it was. Any other one will be. */
static int refuse(const Turnover *t, Problem **ret_problem)
{
	_cleanup_free_ char *functions = turnover_functions_text(t, true);
	_cleanup_free_ char *tenants = t->leaves ? NULL : turnover_tenants_text(t);
	bool stuck = t->context->stuck;

	return problem_refuse(
		ret_problem, stuck ? GPUPASS_ERROR_ROLLBACK_FAILED : GPUPASS_ERROR_RESET_FAILED,
		.reason = xstrdup(
			t->undo ? "its GPUs could not be reset after the guest had them, so "
				  "the host's drivers do not get them"
				: "its GPUs could not be reset, so it is not free for a "
				  "next tenant"),
		.cause = strf("%s%s%s", functions, *functions && tenants ? "\n" : "",
			      str_or_empty(tenants)),
		.remedy = remedy(t));
}

static JobNoteKind note_kind(const Turnover *t, const Receipt *receipt)
{
	if (turnover_failed(t, receipt))
		return JOB_NOTE_RESET_FAILED;
	if (receipt_is_good(receipt))
		return JOB_NOTE_RESET;
	return t->leaves ? JOB_NOTE_NOT_RESET : JOB_NOTE_ACCEPTED;
}

static void note_receipt(const Turnover *t, const Receipt *receipt)
{
	static const char *const words[] = {
		[JOB_NOTE_RESET] = "was reset",
		[JOB_NOTE_RESET_FAILED] = "could not be reset",
		[JOB_NOTE_NOT_RESET] = "was not reset",
		[JOB_NOTE_ACCEPTED] = "is given on without a reset, as was asked for,",
	};
	_cleanup_free_ char *text = turnover_functions_text(t, false);
	_cleanup_free_ char *tenant =
		tenancy_tenant_text(receipt->domain_uuid, receipt->domain_name);
	const char *name = receipt->domain_name ? receipt->domain_name : tenant;
	JobNote *note = &t->context->note;

	free(note->text);
	note->kind = note_kind(t, receipt);
	note->resets = (ResetTally){ 0 };
	for (size_t i = 0; i < t->n_reports; i++)
		reset_tally_add(&note->resets, &t->reports[i]);
	note->text = strf("%s %s after %s: %s", receipt->group, words[note->kind], name, text);
}

static int write_receipt(const Turnover *t, const Receipt *receipt, char **ret_name,
			 Problem **ret_problem)
{
	const JobPlace *place = t->context->place;
	int r = receipt_store_add(place->receipts, receipt, ret_name);

	return r < 0 ? disk_watch_refuse(place->disk, "the receipt of its reset", "receipts/", r,
					 ret_problem)
		     : 0;
}

/* ---- marks ---- */

/* A mark that cannot become clean stays dirty, which is safe: the board is reset once more. */
static int not_turned(const Turnover *t, const Bdf *bdf, int error, Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	if (!t->leaves)
		return tenant_not_stored(t->context->place, bdf, error, ret_problem);
	tenant_not_stored(t->context->place, bdf, error, &problem);
	step_note_left(t->context, problem);
	return 0;
}

/* Borrows. */
static TenantMark clean_mark(const Turnover *t, const ReceiptBoard *board, const char *why)
{
	TenantMark mark = plan_board(t->context->plan, &board->bdf)->last;

	mark.state = TENANT_CLEAN;
	mark.no_method = false;
	mark.domain_uuid = (char *)board->tenant_uuid;
	mark.domain_name = (char *)board->tenant_name;
	mark.since_usec = now_realtime();
	mark.why = (char *)why;
	return mark;
}

/* Explains why a board stays dirty. It stays so without the explanation, too. */
static void note_no_method(const Turnover *t, const ReceiptBoard *board)
{
	TenantMark mark = plan_board(t->context->plan, &board->bdf)->last;
	const ResetReport *leading = turnover_report(t, &board->bdf);

	if (mark.state != TENANT_DIRTY || !mark.domain_uuid || !leading ||
	    leading->result != RESET_NO_METHOD)
		return;
	mark.no_method = true;
	(void)tenant_store_save(t->context->place->tenants, &mark, 1);
}

/* Once the receipt is on disk. */
static int turn_marks(const Turnover *t, const Receipt *receipt, const char *name,
		      Problem **ret_problem)
{
	_cleanup_free_ char *why = strf("reset; receipt %s", name);
	_cleanup_free_ TenantMark *marks = xcalloc(t->n_boards + 1, sizeof(TenantMark));
	size_t n = 0;
	int r;

	for (size_t i = 0; t->context->place->tenants && i < t->n_boards; i++)
		/* A plan from a journal does not have it: the next domain gets one reset more. */
		if (!plan_board(t->context->plan, &t->boards[i].bdf) ||
		    plan_board(t->context->plan, &t->boards[i].bdf)->nvme)
			continue;
		else if (!t->boards[i].reset)
			note_no_method(t, &t->boards[i]);
		else if (!turnover_failed(t, receipt))
			marks[n++] = clean_mark(t, &t->boards[i], why);
	r = n > 0 ? tenant_store_save(t->context->place->tenants, marks, n) : 0;
	return r < 0 ? not_turned(t, &marks[0].bdf, r, ret_problem) : 0;
}

/* ---- what was not reset ---- */

/* The plan has warned of what it knew cannot be reset. An undo was not planned. */
static bool was_foreseen(const Turnover *t, const ReceiptBoard *board)
{
	const PlanBoard *planned = plan_board(t->context->plan, &board->bdf);

	return !t->undo && planned && !planned->reset;
}

/* A board that has no method is no failure, but the step is not done, and a warning names it. */
static void tell_unreset(const Turnover *t)
{
	StepContext *c = t->context;
	size_t n = 0;

	EACH (const ReceiptBoard, board, t->boards, t->n_boards) {
		if (board->reset)
			continue;
		n++;
		if (!was_foreseen(t, board))
			strv_appendf(&c->left,
				     "%s was not reset: the kernel has no method for it; %s",
				     BDF_TEXT(&board->bdf),
				     t->leaves ? "another domain gets it only with "
						 "--accept-dirty: gpupassd(8), TURNOVER"
					       : "the domain has what its last tenant left in "
						 "it (--accept-dirty)");
	}
	if (n == 0 || t->undo)
		return;
	c->not_done = true;
	free(c->detail);
	c->detail = n == t->n_boards
			    ? xstrdup("not reset: no method")
			    : strf("%zu of %zu boards not reset: no method", n, t->n_boards);
}

/* ---- the step ---- */

/* The reset is that of all boards, or of none. */
static const ReceiptBoard *common_tenant(const Turnover *t)
{
	for (size_t i = 1; i < t->n_boards; i++)
		if (!str_equal(t->boards[i].tenant_uuid, t->boards[0].tenant_uuid))
			return NULL;
	return t->n_boards > 0 ? &t->boards[0] : NULL;
}

/* Nobody gets a board, and no step goes on, before all of them were reset. */
static bool was_one_event(const Turnover *t)
{
	if (SOME(t->boards, t->n_boards, !it->reset))
		return false;
	return t->n_boards > 1 && t->n_boards == t->context->plan->n_boards;
}

static Receipt make_receipt(const Turnover *t)
{
	const Plan *plan = t->context->plan;
	const ReceiptBoard *common = common_tenant(t);
	Receipt receipt = {
		.group = plan->group,
		/* A journal has no request. */
		.caller_uid = t->undo && plan->assignment
				      ? plan->assignment->created_by
				      : t->context->prepared->request.caller_uid,
		.begun_usec = t->begun_usec,
		.ended_usec = now_realtime(),
		.functions = t->reports,
		.n_functions = t->n_reports,
		.boards = t->boards,
		.n_boards = t->n_boards,
		.together = was_one_event(t),
	};

	if (t->leaves) {
		receipt.domain_uuid = plan->domain_uuid;
		receipt.domain_name = plan->domain_name;
		return receipt;
	}
	receipt.domain_uuid = common ? common->tenant_uuid : NULL;
	receipt.domain_name = common ? common->tenant_name : NULL;
	receipt.next_uuid = plan->domain_uuid;
	receipt.next_name = plan->domain_name;
	return receipt;
}

/* The failure of the reset counts more than that of its receipt. */
static int conclude(Turnover *t, Problem **ret_problem)
{
	const Receipt receipt = make_receipt(t);
	_cleanup_(problem_freep) Problem *unwritten = NULL;
	_cleanup_free_ char *name = NULL;
	int r;

	note_receipt(t, &receipt);
	r = write_receipt(t, &receipt, &name, &unwritten);
	if (r == 0)
		r = turn_marks(t, &receipt, name, &unwritten);
	if (turnover_failed(t, &receipt))
		return refuse(t, ret_problem);
	if (r == 0)
		tell_unreset(t);
	else
		*ret_problem = TAKE_PTR(unwritten);
	return r;
}

static int turn_over(Turnover *t, Problem **ret_problem)
{
	if (host_reset(t->context->place->host, t->targets, t->n, t->outcomes) < 0)
		remember_stuck(t);
	turnover_collect(t);
	poll_memory(t);
	return conclude(t, ret_problem);
}

static int reset(StepContext *c, Problem **ret_problem)
{
	_cleanup_(turnover_clear) Turnover t = { 0 };
	int r = step_refuse_while_in_guest(c, ret_problem);

	if (r != 0)
		return r;
	t = turnover_make(c, NULL);
	return turn_over(&t, ret_problem);
}

/* Where one has vanished: its reset fails, and the others stay where they are. */
static int look_at_each(StepContext *c, bool *returned, Problem **ret_problem)
{
	Host *host = c->place->host;

	for (size_t i = 0; i < c->plan->n_functions; i++) {
		_cleanup_(inspection_freep) Inspection *now = NULL;
		const Bdf *bdf = &c->plan->functions[i].bdf;
		int r;

		returned[i] = bdf_in(bdf, c->stuck_functions, c->n_stuck_functions);
		if (returned[i])
			continue;
		r = host_glance(host, bdf, 1, INSPECT_CONFIG_NOT, &now, ret_problem);
		if (r == -ENOENT)
			continue;
		if (r != 0)
			return r;
		returned[i] = !function_facts_on_vfio(&now->functions[0]);
	}
	return 0;
}

/*
 * What has left vfio-pci: an undo that was interrupted moved it, after its reset, or root did. Its
 * driver uses it, so it is not reset. A second reset of the others does no harm.
 */
static int look_what_has_returned(StepContext *c, bool *returned, Problem **ret_problem)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	int r = step_glance(c, &now, ret_problem);

	if (r == -ENOENT)
		return look_at_each(c, returned, ret_problem);
	if (r != 0)
		return r;
	for (size_t i = 0; i < c->plan->n_functions; i++) {
		const FunctionFacts *f = inspection_find(now, &c->plan->functions[i].bdf);

		/* What is stuck is not touched again. */
		returned[i] = !f || !function_facts_on_vfio(f);
	}
	return 0;
}

/* What has no way to be reset is given back as it is, as a release does. */
static void note_unreset(StepContext *c, const bool *returned)
{
	for (size_t i = 0; i < c->plan->n_functions; i++) {
		const PlanFunction *f = &c->plan->functions[i];

		if (f->undo_reset == PLAN_RESET_NOT && !returned[i])
			strv_appendf(
				&c->left,
				"%s was not reset after %s had it: the kernel knows no way that "
				"spares other devices",
				BDF_TEXT(&f->bdf), str_or_empty(c->plan->domain_name));
	}
}

int step_reset_returning(StepContext *c, Problem **ret_problem)
{
	_cleanup_(turnover_clear) Turnover t = { 0 };
	_cleanup_free_ bool *returned = NULL;
	int r;

	/* A boot has reset them since, and set their drivers. */
	if (!c->in_guest || c->rebooted)
		return 0;
	returned = xcalloc(c->plan->n_functions + 1, sizeof(bool));
	r = look_what_has_returned(c, returned, ret_problem);
	if (r != 0)
		return r;
	note_unreset(c, returned);
	t = turnover_make(c, returned);
	return t.n > 0 ? turn_over(&t, ret_problem) : 0;
}

/*
 * The marks turn clean with the reset, and then the plan's own domain gets the boards. One without a
 * mark was never used, unless a release takes it from its domain.
 */
static bool was_reset(const Plan *plan, const TenantFile *file)
{
	const TenantMark *mark = file ? file->mark : NULL;

	if (!file)
		return plan->operation != OPERATION_RELEASE;
	/* An NVMe, whose mark tells of its erase, and which is reset whenever it is given. */
	if (mark && mark->n_erases > 0)
		return true;
	if (!mark || mark->state == TENANT_CLEAN)
		return mark;
	return plan->operation != OPERATION_RELEASE && plan->domain_uuid &&
	       str_equal(mark->domain_uuid, plan->domain_uuid);
}

bool step_reset_was_made(const StepContext *c)
{
	_cleanup_(tenants_freep) Tenants *tenants = NULL;
	const Plan *plan = c->plan;
	bool made = true;

	if (!c->place->tenants)
		return false;
	tenants = tenant_store_load(c->place->tenants);
	for (size_t i = 0; made && i < plan->n_functions; i++)
		if (plan_begins_board(plan, i))
			made = was_reset(plan, tenants_find(tenants, &plan->functions[i].bdf));
	return made && !tenants->unread;
}

const StepOps step_reset = {
	.act = reset,
	.changes = STEP_CHANGES_FUNCTIONS,
	.shows = GROUP_RELEASING,
	/* What is stuck in its reset is not given back to its domain. */
	.barrier = true,
};
