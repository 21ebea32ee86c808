/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs as the loop sees them: started, told about, kept for a while. */
#include <string.h>
#include <unistd.h>

#include "manager/private.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"

void job_record_free(JobRecord *job)
{
	if (!job)
		return;
	for (size_t i = 0; i < job->n_steps; i++)
		free(job->steps[i].detail);
	free(job->steps);
	free(job->group);
	free(job->domain_name);
	free(job->domain_uuid);
	strv_free(job->warnings);
	free(job->functions);
	free(job->error_name);
	free(job->message);
	free(job->result);
	free(job);
}

static JobRecord *find(const Manager *m, uint32_t id)
{
	for (size_t i = 0; i < m->n_jobs; i++)
		if (m->jobs[i]->id == id)
			return m->jobs[i];
	return NULL;
}

const JobRecord *manager_job(const Manager *m, uint32_t id)
{
	return find(m, id);
}

const JobRecord *const *manager_jobs(const Manager *m, size_t *ret_n)
{
	*ret_n = m->n_jobs;
	return (const JobRecord *const *)m->jobs;
}

uint32_t manager_group_job(const Manager *m, const Group *group)
{
	for (size_t i = 0; i < m->n_jobs; i++) {
		const JobRecord *job = m->jobs[i];

		/* By function: a group may be declared anew, under another name, meanwhile. */
		if (!job->ended && group->n_gpus > 0 &&
		    bdf_in(&group->gpus[0]->lead->bdf, job->functions, job->n_functions))
			return job->id;
	}
	return 0;
}

/* Root, and the user that the daemon runs as: what they start is counted apart from all others'. */
static bool is_privileged(uint32_t uid)
{
	return uid == 0 || uid == geteuid();
}

/* Forgets the oldest ended jobs beyond the history, of root's or of users'. */
static void trim_history_of(Manager *m, bool privileged)
{
	size_t ended = 0;

	for (size_t i = 0; i < m->n_jobs; i++)
		ended += m->jobs[i]->ended && is_privileged(m->jobs[i]->caller_uid) == privileged;
	for (size_t i = 0; i < m->n_jobs && ended > JOBS_HISTORY_MAX;) {
		JobRecord *job = m->jobs[i];

		if (!job->ended || is_privileged(job->caller_uid) != privileged) {
			i++;
			continue;
		}
		m->listener.job_forgotten(job, m->listener.userdata);
		memmove(&m->jobs[i], &m->jobs[i + 1], (m->n_jobs - i - 1) * sizeof(JobRecord *));
		m->n_jobs--;
		ended--;
		job_record_free(job);
	}
}

/* What users do does not push what root has done out of sight. */
static void trim_history(Manager *m)
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

static void on_planned(JobRecord *job, JobEvent *event)
{
	JobStep *steps = calloc(event->n_steps + 1, sizeof(JobStep));

	replace(&job->group, &event->group);
	replace(&job->domain_name, &event->domain_name);
	replace(&job->domain_uuid, &event->domain_uuid);
	job->warnings = TAKE_PTR(event->warnings);
	job->functions = TAKE_PTR(event->functions);
	job->n_functions = event->n_functions;
	job->changed = event->changed;
	job->state = JOB_RUNNING;
	if (!steps)
		return; /* the job goes on, its steps are not shown */
	for (size_t i = 0; i < event->n_steps; i++)
		steps[i] = (JobStep){ .kind = event->steps[i], .state = STEP_PENDING };
	job->steps = steps;
	job->n_steps = event->n_steps;
}

static void on_step(JobRecord *job, JobEvent *event)
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

/* "0000:41:00.0,0000:41:00.1"; NULL when memory is out, which costs the log a field. */
static char *join_functions(const JobRecord *job)
{
	_cleanup_strv_ char **addresses = NULL;

	for (size_t i = 0; i < job->n_functions; i++)
		if (strv_append(&addresses, BDF_TEXT(&job->functions[i])) < 0)
			return NULL;
	return strv_join(addresses, ",");
}

/* A job's own lines: job/ does not log. */
static void log_note(const JobRecord *job, const JobNote *note)
{
	static const struct {
		int level;
		const char *message_id;
	} kinds[] = {
		[JOB_NOTE_RESET] = { LOG_NOTICE, LOG_ID_RESET },
		[JOB_NOTE_RESET_FAILED] = { LOG_ERR, LOG_ID_RESET_FAILED },
		[JOB_NOTE_NOT_RESET] = { LOG_WARNING, LOG_ID_NOT_RESET },
		[JOB_NOTE_ACCEPTED] = { LOG_WARNING, LOG_ID_ACCEPTED_DIRTY },
		[JOB_NOTE_LINKS] = { LOG_WARNING, NULL },
	};
	const LogFields fields = {
		.message_id = kinds[note->kind].message_id,
		.group = job->group,
		.domain = job->domain_name,
		.domain_uuid = job->domain_uuid,
		.job = job->id,
		.uid = job->caller_uid,
	};

	log_line(kinds[note->kind].level, &fields, "%s", note->text);
}

