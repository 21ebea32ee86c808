/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/jobs.h"

#include "manager/audit.h"
#include "manager/fence.h"
#include "manager/look.h"
#include "manager/picture.h"
#include "manager/records.h"
#include "manager/recover.h"
#include "manager/state.h"
#include "util/log.h"
#include "util/xalloc.h"

static LogFields fields_of(const JobRecord *job, const char *message_id)
{
	return (LogFields){
		.message_id = message_id,
		.group = job->group,
		.domain = job->domain_name,
		.domain_uuid = job->domain_uuid,
		.job = job->id,
		.uid = job->caller_uid,
	};
}

/* "0000:41:00.0,0000:41:00.1" */
static char *join_functions(const JobRecord *job)
{
	_cleanup_strv_ char **addresses = NULL;

	for (size_t i = 0; i < job->n_functions; i++)
		strv_append(&addresses, BDF_TEXT(&job->functions[i]));
	return strv_join(addresses, ",");
}

/* Logs a line of the job, because job/ does not log. */
static void log_note(Manager *m, const JobRecord *job, const JobNote *note)
{
	static const struct {
		const char *message_id;
		int level;
		AuditVerdict verdict;
	} kinds[] = {
		[JOB_NOTE_RESET] = { LOG_ID_RESET, LOG_NOTICE, AUDIT_DONE },
		[JOB_NOTE_RESET_FAILED] = { LOG_ID_RESET_FAILED, LOG_ERR, AUDIT_FAILED },
		[JOB_NOTE_NOT_RESET] = { LOG_ID_NOT_RESET, LOG_WARNING, AUDIT_NO_VERDICT },
		[JOB_NOTE_ACCEPTED] = { LOG_ID_ACCEPTED_DIRTY, LOG_WARNING, AUDIT_ALLOWED },
		[JOB_NOTE_LINKS] = { LOG_ID_GUEST_WORD, LOG_WARNING, AUDIT_NO_VERDICT },
	};
	const LogFields fields = fields_of(job, kinds[note->kind].message_id);

	log_line(kinds[note->kind].level, &fields, "%s", note->text);
	/* What a guest says decides nothing about a GPU. */
	if (note->kind != JOB_NOTE_LINKS)
		audit_reset(m, job, note->text, kinds[note->kind].verdict);
	metrics_resets(&m->metrics, &note->resets);
}

static const struct {
	const char *message_id;
	int level;
	AuditVerdict verdict;
} ends[JOB_STATE_MAX_] = {
	[JOB_DONE] = { LOG_ID_JOB_DONE, LOG_INFO, AUDIT_DONE },
	[JOB_FAILED] = { LOG_ID_JOB_FAILED, LOG_ERR, AUDIT_FAILED },
	[JOB_CANCELLED] = { LOG_ID_JOB_CANCELLED, LOG_NOTICE, AUDIT_UNDONE },
	[JOB_INCOMPLETE] = { LOG_ID_QUARANTINED, LOG_ERR, AUDIT_INCOMPLETE },
};

static void log_end(const JobRecord *job, JobState state, Verdict verdict)
{
	_cleanup_free_ char *functions = join_functions(job);
	LogFields fields = fields_of(job, ends[state].message_id);

	fields.functions = functions;
	if (state == JOB_DONE)
		log_line(ends[state].level, &fields, "job %u: %s%s%s%s%s: %s after %llu ms",
			 job->id, operation_to_string(job->operation), *job->group ? " " : "",
			 job->group, *job->domain_name ? " " : "", job->domain_name,
			 job->changed			      ? "done"
			 : job->operation == OPERATION_VERIFY ? verdict_to_string(verdict)
							      : "nothing to do",
			 (unsigned long long)(job->duration_usec / 1000));
	else
		/* The message starts with what the job was to do. */
		log_line(ends[state].level, &fields, "job %u: %s", job->id, job->message);
}

typedef struct Ended {
	Manager *manager;
	uint32_t id;
} Ended;

static void tell_ends(void *userdata)
{
	Manager *m = userdata;

	m->tells_ends = false;
	for (size_t i = 0; i < m->n_jobs; i++)
		if (m->jobs[i]->is_ending) {
			m->jobs[i]->state = m->jobs[i]->ends_as;
			m->jobs[i]->ended = true;
		}
	manager_observe(m);
	for (size_t i = 0; i < m->n_jobs; i++)
		if (m->jobs[i]->is_ending) {
			m->jobs[i]->is_ending = false;
			m->listener.job_ended(m->jobs[i], m->listener.userdata);
		}
	records_trim(m);
	m->hooks->jobs_ended(m);
}

/*
 * Reports the end once the picture shows it, so that a caller who then asks sees the new state of
 * the group. Until then the job keeps its running state, because any change of a job publishes all
 * jobs. Jobs that end with the same look share a picture.
 */
static void tell_end(void *userdata)
{
	Ended *ended = userdata;
	Manager *m = ended->manager;
	JobRecord *job = manager_job(m, ended->id);

	free(ended);
	if (!job)
		return;
	job->is_ending = true;
	if (!m->tells_ends)
		mailbox_post(m->place.mailbox, tell_ends, m);
	m->tells_ends = true;
}

/* A domain may start with the group as soon as the caller hears that the job is done. */
static void open_fence(void *userdata)
{
	Ended *ended = userdata;

	manager_open_fence(ended->manager, ended->id, tell_end, ended);
}

