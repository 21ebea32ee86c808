/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The turnover between two tenants: each function that leaves a domain is reset while it is on
 * vfio-pci and nobody has it open, must answer again, and a receipt says so. vfio resets a
 * function, too, when its file is closed, but tells nobody when that fails.
 */
#include <string.h>

#include "host/reset.h"
#include "job/steps.h"
#include "util/clock.h"
#include "util/text.h"

typedef struct Turnover {
	StepContext *context;
	ResetTarget *targets; /* what workers reset */
	ResetOutcome *outcomes;
	size_t n;
	ResetReport *reports; /* borrow from outcomes: of all functions on vfio-pci */
	size_t n_reports;
	uint64_t begun_usec;
} Turnover;

static void turnover_clear(Turnover *t)
{
	for (size_t i = 0; i < t->n; i++)
		reset_outcome_clear(&t->outcomes[i]);
	free(t->targets);
	free(t->outcomes);
	free(t->reports);
}

static int turnover_make(StepContext *c, Turnover *ret)
{
	size_t n = c->plan->n_functions;
	Turnover t = {
		.context = c,
		.targets = calloc(n + 1, sizeof(ResetTarget)),
		.outcomes = calloc(n + 1, sizeof(ResetOutcome)),
		.reports = calloc(n + 1, sizeof(ResetReport)),
		.begun_usec = now_realtime(),
	};

	if (!t.targets || !t.outcomes || !t.reports) {
		turnover_clear(&t);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		const PlanFunction *f = &c->plan->functions[i];

		if (f->reset == PLAN_RESET_OWN || f->reset == PLAN_RESET_SLOT)
			t.targets[t.n++] = (ResetTarget){
				.bdf = f->bdf,
				.slot = f->reset == PLAN_RESET_SLOT,
			};
	}
	*ret = t;
	return 0;
}

static void collect_reports(Turnover *t)
{
	const Plan *plan = t->context->plan;
	size_t k = 0;

	for (size_t i = 0; i < plan->n_functions; i++) {
		const PlanFunction *f = &plan->functions[i];

		if (f->reset == PLAN_RESET_OWN || f->reset == PLAN_RESET_SLOT)
			t->reports[t->n_reports++] = t->outcomes[k++].report;
		else if (f->reset == PLAN_RESET_WITH_LEAD)
			t->reports[t->n_reports++] = (ResetReport){
				.bdf = f->bdf,
				.result = RESET_WITH_LEAD,
			};
	}
}

static int remember_stuck(const Turnover *t)
{
	for (size_t i = 0; i < t->n; i++) {
		int r;

		if (!t->outcomes[i].still_running)
			continue;
		r = step_remember_stuck(t->context, &t->targets[i].bdf,
					t->outcomes[i].report.error == -EBUSY
						? "%s is still at work on %s"
						: "%s still waits in the kernel to reset %s",
					step_worker_name(t->outcomes[i].pid).text,
					BDF_TEXT(&t->targets[i].bdf));
		if (r < 0)
			return r;
	}
	return 0;
}

static char *functions_text(const Turnover *t, bool only_bad)
{
	_cleanup_strv_ char **lines = NULL;

	for (size_t i = 0; i < t->n_reports; i++) {
		_cleanup_free_ char *line = NULL;

		if (only_bad && reset_result_is_good(t->reports[i].result))
			continue;
		line = reset_report_text(&t->reports[i]);
		if (!line || strv_append(&lines, line) < 0)
			return NULL;
	}
	return strv_join(lines, only_bad ? "\n" : "; ");
}

/* Stuck, it cannot be put back as it was. Otherwise it will be. */
static int refuse(const Turnover *t, Problem **ret_problem)
{
	_cleanup_free_ char *cause = functions_text(t, true);
	bool stuck = t->context->stuck;
	int r = problem_set(ret_problem,
			    stuck ? GPUPASS_ERROR_ROLLBACK_FAILED : GPUPASS_ERROR_RESET_FAILED,
			    "its GPUs could not be reset, so it is not free for a next tenant");

	if (r != PROBLEM)
		return r;
	if (cause)
		problem_cause(*ret_problem, "%s", cause);
	return problem_remedy(*ret_problem,
			      "see dmesg for these addresses, power the host off and on, then: "
			      "gpupass release %s",
			      t->context->plan->group);
}

/* Memory that is out costs the log a line, and nobody a group. */
static void note_receipt(const Turnover *t, const Receipt *receipt)
{
	_cleanup_free_ char *text = functions_text(t, false);
	bool good = receipt_is_good(receipt);
	JobNote *note = &t->context->note;

	free(note->text);
	note->kind = good ? JOB_NOTE_RESET : JOB_NOTE_RESET_FAILED;
	note->text = strf("%s %s after %s: %s", receipt->group,
			  good ? "was reset" : "could not be reset",
			  str_or_empty(receipt->domain_name), str_or_empty(text));
}

static int write_receipt(const Turnover *t, const Receipt *receipt, Problem **ret_problem)
{
	int r = receipt_store_add(t->context->place->receipts, receipt);

	disk_watch_note(t->context->place->disk, "a receipt", r);
	if (r >= 0 || r == -ENOMEM)
		return r;
	r = problem_set(ret_problem, GPUPASS_ERROR_INTERNAL,
			"the receipt of its reset could not be stored: %s", strerror(-r));
	if (r != PROBLEM)
		return r;
	return problem_remedy(*ret_problem,
			      "see that the state directory's file system is writable and has "
			      "space left");
}

/* That it failed counts more than that its receipt did. */
static int conclude(Turnover *t, Problem **ret_problem)
{
	const Plan *plan = t->context->plan;
	Receipt receipt = {
		.group = plan->group,
		.domain_uuid = plan->domain_uuid,
		.domain_name = plan->domain_name,
		.caller_uid = t->context->prepared->request.caller_uid,
		.begun_usec = t->begun_usec,
		.ended_usec = now_realtime(),
		.functions = t->reports,
		.n_functions = t->n_reports,
	};
	bool good = receipt_is_good(&receipt);
	_cleanup_(problem_freep) Problem *unwritten = NULL;
	int r;

	note_receipt(t, &receipt);
	r = write_receipt(t, &receipt, &unwritten);
	if (!good)
		return refuse(t, ret_problem);
	if (r == PROBLEM)
		*ret_problem = TAKE_PTR(unwritten);
	return r;
}

static int reset(StepContext *c, Problem **ret_problem)
{
	_cleanup_(turnover_clear) Turnover t = { 0 };
	int r;

	r = step_refuse_while_in_guest(c, ret_problem);
	if (r == 0)
		r = turnover_make(c, &t);
	if (r != 0)
		return r;
	r = c->place->host->ops->reset(c->place->host, t.targets, t.n, t.outcomes);
	if (r < 0)
		r = remember_stuck(&t);
	if (r < 0)
		return r;
	collect_reports(&t);
	return conclude(&t, ret_problem);
}

const StepOps step_reset = {
	.act = reset,
	/* What is stuck in its reset is not given back to its domain. */
	.barrier = true,
};
