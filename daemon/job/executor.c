/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/executor.h"

#include "util/clock.h"
#include "util/xalloc.h"

/* How long a run waits for libvirt to come back: a restart takes seconds. */
#define LIBVIRT_WAIT_USEC (60 * USEC_PER_SEC)

static void tell(const Run *run, JobEvent event)
{
	if (run->tell)
		run->tell(&event, run->userdata);
	else
		job_event_clear(&event);
}

static void tell_step(const Run *run, size_t step, StepState state, uint64_t since)
{
	tell(run, (JobEvent){
			  .kind = JOB_EVENT_STEP,
			  .step = step,
			  .step_state = state,
			  .detail = xstrdup(run->context.detail),
			  .duration_usec = since > 0 ? now_monotonic() - since : 0,
		  });
}

/* The context is the run's own. */
static void tell_progress(StepContext *c)
{
	const Run *run = (const Run *)c;

	tell_step(run, run->done - 1, STEP_RUNNING, 0);
}

static void tell_note(Run *run)
{
	JobNote note = run->context.note;

	run->context.note.text = NULL;
	if (note.text)
		tell(run, (JobEvent){ .kind = JOB_EVENT_NOTE, .note = note });
}

/* Turns any error of a step into a problem, so that no error gets lost. */
static int as_problem(int r, StepKind kind, Problem **ret_problem)
{
	if (r >= 0)
		return r;
	return problem_errno(ret_problem, r, "step \"%s\" failed", step_kind_to_string(kind));
}

static int no_journal(const Run *run, int error, Problem **ret_problem)
{
	return disk_watch_refuse(run->context.place->disk, "the journal", "journal/", error,
				 ret_problem);
}

static void note_journal(const Run *run, int r)
{
	disk_watch_note(run->context.place->disk, "the journal", r);
}

/* Begins no step that must be announced and is not. */
static int announce(const Run *run, size_t i, Problem **ret_problem)
{
	int r = 0;

	if (i < run->begun)
		return 0;
	journal_note(run->log, "intent", i);
	if (step_ops(run->context.plan->steps[i])->announced)
		r = journal_flush(run->log);
	return r < 0 ? no_journal(run, r, ret_problem) : 0;
}

/*
 * libvirt went away during a call, which may have taken effect or not. So we make the call again.
 * Acts and undos look first, so that a repetition is harmless.
 */
static int call_libvirt(Run *run, int (*call)(StepContext *c, Problem **ret_problem),
			Problem **ret_problem)
{
	const JobPlace *place = run->context.place;
	int r = call(&run->context, ret_problem);

	while (r == PROBLEM && (*ret_problem)->error == GPUPASS_ERROR_LIBVIRT_UNAVAILABLE &&
	       !run->no_libvirt) {
		run->no_libvirt =
			place->host->ops->libvirt_wait(place->host, LIBVIRT_WAIT_USEC) < 0;
		if (run->no_libvirt)
			break;
		*ret_problem = problem_free(*ret_problem);
		run->context.again = true;
		r = call(&run->context, ret_problem);
	}
	run->context.again = false;
	return r;
}

/*
 * What libvirt did is seen in the domain's XML, and not in what its call returned: "done" rests on
 * that. A mover has looked at its functions itself, and a record is on disk when it is stored. The
 * step verify looks at all of them once more.
 */
static int act_and_look(Run *run, StepKind kind, Problem **ret_problem)
{
	const StepOps *ops = step_ops(kind);
	bool of_libvirt =
		ops->changes == STEP_CHANGES_DEFINITION || ops->changes == STEP_CHANGES_GUEST;
	int r = call_libvirt(run, ops->act, ret_problem);

	return r == 0 && of_libvirt ? call_libvirt(run, ops->holds, ret_problem) : r;
}

/* What an optional act or undo could not do is reported, and the run goes on. */
static int go_on(Run *run, Problem **problem)
{
	step_note_left(&run->context, *problem);
	*problem = problem_free(*problem);
	return 0;
}

static int act(Run *run, size_t i, Problem **ret_problem)
{
	StepKind kind = run->context.plan->steps[i];
	uint64_t since = now_monotonic();
	int r = announce(run, i, ret_problem);

	if (r != 0)
		return r;
	free(run->context.detail);
	run->context.detail = plan_step_detail(run->context.plan, kind);
	run->context.not_done = false;
	tell_step(run, i, STEP_RUNNING, 0);
	run->done = i + 1;
	r = as_problem(act_and_look(run, kind, ret_problem), kind, ret_problem);
	tell_note(run);
	/* For a person to read. Recovery looks at the machine. */
	journal_note_result(run->log, "outcome", i, r == 0);
	tell_step(run, i,
		  r != 0		  ? STEP_FAILED
		  : run->context.not_done ? STEP_NOT_DONE
					  : STEP_DONE,
		  since);
	return r != 0 && step_ops(kind)->act_optional ? go_on(run, ret_problem) : r;
}