static void on_ended(Manager *m, JobRecord *job, JobEvent *event)
{
	Ended *ended;

	manager_note_numbers(event->numbers_error);
	manager_note_verdict(m, event);
	job_record_ended(job, event);
	log_end(job, event->state, event->verdict);
	metrics_job_ended(&m->metrics, job->operation, event->state, job->duration_usec,
			  job->error_name);
	m->metrics.quarantines += event->quarantine != NULL;
	audit_job_ended(m, job, ends[event->state].verdict, event->quarantine);
	if (event->open)
		manager_take_open_job(m, TAKE_PTR(event->open));
	ended = xmalloc(sizeof(Ended));
	*ended = (Ended){ .manager = m, .id = job->id };
	job->ends_as = event->state;
	if (event->changed_nothing)
		tell_end(ended);
	else
		manager_refresh_changed(m, job->functions, job->n_functions, open_fence, ended);
}

static void on_event(uint32_t id, JobEvent *event, void *userdata)
{
	Manager *m = userdata;
	JobRecord *job = manager_job(m, id);
	GroupState showed = job ? job_record_moving_state(job) : GROUP_UNKNOWN;

	if (!job)
		return;
	switch (event->kind) {
	case JOB_EVENT_PLANNED:
		job_record_planned(job, event);
		break;
	case JOB_EVENT_STEP:
		if (event->step < job->n_steps)
			metrics_step(&m->metrics, job->steps[event->step].kind, event->step_state,
				     event->duration_usec);
		job_record_step(job, event);
		break;
	case JOB_EVENT_ROLLING_BACK:
		job->state = JOB_ROLLING_BACK;
		job->rolling_back = true;
		break;
	case JOB_EVENT_NOTE:
		log_note(m, job, &event->note);
		return;
	case JOB_EVENT_ENDED:
		on_ended(m, job, event);
		return;
	}
	/* Of most steps only the job's own object tells: the picture is that of all groups. */
	if (event->kind != JOB_EVENT_STEP || job_record_moving_state(job) != showed)
		manager_observe(m);
	m->listener.job_changed(job, m->listener.userdata);
}

int manager_start_job(Manager *m, const JobRequest *request, uint32_t *ret_id,
		      Problem **ret_problem)
{
	JobPlace place = manager_job_place(m);
	JobRecord *job;
	int r = records_check_limits(m, request, ret_problem);

	if (r == PROBLEM) {
		metrics_failure(&m->metrics, problem_dbus_name((*ret_problem)->error));
		return r;
	}
	job = job_record_new(m->last_job + 1, request);
	place.cancel = job->cancel;
	job_start(job->id, m->place.mailbox, &place, request, on_event, m);
	records_add(m, job);
	*ret_id = job->id;
	m->listener.job_new(job, m->listener.userdata);
	return 0;
}

void manager_plan(Manager *m, const JobRequest *request, PlanListener listener, void *userdata)
{
	JobPlace place = manager_job_place(m);

	plan_start(m->place.mailbox, &place, request, listener, userdata);
}

/* ---- cancelling ---- */

/* A job of an earlier daemon has no record here. */
static int refuse_unknown(const Manager *m, uint32_t id, Problem **ret_problem)
{
	if (manager_recovers_job(m, id))
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_TOO_LATE,
			.reason = strf("job %u was interrupted, and is being recovered", id),
			.cause = xstrdup("recovery goes by what is found on this host: it finishes "
					 "the job or undoes it"),
			.remedy = xstrdup("see what became of it: journalctl -u gpupassd"));
	return problem_refuse(ret_problem, GPUPASS_ERROR_NO_SUCH_JOB,
			      .reason = strf("there is no job %u", id),
			      .cause = xstrdup("gpupassd keeps the last 32 jobs since its start"),
			      .remedy = xstrdup("see them with: gpupass jobs"));
}

static int refuse_ended(const JobRecord *job, Problem **ret_problem)
{
	bool done = job->state == JOB_DONE && job->changed;

	return problem_refuse(
		ret_problem, GPUPASS_ERROR_TOO_LATE,
		.reason = strf("job %u has ended already: %s", job->id,
			       job_state_to_string(job->state)),
		.remedy = done && job->operation == OPERATION_ASSIGN
				  ? strf("take the group back: gpupass release %s", job->group)
				  : strf("see what it did: gpupass jobs %u", job->id));
}

/* The thread takes no more cancels, and its end is on the way to the loop. */
static int refuse_closed(const JobRecord *job, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_TOO_LATE,
		.reason = job->rolling_back ? strf("job %u failed, and is undone already", job->id)
					    : strf("job %u is about to end", job->id),
		.state = xstrdup("the job goes on to its end"),
		.remedy = strf("see what becomes of it: gpupass jobs %u", job->id));
}

static void note_request(Manager *m, JobRecord *job, uint32_t uid)
{
	LogFields fields = fields_of(job, NULL);

	fields.uid = uid;
	job->cancel_requested = true;
	job->cancelled_by_uid = uid;
	log_line(LOG_NOTICE, &fields, "job %u: %s%s%s: user %u cancels it", job->id,
		 operation_to_string(job->operation), *job->group ? " " : "", job->group, uid);
	m->listener.job_changed(job, m->listener.userdata);
}

int manager_cancel_job(Manager *m, uint32_t id, uint32_t uid, Problem **ret_problem)
{
	JobRecord *job = manager_job(m, id);
	int r;

	if (!job)
		return refuse_unknown(m, id, ret_problem);
	if (job->ended)
		return refuse_ended(job, ret_problem);
	r = cancellation_ask(job->cancel, uid);
	if (r < 0)
		return refuse_closed(job, ret_problem);
	if (r > 0)
		note_request(m, job, uid);
	return 0;
}
