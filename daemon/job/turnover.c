/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/turnover.h"

#include "util/clock.h"
#include "util/xalloc.h"

void turnover_clear(Turnover *t)
{
	for (size_t i = 0; i < t->n; i++)
		reset_outcome_clear(&t->outcomes[i]);
	for (size_t i = 0; i < t->n_polled; i++)
		memory_report_clear(&t->memory[i]);
	free(t->polled);
	free(t->memory);
	free(t->targets);
	free(t->outcomes);
	free(t->reports);
	free(t->boards);
}

/* A reset of the slot resets all its functions, or is refused: vfio must have each of them. */
static bool slot_is_there(const Turnover *t, const Bdf *lead)
{
	const Plan *plan = t->context->plan;

	for (size_t i = 0; i < plan->n_functions; i++)
		if (t->returned[i] && bdf_same_slot(&plan->functions[i].bdf, lead))
			return false;
	return true;
}

static PlanReset part_in_undo(const Turnover *t, size_t i)
{
	const PlanFunction *f = &t->context->plan->functions[i];
	bool there = f->undo_reset == PLAN_RESET_OWN ? !t->returned[i] : slot_is_there(t, &f->bdf);

	return there ? f->undo_reset : PLAN_RESET_NOT;
}

static PlanReset part_of(const Turnover *t, size_t i)
{
	return t->undo ? part_in_undo(t, i) : t->context->plan->functions[i].reset;
}

Turnover turnover_make(StepContext *c, const bool *returned)
{
	bool undo = returned != NULL;
	size_t n = c->plan->n_functions;
	Turnover t = {
		.context = c,
		.undo = undo,
		.returned = returned,
		.leaves = undo || c->plan->operation == OPERATION_RELEASE,
		.targets = xcalloc(n + 1, sizeof(ResetTarget)),
		.outcomes = xcalloc(n + 1, sizeof(ResetOutcome)),
		.reports = xcalloc(n + 1, sizeof(ResetReport)),
		.boards = xcalloc(n + 1, sizeof(ReceiptBoard)),
		.polled = xcalloc(n + 1, sizeof(Bdf)),
		.memory = xcalloc(n + 1, sizeof(MemoryReport)),
		.begun_usec = now_realtime(),
	};

	for (size_t i = 0; i < n; i++) {
		PlanReset part = part_of(&t, i);

		if (part == PLAN_RESET_OWN || part == PLAN_RESET_SLOT)
			t.targets[t.n++] = (ResetTarget){
				.bdf = c->plan->functions[i].bdf,
				.slot = part == PLAN_RESET_SLOT,
			};
	}
	return t;
}

static void collect_reports(Turnover *t)
{
	const Plan *plan = t->context->plan;
	size_t k = 0;

	for (size_t i = 0; i < plan->n_functions; i++) {
		PlanReset part = part_of(t, i);

		if (part == PLAN_RESET_OWN || part == PLAN_RESET_SLOT)
			t->reports[t->n_reports++] = t->outcomes[k++].report;
		else if (part == PLAN_RESET_WITH_LEAD)
			t->reports[t->n_reports++] = (ResetReport){
				.bdf = plan->functions[i].bdf,
				.result = RESET_WITH_LEAD,
			};
	}
}

const ResetReport *turnover_report(const Turnover *t, const Bdf *bdf)
{
	return FIND(t->reports, t->n_reports, bdf_equal(&it->bdf, bdf));
}

/* true: a method reset the leading function or its slot, and no function was left out. */
static bool was_reset(const Turnover *t, const Bdf *lead)
{
	const ResetReport *leading = turnover_report(t, lead);
	const Plan *plan = t->context->plan;
	bool any = false;

	for (size_t i = 0; i < plan->n_functions; i++) {
		const ResetReport *report = turnover_report(t, &plan->functions[i].bdf);

		if (!plan_is_on_board(&plan->functions[i], lead))
			continue;
		if (!report || !reset_result_is_good(report->result))
			return false;
		any |= report->result == RESET_DONE;
	}
	return any && leading && leading->result != RESET_NO_METHOD;
}

static bool takes_part(const Turnover *t, const Bdf *lead)
{
	const Plan *plan = t->context->plan;

	return SOME(plan->functions, plan->n_functions,
		    plan_is_on_board(it, lead) && turnover_report(t, &it->bdf));
}

static void add_board(Turnover *t, const Bdf *lead, const char *tenant_uuid,
		      const char *tenant_name)
{
	bool reset = was_reset(t, lead);

	if (takes_part(t, lead))
		t->boards[t->n_boards++] = (ReceiptBoard){
			.bdf = *lead,
			.reset = reset,
			.accepted = !reset && t->context->plan->accept_dirty,
			.tenant_uuid = tenant_uuid,
			.tenant_name = tenant_name,
		};
}

/* A plan from a journal has functions, and no boards. */
static void collect_boards_of_undo(Turnover *t)
{
	const Plan *plan = t->context->plan;

	for (size_t i = 0; i < plan->n_functions; i++)
		if (plan_begins_board(plan, i))
			add_board(t, &plan->functions[i].bdf, plan->domain_uuid, plan->domain_name);
}

static void collect_boards(Turnover *t)
{
	const Plan *plan = t->context->plan;

	for (size_t i = 0; i < plan->n_boards; i++) {
		const TenantMark *last = &plan->boards[i].last;

		if (t->leaves)
			add_board(t, &last->bdf, plan->domain_uuid, plan->domain_name);
		else
			add_board(t, &last->bdf, last->domain_uuid, last->domain_name);
	}
}

void turnover_collect(Turnover *t)
{
	collect_reports(t);
	if (t->undo)
		collect_boards_of_undo(t);
	else
		collect_boards(t);
}

bool turnover_failed(const Turnover *t, const Receipt *receipt)
{
	return (!t->leaves && SOME(t->boards, t->n_boards, !it->reset && !it->accepted)) ||
	       receipt_has_failure(receipt);
}

/* Which part did not answer, and how; NULL: they all have. */
static const Problem *problem_of(const Turnover *t, const ResetReport *report)
{
	for (size_t i = 0; i < t->n; i++)
		if (bdf_equal(&t->targets[i].bdf, &report->bdf))
			return t->outcomes[i].problem;
	return NULL;
}

static char *report_text(const Turnover *t, const ResetReport *report)
{
	const Problem *problem = problem_of(t, report);

	return problem ? strf("%s: %s: %s", BDF_TEXT(&report->bdf),
			      reset_result_to_string(report->result), problem->cause)
		       : reset_report_text(report);
}

char *turnover_functions_text(const Turnover *t, bool only_bad)
{
	_cleanup_strv_ char **lines = NULL;

	for (size_t i = 0; i < t->n_reports; i++)
		if (!only_bad || !reset_result_is_good(t->reports[i].result))
			strv_append_take(&lines, report_text(t, &t->reports[i]));
	return strv_join(lines, only_bad ? "\n" : "; ");
}

char *turnover_tenants_text(const Turnover *t)
{
	_cleanup_strv_ char **lines = NULL;

	EACH (const ReceiptBoard, board, t->boards, t->n_boards) {
		const ResetReport *report = turnover_report(t, &board->bdf);
		_cleanup_free_ char *tenant =
			tenancy_tenant_text(board->tenant_uuid, board->tenant_name);

		if (!board->reset)
			strv_appendf(&lines, "%s was last used by %s%s", BDF_TEXT(&board->bdf),
				     tenant,
				     report && report->result == RESET_NO_METHOD
					     ? ", and the kernel knows no way to reset it"
					     : "");
	}
	return lines ? strv_join(lines, "\n") : NULL;
}