static bool nothing_left(const StepContext *c, StepKind kind)
{
	StepChanges changes = step_ops(kind)->changes;

	return (c->no_domain && changes == STEP_CHANGES_DEFINITION) ||
	       (c->no_guest && changes == STEP_CHANGES_GUEST);
}

static int undo(Run *run, size_t i, Problem **ret_problem)
{
	StepKind kind = run->context.plan->steps[i];
	uint64_t since = now_monotonic();
	int r;

	if (!step_ops(kind)->undo || nothing_left(&run->context, kind))
		return 0;
	/* Undo the step even if the journal fails: it already says that the step was begun. */
	journal_note(run->log, "undo", i);
	if (run->log && !run->undoes)
		note_journal(run, journal_flush(run->log));
	run->undoes = true;
	free(run->context.detail);
	run->context.detail = plan_step_detail(run->context.plan, kind);
	r = call_libvirt(run, step_ops(kind)->undo, ret_problem);
	r = as_problem(step_forgive_gone(r, ret_problem), kind, ret_problem);
	tell_note(run);
	journal_note_result(run->log, "undone", i, r == 0);
	tell_step(run, i, r == 0 ? STEP_UNDONE : STEP_UNDO_FAILED, since);
	return r != 0 && step_ops(kind)->undo_optional ? go_on(run, ret_problem) : r;
}

int run_roll_back(Run *run, Problem **ret_problem)
{
	int result = 0;

	tell(run, (JobEvent){ .kind = JOB_EVENT_ROLLING_BACK });
	for (size_t i = run->done; i-- > 0;) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		int r = undo(run, i, &problem);

		if (r != 0 && result == 0) {
			*ret_problem = TAKE_PTR(problem);
			result = r;
		}
		if ((r != 0 || run->context.stuck) &&
		    step_ops(run->context.plan->steps[i])->barrier)
			break;
	}
	return result;
}

static bool wrote_something(const Run *run)
{
	return SOME_OF(run->context.plan->steps, run->done, step_ops(it)->undo);
}

/* The first failure stays the problem. The operator must act on the failure of the undo, so that
 * goes into state and remedy. */
static void incomplete(Run *run, const Problem *undo_problem, ExecutorResult *ret)
{
	const char *why = undo_problem	       ? undo_problem->reason
			  : run->context.stuck ? run->context.stuck
					       : run->context.apart;
	_cleanup_free_ char *first = NULL;
	Problem *failure = ret->problem;

	ret->quarantine = xstrdup(str_or_empty(why));
	if (undo_problem || failure->error == GPUPASS_ERROR_CANCELLED)
		failure->error = GPUPASS_ERROR_ROLLBACK_FAILED;
	problem_state(failure, "%s is quarantined: %s", run->context.plan->group, ret->quarantine);
	/* What ends a stuck unbind is for the operator to do first. */
	if (undo_problem ? undo_problem->remedy != NULL
			 : failure->error == GPUPASS_ERROR_UNBIND_TIMEOUT && failure->remedy)
		first = xstrdup(undo_problem ? undo_problem->remedy : failure->remedy);
	if (first)
		problem_remedy(failure, "%s; then: gpupass clear %s", first,
			       run->context.plan->group);
	else
		problem_remedy(failure,
			       "when its cause is gone: gpupass clear %s; other groups are not "
			       "affected",
			       run->context.plan->group);
	ret->state = JOB_INCOMPLETE;
}

/* No quarantine for a person to lift: recovery finishes the job when libvirt is back. */
static void left_open(Run *run, const Problem *undo_problem, ExecutorResult *ret)
{
	Problem *failure = ret->problem;

	ret->quarantine =
		strf("%s; the job is recovered as soon as libvirt answers", undo_problem->reason);
	failure->error = GPUPASS_ERROR_ROLLBACK_FAILED;
	problem_state(failure, "%s is quarantined: %s", run->context.plan->group, ret->quarantine);
	problem_remedy(failure, "start libvirtd or virtqemud; gpupassd then undoes the job by "
				"itself");
	ret->state = JOB_INCOMPLETE;
	ret->open = true;
}

static bool waits_for_libvirt(const Run *run, const Problem *undo_problem)
{
	return run->log && !run->log->file.broken && !run->context.stuck && undo_problem &&
	       undo_problem->error == GPUPASS_ERROR_LIBVIRT_UNAVAILABLE;
}

