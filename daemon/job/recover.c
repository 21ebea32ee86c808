/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/recover.h"

#include "job/executor.h"
#include "job/guest-exit.h"
#include "util/clock.h"
#include "util/xalloc.h"

#define POLL_USEC (100 * USEC_PER_MSEC)

#include "recover.inc"

static void add_claim(const JobPlace *place, const Plan *plan, const char *domain_uuid,
		      const char *reason)
{
	_cleanup_free_ Bdf *functions = plan_addresses(plan);

	claims_add_quarantine(place->claims, plan->group, functions, plan->n_functions, domain_uuid,
			      reason);
}

void recover_claim(const JobPlace *place, const OpenJob *job, const char *reason)
{
	add_claim(place, job->plan, job->plan->domain_uuid, reason);
}

/* ---- looking ---- */

static bool changes(const Plan *plan, StepChanges what)
{
	return SOME_OF(plan->steps, plan->n_steps, step_ops(it)->changes == what);
}

static bool needs_libvirt(const Plan *plan)
{
	return changes(plan, STEP_CHANGES_DEFINITION) || changes(plan, STEP_CHANGES_GUEST);
}

/*
 * Steps [0, n) may have begun: all but those that had to be announced and were not, and what comes
 * after them. The versions before announced each.
 */
static size_t may_have_begun(const OpenJob *job)
{
	const Plan *plan = job->plan;
	size_t n = job->begun;

	if (job->log->file.end.number == 0)
		return n;
	while (n < plan->n_steps && !step_ops(plan->steps[n])->announced)
		n++;
	return n;
}

/* A reset counts: it has no undo, but a worker may still be busy with it. */
static bool wrote_something(const OpenJob *job)
{
	size_t begun = may_have_begun(job);

	return SOME_OF(job->plan->steps, begun, step_ops(it)->changes != STEP_CHANGES_NOTHING);
}

pid_t recover_find_worker(const JobPlace *place, const Bdf *functions, size_t n, const Bdf **ret)
{
	for (size_t i = 0; i < n; i++) {
		pid_t pid = place->host->ops->worker_on(place->host, &functions[i]);

		*ret = &functions[i];
		if (pid > 0)
			return pid;
	}
	return 0;
}

/* Why it goes on without them; NULL: no worker is at work, or all have ended in time. */
static char *wait_for_workers(const JobPlace *place, const Plan *plan, uint64_t wait_usec)
{
	uint64_t deadline = now_monotonic() + wait_usec;
	_cleanup_free_ Bdf *functions = plan_addresses(plan);

	while (true) {
		const Bdf *function = NULL;
		pid_t pid = recover_find_worker(place, functions, plan->n_functions, &function);

		if (pid == 0)
			return NULL;
		if (now_monotonic() >= deadline)
			return strf("worker %d is still at work on %s", (int)pid,
				    BDF_TEXT(function));
		usleep(POLL_USEC);
	}
}

/* Definitions and records can be put back while the guest runs. */
static bool touches_functions(const Plan *plan)
{
	return changes(plan, STEP_CHANGES_FUNCTIONS);
}

/* For a guest whose XML is not known, ask vfio: a guest that runs with a function has it open. */
static char *find_unread_guest(const JobPlace *place, const Plan *plan, const DomainUses *uses)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	_cleanup_free_ Bdf *functions = plan_addresses(plan);
	const DomainUse *use;
	size_t at = 0;
	int r;

	do
		use = domain_uses_unread(uses, &at);
	while (use && (!use->active || (plan->live && str_equal(use->uuid, plan->domain_uuid))));
	if (!use)
		return NULL;
	r = host_inspect(place->host, functions, plan->n_functions, INSPECT_CONFIG_NOT, &now, NULL);
	return r == 0 && !guest_holder(now)
		       ? NULL
		       : strf("%s may run with it: its XML is not known, and the job was not "
			      "finished",
			      use->name);
}

/*
 * We leave alone a guest that runs with the functions, unless the job was changing that very guest
 * while it ran. NULL: there is none.
 */
static char *find_guest(const JobPlace *place, const Plan *plan, const DomainUses *uses)
{
	for (size_t i = 0; touches_functions(plan) && i < plan->n_functions; i++) {
		const Bdf *bdf = &plan->functions[i].bdf;
		const DomainUse *use;

		for (size_t at = 0; (use = domain_uses_holding(uses, bdf, &at));) {
			if (!domain_use_hostdev(use, bdf)->live ||
			    (plan->live && str_equal(use->uuid, plan->domain_uuid)))
				continue;
			return strf("%s runs with %s, and the job was not finished", use->name,
				    BDF_TEXT(bdf));
		}
	}
	return touches_functions(plan) ? find_unread_guest(place, plan, uses) : NULL;
}