static void log_end(const JobRecord *job, JobState state, Verdict verdict)
{
	_cleanup_free_ char *functions = join_functions(job);
	const LogFields fields = {
		.message_id = state == JOB_DONE		? LOG_ID_JOB_DONE
			      : state == JOB_INCOMPLETE ? LOG_ID_QUARANTINED
							: LOG_ID_JOB_FAILED,
		.group = job->group,
		.domain = job->domain_name,
		.domain_uuid = job->domain_uuid,
		.functions = functions,
		.job = job->id,
		.uid = job->caller_uid,
	};

	if (state == JOB_DONE)
		log_line(LOG_INFO, &fields, "job %u: %s%s%s%s%s: %s after %llu ms", job->id,
			 operation_to_string(job->operation), *job->group ? " " : "", job->group,
			 *job->domain_name ? " " : "", job->domain_name,
			 job->changed			      ? "done"
			 : job->operation == OPERATION_VERIFY ? verdict_to_string(verdict)
							      : "nothing to do",
			 (unsigned long long)(job->duration_usec / 1000));
	else
		/* The message begins with what was to be done. */
		log_line(LOG_ERR, &fields, "job %u: %s", job->id, job->message);
}

typedef struct Ended {
	Manager *manager;
	uint32_t id;
	JobState state;
} Ended;

static void end(Manager *m, JobRecord *job, JobState state)
{
	job->state = state;
	job->ended = true;
	manager_observe(m);
	m->listener.job_ended(job, m->listener.userdata);
	trim_history(m);
}

/*
 * The end is told once the picture shows it: who asks after it sees the new state of the group. Until
 * then the job's own state is the moving one, since the jobs are shown whenever one of them changes.
 */
static void tell_end(void *userdata)
{
	Ended *ended = userdata;
	Manager *m = ended->manager;
	JobRecord *job = find(m, ended->id);

	if (job)
		end(m, job, ended->state);
	free(ended);
}

static void on_ended(Manager *m, JobRecord *job, JobEvent *event)
{
	Ended *ended = calloc(1, sizeof(Ended));

	job->duration_usec = now_monotonic() - job->started_usec;
	if (event->state != JOB_DONE)
		job->changed = false;
	replace(&job->error_name, &event->error_name);
	replace(&job->message, &event->message);
	manager_note_verdict(m, event);
	replace(&job->result, &event->result);
	log_end(job, event->state, event->verdict);
	if (event->open)
		manager_take_open_job(m, TAKE_PTR(event->open));
	if (event->warnings) {
		strv_free(job->warnings);
		job->warnings = TAKE_PTR(event->warnings);
	}
	if (ended) {
		*ended = (Ended){ .manager = m, .id = job->id, .state = event->state };
		if (manager_refresh(m, tell_end, ended) >= 0)
			return;
		free(ended);
	}
	end(m, job, event->state);
}

static void on_event(uint32_t id, JobEvent *event, void *userdata)
{
	Manager *m = userdata;
	JobRecord *job = find(m, id);

	if (!job)
		return;
	switch (event->kind) {
	case JOB_EVENT_PLANNED:
		on_planned(job, event);
		break;
	case JOB_EVENT_STEP:
		on_step(job, event);
		break;
	case JOB_EVENT_ROLLING_BACK:
		job->state = JOB_ROLLING_BACK;
		job->rolling_back = true;
		break;
	case JOB_EVENT_NOTE:
		log_note(job, &event->note);
		return;
	case JOB_EVENT_ENDED:
		on_ended(m, job, event); /* which may forget it */
		return;
	}
	manager_observe(m);
	m->listener.job_changed(job, m->listener.userdata);
}

static int record_new(Manager *m, const JobRequest *request, JobRecord **ret)
{
	JobRecord *job = calloc(1, sizeof(JobRecord));
	const char *domain = request->domain ? request->domain : request->target;

	if (!job)
		return -ENOMEM;
	*job = (JobRecord){
		.id = m->last_job + 1,
		.operation = request->operation,
		.group = strdup(str_or_empty(request->group)),
		.domain_name = strdup(str_or_empty(domain)),
		.domain_uuid = strdup(""),
		.state = JOB_PLANNING,
		.error_name = strdup(""),
		.message = strdup(""),
		.result = strdup(""),
		.created_usec = now_realtime(),
		.started_usec = now_monotonic(),
		.caller_uid = request->caller_uid,
	};
	if (!job->group || !job->domain_name || !job->domain_uuid || !job->error_name ||
	    !job->message || !job->result) {
		job_record_free(job);
		return -ENOMEM;
	}
	*ret = job;
	return 0;
}