/* "bind vfio-pci, define": the steps that were begun and can be undone. */
static char *steps_undone(const Run *run)
{
	_cleanup_strv_ char **names = NULL;

	for (size_t i = 0; i < run->done; i++) {
		StepKind kind = run->context.plan->steps[i];

		if (step_ops(kind)->undo)
			strv_append(&names, step_kind_to_string(kind));
	}
	return strv_join(names, ", ");
}

static void state_put_back(const Run *run, Problem *failure)
{
	_cleanup_free_ char *left = strv_join(run->context.left, "\n");
	_cleanup_free_ char *undone =
		failure->error == GPUPASS_ERROR_CANCELLED ? steps_undone(run) : NULL;

	problem_state(failure, "everything was put back as it was%s%s%s%s",
		      undone ? "; undone: " : "", str_or_empty(undone),
		      run->context.left ? ", but\n" : "",
		      run->context.left ? str_or_empty(left) : "");
}

/* Undoes what was done. The result has the failure. */
static void failed(Run *run, ExecutorResult *ret)
{
	_cleanup_(problem_freep) Problem *undo_problem = NULL;
	bool wrote = wrote_something(run);
	int r = wrote ? run_roll_back(run, &undo_problem) : 0;

	ret->state = cancellation_state(ret->problem);
	if (r != 0 && waits_for_libvirt(run, undo_problem))
		left_open(run, undo_problem, ret);
	else if (r != 0 || run->context.stuck || run->context.apart)
		incomplete(run, undo_problem, ret);
	else if (wrote)
		state_put_back(run, ret->problem);
}

/* ---- the audit trail ---- */

/* How long taking hardware back may wait for its record. */
#define PATIENCE_USEC (5 * USEC_PER_SEC)

static void fill_record(const Plan *plan, AuditRecord *record)
{
	record->kind = AUDIT_JOB_BEGUN;
	record->verb = audit_text(operation_to_string(plan->operation));
	record->group = audit_text(plan->group);
	record->domain_uuid = audit_text(plan->domain_uuid);
	record->domain = audit_text(plan->domain_name);
	for (size_t i = 0; i < plan->n_functions; i++)
		strv_append(&record->functions, BDF_TEXT(&plan->functions[i].bdf));
}

/*
 * 0: the record is on disk, or may be lost. PROBLEM (StateReadOnly): it is not, and the job would
 * give hardware away, which must not be done unrecorded. What takes hardware back goes on all the
 * same; the trail then counts the record as lost. No undo and no recovery asks.
 */
static int audit_job_begun(const JobPlace *place, const Prepared *prepared, uint32_t job,
			   Problem **ret_problem)
{
	Operation operation = prepared->plan->operation;
	AuditRecord record = AUDIT_RECORD_EMPTY;
	int r;

	record.job = job;
	record.uid = prepared->request.caller_uid;
	fill_record(prepared->plan, &record);
	if (operation == OPERATION_RELEASE || operation == OPERATION_UNBIND) {
		/* Waits for the disk, but not for one that does not answer. */
		trail_add_lazily(place->trail, &record, prepared->caller);
		(void)trail_flush(place->trail, PATIENCE_USEC);
		return 0;
	}
	r = trail_append(place->trail, &record, prepared->caller);
	return r < 0 ? disk_watch_refuse(place->disk, "the audit trail", "audit/", r, ret_problem)
		     : 0;
}

/* ---- the journal around it ---- */

static int check_disk(const Run *run, Problem **ret_problem)
{
	const JobPlace *place = run->context.place;
	const int directories[] = { place->journal->dir_fd, place->quarantine->dir_fd,
				    place->store->records.dir_fd,
				    place->tenants ? place->tenants->dir_fd : -1 };
	size_t n = ELEMENTS(directories) - !place->tenants;

	return disk_watch_check(place->disk, directories, n, ret_problem);
}

/* All up to the first that has an effect: nothing of them is announced again. */
static size_t begun_at_once(const Plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (step_ops(plan->steps[i])->changes != STEP_CHANGES_NOTHING)
			return i + 1;
	return plan->n_steps;
}

/*
 * The trail has the job before its first effect, and after the journal, so that a job of which the
 * trail knows and the journal does not was lost, and not only about to begin.
 */