/*
 * What is at the job's addresses need not be what was there: other cards move the numbers of buses,
 * and what can be plugged is put in elsewhere. Of another device's drivers the job knows nothing.
 * NULL: all that is there is as the plan has it.
 */
static char *find_stranger(const JobPlace *place, const Plan *plan)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *now = NULL;
	_cleanup_(inspection_freep) Inspection *in = NULL;
	_cleanup_free_ Bdf *there = xcalloc(plan->n_were + 1, sizeof(Bdf));
	Host *host = place->host;
	size_t n = 0;
	int r = plan->n_were > 0 ? host->ops->scan(host, &now) : 0;

	for (size_t i = 0; r == 0 && i < plan->n_were; i++)
		if (pci_snapshot_find(now, &plan->were[i].bdf) &&
		    host->ops->worker_on(host, &plan->were[i].bdf) == 0)
			there[n++] = plan->were[i].bdf;
	if (r == 0 && n > 0)
		r = host_glance(host, there, n, INSPECT_CONFIG_AWAKE, &in, NULL);
	if (r != 0)
		return xstrdup("what is at its functions' addresses is not known");
	for (size_t i = 0; i < n; i++) {
		const FunctionFacts *facts = inspection_find(in, &there[i]);
		_cleanup_free_ char *change = assigned_function_change(
			BDF_FIND(plan->were, plan->n_were, &there[i]),
			pci_snapshot_find(now, &there[i]), facts ? facts->serial_number : NULL);

		if (change)
			return strf("%s %s", BDF_TEXT(&there[i]), change);
	}
	return NULL;
}

/* ---- a run made from the journal ---- */

static Prepared *prepared_from(const OpenJob *job)
{
	Prepared *p = xcalloc(1, sizeof(Prepared));

	p->assignments = xcalloc(1, sizeof(Assignments));
	p->domain = xcalloc(1, sizeof(VirtDomain));
	p->domain->live_xml = xstrdup(job->live_xml);
	if (job->previous) {
		p->assignments->items = xcalloc(1, sizeof(Assignment *));
		p->assignments->items[0] = assignment_copy(job->previous);
		p->assignments->n_items = 1;
	}
	return p;
}

/* true: the machine and the domain are as the job was to leave them. */
static bool machine_holds(Run *run)
{
	const Plan *plan = run->context.plan;
	_cleanup_(problem_freep) Problem *moved = NULL;

	/* Functions that were bound before have no bind step, and a boot without the record does
	 * not bind them. */
	if (run->context.rebooted && plan->operation == OPERATION_RECONCILE &&
	    step_drivers_hold(&run->context, &moved) != 0)
		return false;
	for (size_t i = 0; i < plan->n_steps; i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		const StepOps *ops = step_ops(plan->steps[i]);

		/* A reset leaves nothing to observe but its marks. A group is never given on
		 * without it. */
		if (plan->steps[i] == STEP_RESET && !step_reset_was_made(&run->context))
			return false;
		if (ops->holds && !ops->finishes && ops->holds(&run->context, &problem) != 0)
			return false;
	}
	return true;
}

/* The mode and the assignment, which come last. */
static int finish(Run *run)
{
	const Plan *plan = run->context.plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->n_steps; i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		const StepOps *ops = step_ops(plan->steps[i]);

		if (!ops->finishes)
			continue;
		if (run->done <= i)
			run->done = i + 1;
		if (ops->announced) {
			journal_note(run->log, "intent", i);
			r = journal_flush(run->log);
		}
		if (r >= 0)
			r = ops->act(&run->context, &problem);
		if (r == PROBLEM && ops->act_optional) {
			step_note_left(&run->context, problem);
			r = 0;
		}
	}
	return r;
}

/* With the domain gone, or its guest shut off, there is nothing to undo in it. */
static void look_at_domain(Run *run, const DomainUses *uses)
{
	const DomainUse *use = domain_uses_find(uses, run->context.plan->domain_uuid);

	run->context.no_domain = !use;
	run->context.no_guest = !use || !use->active;
}

static bool lost_libvirt(int r, const Problem *problem)
{
	return r == PROBLEM && problem && problem->error == GPUPASS_ERROR_LIBVIRT_UNAVAILABLE;
}

static void quarantined(Recovery *ret, char *reason)
{
	ret->outcome = RECOVERED_QUARANTINED;
	ret->reason = reason;
}

static void undo_all(Run *run, Recovery *ret)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r = run_roll_back(run, &problem);

	ret->outcome = RECOVERED_UNDONE;
	if (run->context.stuck && r == 0)
		quarantined(ret, xstrdup(run->context.stuck));
	else if (lost_libvirt(r, problem) && !run->context.stuck)
		ret->outcome = RECOVERED_WAITING;
	else if (r != 0)
		quarantined(ret, strf("an interrupted job could not be undone: %s%s%s",
				      problem ? problem->reason : strerror(-r),
				      problem && problem->cause ? ": " : "",
				      problem ? str_or_empty(problem->cause) : ""));
}