/* What runs of root, or what runs of users. */
typedef struct Running {
	size_t jobs, jobs_of_user;
	size_t verifications, verifications_of_user;
} Running;

static Running count_beside(const Manager *m, uint32_t uid)
{
	Running running = { 0 };

	for (size_t i = 0; i < m->n_jobs; i++) {
		const JobRecord *job = m->jobs[i];
		bool verifies = job->operation == OPERATION_VERIFY;

		if (job->ended || is_privileged(job->caller_uid) != is_privileged(uid))
			continue;
		running.jobs++;
		running.verifications += verifies;
		running.jobs_of_user += job->caller_uid == uid;
		running.verifications_of_user += job->caller_uid == uid && verifies;
	}
	return running;
}

/* LimitsExceeded: too many of this kind, or of this user's, at a time. */
static int check_limits(const Manager *m, const JobRequest *request, Problem **ret_problem)
{
	uint32_t uid = request->caller_uid;
	Running running = count_beside(m, uid);
	bool verifies = request->operation == OPERATION_VERIFY, user = !is_privileged(uid);
	int r = 0;

	if (user && running.jobs_of_user >= JOBS_RUNNING_USER_MAX)
		r = problem_set(ret_problem, GPUPASS_ERROR_LIMITS_EXCEEDED,
				"%d jobs of user %u are running already", JOBS_RUNNING_USER_MAX,
				uid);
	else if (running.jobs >= JOBS_RUNNING_MAX)
		r = problem_set(ret_problem, GPUPASS_ERROR_LIMITS_EXCEEDED,
				"%d jobs are running already", JOBS_RUNNING_MAX);
	else if (verifies && user && running.verifications_of_user >= VERIFICATIONS_USER_MAX)
		r = problem_set(ret_problem, GPUPASS_ERROR_LIMITS_EXCEEDED,
				"%d guest is being asked for user %u already",
				VERIFICATIONS_USER_MAX, uid);
	else if (verifies && running.verifications >= VERIFICATIONS_MAX)
		r = problem_set(ret_problem, GPUPASS_ERROR_LIMITS_EXCEEDED,
				"%d guests are being asked already", VERIFICATIONS_MAX);
	if (r == PROBLEM)
		problem_remedy(*ret_problem, "wait for some to end: gpupass jobs");
	return r;
}

int manager_start_job(Manager *m, const JobRequest *request, uint32_t *ret_id,
		      Problem **ret_problem)
{
	JobPlace place = manager_job_place(m);
	JobRecord **bigger, *job = NULL;
	int r;

	r = check_limits(m, request, ret_problem);
	if (r != 0)
		return r;
	bigger = reallocarray(m->jobs, m->n_jobs + 1, sizeof(JobRecord *));
	if (!bigger)
		return -ENOMEM;
	m->jobs = bigger;
	r = record_new(m, request, &job);
	if (r < 0)
		return r;
	r = job_start(job->id, m->place.mailbox, &place, request, on_event, m);
	if (r < 0) {
		job_record_free(job);
		return r;
	}
	m->last_job = job->id;
	m->jobs[m->n_jobs++] = job;
	*ret_id = job->id;
	m->listener.job_new(job, m->listener.userdata);
	return 0;
}

int manager_plan(Manager *m, const JobRequest *request, PlanListener listener, void *userdata)
{
	JobPlace place = manager_job_place(m);

	return plan_start(m->place.mailbox, &place, request, listener, userdata);
}

typedef struct Inspect {
	Host *host;
	Bdf *functions;
	size_t n;
	Inspection *inspection;
	int result;
	ManagerInspected done;
	void *userdata;
} Inspect;

static void inspect_work(void *data)
{
	Inspect *task = data;

	task->result = task->host->ops->inspect(task->host, task->functions, task->n,
						INSPECT_CONFIG_AWAKE, &task->inspection);
}

static void inspect_done(void *data)
{
	Inspect *task = data;

	task->done(task->inspection, task->result, task->userdata);
	inspection_free(task->inspection);
	free(task->functions);
	free(task);
}

int manager_inspect(Manager *m, const Bdf *functions, size_t n, ManagerInspected done,
		    void *userdata)
{
	_cleanup_free_ Inspect *task = calloc(1, sizeof(Inspect));
	_cleanup_free_ Bdf *copy = calloc(n + 1, sizeof(Bdf));
	int r;

	if (!task || !copy)
		return -ENOMEM;
	memcpy(copy, functions, n * sizeof(Bdf));
	*task = (Inspect){
		.host = m->place.host, .functions = copy, .n = n, .done = done, .userdata = userdata
	};
	r = mailbox_run(m->place.mailbox, inspect_work, inspect_done, task);
	if (r < 0)
		return r;
	TAKE_PTR(copy);
	TAKE_PTR(task);
	return 0;
}