static int begin(Run *run, uint32_t job, Problem **ret_problem)
{
	const Prepared *p = run->context.prepared;
	const Plan *plan = run->context.plan;
	const Assignment *previous = NULL;
	int r;

	if (!run->context.place->journal || plan->n_steps == 0)
		return 0;
	r = check_disk(run, ret_problem);
	if (r != 0)
		return r;
	if (plan->assignment)
		previous = assignments_find_same(p->assignments, plan->assignment);
	run->begun = begun_at_once(plan);
	r = journal_begin(run->context.place->journal, job, plan, previous,
			  p->domain ? p->domain->live_xml : NULL, run->begun, &run->log);
	return r < 0 ? no_journal(run, r, ret_problem)
		     : audit_job_begun(run->context.place, p, job, ret_problem);
}

/* The quarantine is on disk before the journal ends, so that the next start finds one of them. */
static int save_quarantine(const Run *run, uint32_t job, const char *reason)
{
	const Plan *plan = run->context.plan;
	int r;

	if (!run->context.place->quarantine)
		return 0;
	r = quarantine_plan(run->context.place->quarantine, plan, job, reason);
	disk_watch_note(run->context.place->disk, "a quarantine", r);
	return r;
}

/*
 * The job is over on the machine. An open journal would undo it at the next start, when other jobs
 * may have these functions. So they stay quarantined until a start has read the journal; and whether
 * that finds it open nobody knows after a failed sync, so that the quarantine is on disk as well.
 */
static void not_ended(const Run *run, uint32_t job, int error, ExecutorResult *result)
{
	result->quarantine = strf("its journal could not be closed: %s", strerror(-error));
	(void)save_quarantine(run, job, result->quarantine);
	if (result->problem && result->problem->error == GPUPASS_ERROR_CANCELLED)
		result->problem->error = GPUPASS_ERROR_ROLLBACK_FAILED;
	if (result->problem) {
		const char *group = run->context.plan->group, *state = result->problem->state;

		problem_state(result->problem, "%s; %s is quarantined: %s",
			      state ? state : "nothing was changed", group, result->quarantine);
		problem_remedy(result->problem,
			       "see that the state directory is writable, then: gpupass clear %s",
			       group);
	} else {
		no_journal(run, error, &result->problem);
		problem_state(result->problem, "the job itself was done");
		problem_remedy(result->problem, "see that the state directory is writable, then: "
						"systemctl restart gpupassd");
	}
	result->state = JOB_INCOMPLETE;
}

static int end_journal(const Run *run)
{
	int r = journal_end(run->log);

	/* Also where it could be ended otherwise: the disk is not to be trusted. */
	note_journal(run, run->log->failed);
	return r;
}

static void end(Run *run, uint32_t job, ExecutorResult *result)
{
	int r;

	if (result->open)
		return;
	if (result->state == JOB_INCOMPLETE) {
		/* Without a quarantine file, the next start finds the open journal. */
		if (save_quarantine(run, job, result->quarantine) >= 0 && run->log)
			(void)end_journal(run);
		return;
	}
	r = run->log ? end_journal(run) : 0;
	if (r < 0)
		not_ended(run, job, r, result);
}

static void run_steps(Run *run, ExecutorResult *result)
{
	Cancellation *cancel = run->context.place->cancel;
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->context.plan->n_steps; i++) {
		r = cancellation_check(cancel, &result->problem);
		if (r == 0)
			r = act(run, i, &result->problem);
	}
	/* Who was told that the last step is undone, too, is not disappointed. */
	if (r == 0)
		r = cancellation_close(cancel, &result->problem);
	if (r == 0)
		return;
	/* What failed by itself is undone all the same, and has its own reason. */
	if (result->problem->error != GPUPASS_ERROR_CANCELLED)
		cancellation_shut(cancel);
	failed(run, result);
}

static void run_in_journal(Run *run, uint32_t job, ExecutorResult *result)
{
	int r = cancellation_check(run->context.place->cancel, &result->problem);

	if (r == 0)
		r = begin(run, job, &result->problem);
	if (r == 0)
		run_steps(run, result);
	else
		result->state = cancellation_state(result->problem);
	end(run, job, result);
}

ExecutorResult execute(const JobPlace *place, uint32_t job, const Prepared *prepared,
		       uint64_t timeout_usec, JobTell listener, void *userdata)
{
	Run run = {
		.context = {
			.place = place,
			.prepared = prepared,
			.plan = prepared->plan,
			.timeout_usec = timeout_usec,
			.tell = tell_progress,
		},
		.tell = listener,
		.userdata = userdata,
	};
	ExecutorResult result = { .state = JOB_DONE };

	run_in_journal(&run, job, &result);
	result.left = TAKE_PTR(run.context.left);
	journal_job_free(run.log);
	step_context_clear(&run.context);
	return result;
}

#include "executor.inc"