static void settle(Run *run, OpenJob *job, const DomainUses *uses, Recovery *ret)
{
	char *guest = NULL, *stranger = find_stranger(run->context.place, job->plan);

	if (stranger) {
		quarantined(ret, strf("%s, and a job was not finished", stranger));
		free(stranger);
		return;
	}
	if (!job->rolling_back && machine_holds(run) && finish(run) == 0) {
		ret->outcome = RECOVERED_DONE;
		return;
	}
	if (uses)
		guest = find_guest(run->context.place, job->plan, uses);
	if (guest) {
		quarantined(ret, guest);
		return;
	}
	if (uses)
		look_at_domain(run, uses);
	job->rolling_back = true; /* as its journal says from here on */
	undo_all(run, ret);
}

/* ---- one job ---- */

/* Without a quarantine file the journal stays, and the next start comes here again. */
static void quarantine(const JobPlace *place, OpenJob *job, const char *reason)
{
	add_claim(place, job->plan, NULL, reason);
	if (quarantine_plan(place->quarantine, job->plan, job->id, reason) < 0)
		return;
	if (job->damage)
		(void)journal_set_aside(place->journal, job->log->name);
	else
		(void)journal_end(job->log);
}

static void settle_job(const JobPlace *place, OpenJob *job, const DomainUses *uses, Recovery *ret)
{
	_cleanup_(prepared_freep) Prepared *prepared = prepared_from(job);
	Run run = {
		.context = {
			.place = place,
			.prepared = prepared,
			.plan = job->plan,
			.rebooted = job->rebooted,
			.in_guest = SOME_OF(job->plan->steps, job->begun, it == STEP_ATTACH),
			.timeout_usec = place->rules->policy.device_timeout_usec,
			/* The journal has no count: try all, or the first; both are harmless. */
			.n_attached = job->plan->n_functions,
			.n_detached = job->plan->n_functions,
		},
				.log = job->log,
		.done = may_have_begun(job),
	};

	settle(&run, job, uses, ret);
	ret->left = TAKE_PTR(run.context.left);
	step_context_clear(&run.context);
}

/* false: *ret says why it is not recovered. */
static bool read_uses(const JobPlace *place, const Plan *plan, DomainUses **ret_uses, Recovery *ret)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r = 0;

	if (!needs_libvirt(plan))
		return true;
	/* What it did to a domain only libvirt can tell. */
	if (place->rules->policy.domains == DOMAINS_LIBVIRT)
		r = place->host->ops->domain_uses(place->host, true, ret_uses, &problem);
	if (!*ret_uses && (r == 0 || lost_libvirt(r, problem)))
		ret->outcome = RECOVERED_WAITING;
	else if (r != 0)
		quarantined(ret, strf("an interrupted job cannot be recovered: %s",
				      problem ? problem->reason : strerror(-r)));
	return r == 0 && *ret_uses;
}

static int close_job(const JobPlace *place, OpenJob *job)
{
	int r = journal_end(job->log);

	/* Of a journal that could not be closed: now it is, and the machine was looked at. */
	if (r >= 0)
		(void)quarantine_store_remove(place->quarantine, job->plan->group);
	/* A second recovery would undo the work of later jobs: the claim stays. */
	if (r >= 0)
		claims_lift(place->claims, job->plan->group);
	return r;
}

int recover_job(const JobPlace *place, OpenJob *job, uint64_t wait_usec, Recovery *ret)
{
	_cleanup_(domain_uses_freep) DomainUses *uses = NULL;
	char *obstacle;

	*ret = (Recovery){ .outcome = RECOVERED_UNDONE };
	if (!job->damage && !wrote_something(job))
		return close_job(place, job);
	/* An erase goes on for hours, and the next prepare finds it. */
	if (job->damage)
		obstacle = xstrdup(job->damage);
	else
		obstacle = plan_has_step(job->plan, STEP_ERASE)
				   ? NULL
				   : wait_for_workers(place, job->plan, wait_usec);
	if (obstacle)
		quarantined(ret, obstacle);
	else if (read_uses(place, job->plan, &uses, ret))
		settle_job(place, job, uses, ret);
	if (ret->outcome == RECOVERED_QUARANTINED)
		quarantine(place, job, ret->reason);
	else if (ret->outcome == RECOVERED_WAITING)
		ret->reason = xstrdup("an interrupted job is recovered as soon as libvirt answers");
	else
		return close_job(place, job);
	return 0;
}
