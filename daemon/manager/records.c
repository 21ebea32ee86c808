/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/records.h"

#include "manager/state.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/xalloc.h"

LOCAL_CLEAR(VerdictOf, verdict_of_clear)
#include "records.inc"

JobRecord *manager_job(const Manager *m, uint32_t id)
{
	return FIND_OF(m->jobs, m->n_jobs, it->id == id);
}

const JobRecord *const *manager_jobs(const Manager *m, size_t *ret_n)
{
	*ret_n = m->n_jobs;
	return (const JobRecord *const *)m->jobs;
}

uint32_t manager_group_job(const Manager *m, const Group *group)
{
	EACH_OF (JobRecord, job, m->jobs, m->n_jobs) {
		/* By function, because a group may be declared under another name meanwhile. */
		if (!job->ended && group->n_gpus > 0 &&
		    bdf_in(&group->gpus[0]->lead->bdf, job->functions, job->n_functions))
			return job->id;
	}
	return 0;
}

bool manager_job_runs(const Manager *m)
{
	/* An erase takes hours, and nobody has what it erases. */
	return SOME_OF(m->jobs, m->n_jobs, !it->ended && it->operation != OPERATION_PREPARE) ||
	       m->recovering;
}

static GroupState operation_moving_state(Operation operation)
{
	if (operation == OPERATION_ASSIGN || operation == OPERATION_RECONCILE)
		return GROUP_ATTACHING;
	if (operation == OPERATION_PREPARE)
		return GROUP_UNREADY;
	return operation == OPERATION_BIND ? GROUP_BINDING : GROUP_RELEASING;
}

GroupState job_record_moving_state(const JobRecord *job)
{
	GroupState shows = GROUP_UNKNOWN;

	if (job->rolling_back)
		return GROUP_ROLLING_BACK;
	/* Between two steps what the first one shows, so that nothing is told for a moment only. */
	for (size_t i = 0; i < job->n_steps && job->steps[i].state != STEP_PENDING; i++)
		shows = step_ops(job->steps[i].kind)->shows;
	if (shows == GROUP_UNKNOWN)
		return operation_moving_state(job->operation);
	if (shows == GROUP_BINDING &&
	    (job->operation == OPERATION_RELEASE || job->operation == OPERATION_PREPARE))
		return operation_moving_state(job->operation);
	return shows;
}

/* Forgets the oldest ended jobs beyond the history, of root or of users. */
static void trim_history_of(Manager *m, bool privileged)
{
	size_t ended = 0;

	for (size_t i = 0; i < m->n_jobs; i++)
		ended += m->jobs[i]->ended &&
			 caller_is_privileged(m->jobs[i]->caller_uid) == privileged;
	for (size_t i = 0; i < m->n_jobs && ended > JOBS_HISTORY_MAX;) {
		JobRecord *job = m->jobs[i];

		if (!job->ended || caller_is_privileged(job->caller_uid) != privileged) {
			i++;
			continue;
		}
		memmove(&m->jobs[i], &m->jobs[i + 1], (m->n_jobs - i - 1) * sizeof(JobRecord *));
		m->n_jobs--;
		ended--;
		job_record_free(job);
	}
}

/* Each side by itself, so that jobs of users do not push those of root out of the history. */
void records_trim(Manager *m)
{
	trim_history_of(m, true);
	trim_history_of(m, false);
}

static void replace(char **to, char **from)
{
	if (!*from)
		return;
	free(*to);
	*to = TAKE_PTR(*from);
}

void job_record_planned(JobRecord *job, JobEvent *event)
{
	replace(&job->group, &event->group);
	replace(&job->domain_name, &event->domain_name);
	replace(&job->domain_uuid, &event->domain_uuid);
	job->warnings = TAKE_PTR(event->warnings);
	job->functions = TAKE_PTR(event->functions);
	job->n_functions = event->n_functions;
	job->changed = event->changed;
	job->state = JOB_RUNNING;
	job->steps = xcalloc(event->n_steps, sizeof(JobStep));
	for (size_t i = 0; i < event->n_steps; i++)
		job->steps[i] = (JobStep){ .kind = event->steps[i], .state = STEP_PENDING };
	job->n_steps = event->n_steps;
}

void job_record_step(JobRecord *job, JobEvent *event)
{
	JobStep *step;

	if (event->step >= job->n_steps)
		return;
	step = &job->steps[event->step];
	step->state = event->step_state;
	if (event->duration_usec > 0)
		step->duration_usec = event->duration_usec;
	replace(&step->detail, &event->detail);
}

void job_record_ended(JobRecord *job, JobEvent *event)
{
	job->duration_usec = now_monotonic() - job->started_usec;
	if (event->state != JOB_DONE)
		job->changed = false;
	replace(&job->error_name, &event->error_name);
	replace(&job->message, &event->message);
	replace(&job->result, &event->result);
	if (event->warnings) {
		strv_free(job->warnings);
		job->warnings = TAKE_PTR(event->warnings);
	}
}

JobRecord *job_record_new(uint32_t id, const JobRequest *request)
{
	JobRecord *job = xmalloc(sizeof(JobRecord));
	const char *domain = request->domain ? request->domain : request->target;

	*job = (JobRecord){
		.id = id,
		.operation = request->plan.operation,
		.group = xstrdup(str_or_empty(request->group)),
		.domain_name = xstrdup(str_or_empty(domain)),
		/* What polkit permitted, so that others can be asked about it before the plan. */
		.domain_uuid =
			xstrdup(request->permitted ? str_or_empty(request->permitted_uuid) : ""),
		.state = JOB_PLANNING,
		.error_name = xstrdup(""),
		.message = xstrdup(""),
		.result = xstrdup(""),
		.created_usec = now_realtime(),
		.started_usec = now_monotonic(),
		.caller_uid = request->plan.caller_uid,
		.caller = caller_identity_ref(request->caller),
	};
	cancellation_new(&job->cancel);
	return job;
}

int records_check_limits(const Manager *m, const JobRequest *request, Problem **ret_problem)
{
	size_t jobs = 0, verifications = 0, all_verifications = 0;
	char *reason = NULL;

	EACH_OF (JobRecord, job, m->jobs, m->n_jobs) {
		bool of_caller = job->caller_uid == request->plan.caller_uid;
		bool verifies = job->operation == OPERATION_VERIFY;

		if (job->ended)
			continue;
		jobs += of_caller;
		verifications += of_caller && verifies;
		all_verifications += verifies;
	}
	if (jobs >= JOBS_RUNNING_MAX)
		reason = strf("%d jobs of user %u are running already", JOBS_RUNNING_MAX,
			      request->plan.caller_uid);
	else if (request->plan.operation == OPERATION_VERIFY &&
		 (verifications >= VERIFICATIONS_USER_MAX ||
		  all_verifications >= VERIFICATIONS_MAX))
		reason = strf("%zu guests are being asked already", all_verifications);
	else
		return 0;
	return problem_refuse(ret_problem, GPUPASS_ERROR_LIMITS_EXCEEDED, .reason = reason,
			      .remedy = xstrdup("wait for some to end: gpupass jobs"));
}

void records_add(Manager *m, JobRecord *job)
{
	m->last_job = job->id;
	*GROW(m->jobs, m->n_jobs) = job;
}

/* ---- verdicts of guests on NVLink ---- */

static bool same_gpus(const VerdictOf *v, const Group *group)
{
	if (v->n_gpus != group->n_gpus)
		return false;
	return EVERY_OF(group->gpus, group->n_gpus, bdf_in(&it->lead->bdf, v->gpus, v->n_gpus));
}

Verdict manager_group_verdict(const Manager *m, const Group *group, uint64_t *ret_asked_usec)
{
	*ret_asked_usec = 0;
	EACH (const VerdictOf, v, m->verdicts, m->n_verdicts) {
		if (!str_equal(v->domain_uuid, group->domain_uuid) || !same_gpus(v, group))
			continue;
		*ret_asked_usec = v->asked_usec;
		return v->verdict;
	}
	return VERDICT_UNKNOWN;
}

/* Each GPU is in one entry at most, so there are never more entries than GPUs. */
static void drop_gpus(Manager *m, const Bdf *gpus, size_t n)
{
	for (size_t i = 0; i < m->n_verdicts;) {
		VerdictOf *v = &m->verdicts[i];
		bool shared = SOME(v->gpus, v->n_gpus, bdf_in(it, gpus, n));

		if (!shared) {
			i++;
			continue;
		}
		verdict_of_clear(v);
		*v = m->verdicts[--m->n_verdicts];
	}
}

void manager_note_verdict(Manager *m, JobEvent *ended)
{
	if (!ended->result)
		return;
	drop_gpus(m, ended->functions, ended->n_functions);
	*GROW(m->verdicts, m->n_verdicts) = (VerdictOf){
		.domain_uuid = TAKE_PTR(ended->domain_uuid),
		.gpus = TAKE_PTR(ended->functions),
		.n_gpus = ended->n_functions,
		.verdict = ended->verdict,
		.asked_usec = ended->asked_usec,
	};
}
