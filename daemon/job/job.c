/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/job.h"

#include "job/prepare.h"
#include "job/probe.h"
#include "util/clock.h"
#include "util/xalloc.h"

/* What both kinds of run own. These are copies: the loop may replace the originals meanwhile. */
typedef struct Task {
	uint32_t id; /* 0: a dry run */
	Mailbox *mailbox;
	JobPlace place;
	JobPlace looking; /* the same with a deadline, before the first write */
	Host host;	  /* of the latter */
	Identities *known;
	JobRequest request;
	JobListener on_event;
	PlanListener on_plan;
	void *userdata;
	JobEvent ended;	   /* written by the thread, delivered when it is over */
	PlanResult result; /* likewise */
} Task;

#include "job.inc"

static void task_clear(Task *task)
{
	rules_unref(task->place.rules);
	cancellation_unref(task->place.cancel);
	identities_free(task->known);
	job_request_clear(&task->request);
	job_event_clear(&task->ended);
	plan_result_clear(&task->result);
}

DEFINE_LOCAL_FREE(Task, task_free, task_clear)

static Task *task_new(uint32_t id, Mailbox *mailbox, const JobPlace *place,
		      const JobRequest *request, void *userdata)
{
	Task *task = xcalloc(1, sizeof(Task));

	task->id = id;
	task->mailbox = mailbox;
	task->userdata = userdata;
	task->place = *place;
	task->place.rules = rules_ref(place->rules);
	task->place.cancel = cancellation_ref(place->cancel);
	identities_copy(place->known, &task->known);
	task->request = job_request_copy(request);
	task->place.known = task->known;
	task->host = *place->host;
	task->looking = task->place;
	task->looking.host = &task->host;
	return task;
}

/* An event on its way to the loop. */
typedef struct Envelope {
	Task *task;
	JobEvent event;
} Envelope;

static void deliver(void *data)
{
	Envelope *envelope = data;

	envelope->task->on_event(envelope->task->id, &envelope->event, envelope->task->userdata);
	job_event_clear(&envelope->event);
	free(envelope);
}

static void send(JobEvent *event, void *userdata)
{
	Task *task = userdata;
	Envelope *envelope = xcalloc(1, sizeof(Envelope));

	*envelope = (Envelope){ .task = task, .event = *event };
	mailbox_post(task->mailbox, deliver, envelope);
}

static JobEvent planned_event(const Plan *plan)
{
	JobEvent event = {
		.kind = JOB_EVENT_PLANNED,
		.changed = plan->changed,
		.group = xstrdup(plan->group),
		.domain_name = xstrdup(str_or_empty(plan->domain_name)),
		.domain_uuid = xstrdup(str_or_empty(plan->domain_uuid)),
		.steps = xcalloc(plan->n_steps + 1, sizeof(StepKind)),
		.functions = plan_addresses(plan),
		.n_functions = plan->n_functions,
	};

	strv_copy(plan->warnings, &event.warnings);
	for (; event.n_steps < plan->n_steps; event.n_steps++)
		event.steps[event.n_steps] = plan->steps[event.n_steps];
	return event;
}

static void describe(int r, const Problem *problem, const char *prefix, char **ret_name,
		     char **ret_message)
{
	_cleanup_(problem_freep) Problem *failed = NULL;

	if (r < 0)
		problem_errno(&failed, r, "this machine failed");
	*ret_name = xstrdup(problem_dbus_name((failed ? failed : problem)->error));
	*ret_message = problem_message(failed ? failed : problem, prefix);
}

static void end_with(Task *task, JobState state, int r, const Problem *problem, const char *prefix)
{
	task->ended.kind = JOB_EVENT_ENDED;
	task->ended.state = state;
	if (r != 0)
		describe(r, problem, prefix, &task->ended.error_name, &task->ended.message);
}

static void add_warnings(Task *task, const Plan *plan, char *const *more)
{
	if (!more)
		return;
	strv_copy(plan->warnings, &task->ended.warnings);
	strv_copy(more, &task->ended.warnings);
}

static void run_plan(Task *task, const Prepared *prepared, const char *prefix)
{
	uint64_t timeout = task->request.timeout_usec > 0
				   ? task->request.timeout_usec
				   : task->place.rules->policy.device_timeout_usec;
	_cleanup_(executor_result_clear) ExecutorResult result =
		execute(&task->place, task->id, prepared, timeout, send, task);

	add_warnings(task, prepared->plan, result.left);
	if (result.state == JOB_INCOMPLETE) {
		claims_quarantine(task->place.claims, task->id, result.quarantine);
		task->ended.quarantine = TAKE_PTR(result.quarantine);
	}
	if (result.open)
		/* If the journal cannot be read now, the next start finds it. */
		(void)journal_load_job(task->place.journal, task->id, &task->ended.open);
	end_with(task, result.state, result.state == JOB_DONE ? 0 : PROBLEM, result.problem,
		 prefix);
}

/* A look at a busy host takes as long, whatever its caller would wait for a move. */
#define LOOKS_LEAST_USEC (5 * USEC_PER_SEC)

/*
 * What the caller gives as a limit bounds all looks before the first write, too, as one deadline.
 * Steps have limits of their own: a mover at work is not abandoned sooner.
 */
static void begin(Task *task)
{
	uint64_t timeout = task->request.timeout_usec;

	if (task->id > 0)
		task->ended.numbers_error = number_store_reserve(task->place.numbers, task->id);
	if (timeout > 0)
		task->host.deadline_usec =
			now_monotonic() + (timeout > LOOKS_LEAST_USEC ? timeout : LOOKS_LEAST_USEC);
}

/* false: it was refused before it began. */
static bool probe_work(Task *task)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_(probe_clear) Probe probe = { 0 };
	JobEvent planned = { .kind = JOB_EVENT_PLANNED, .changed = true };
	int r = probe_prepare(&task->looking, &task->request, task->id, &probe, &problem);
	bool began = r == 0;

	/* Shows what the job is about. It has no steps, because it writes nothing. */
	if (r == 0) {
		strv_copy(probe.warnings, &planned.warnings);
		send(&planned, task);
		r = probe_run(&task->place, &task->request, &probe, &problem);
	}
	task->ended.warnings = TAKE_PTR(probe.warnings);
	end_with(task, r == 0 ? JOB_DONE : cancellation_state(problem), r, problem,
		 "cannot probe the links");
	return began;
}

/* Likewise. */
static bool plan_and_run(Task *task)
{
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *prefix = NULL;
	JobEvent planned;
	int r = prepare(&task->looking, &task->request, task->id, &prepared, &problem, &prefix);

	if (r == 0) {
		planned = planned_event(prepared->plan);
		send(&planned, task);
		run_plan(task, prepared, prefix);
	} else {
		end_with(task, cancellation_state(problem), r, problem, prefix);
	}
	return r == 0;
}

/* What it let go of to look again may still be closed for it. */
static bool holds_fence(const Task *task)
{
	return task->place.fence && fence_store_holds(task->place.fence, task->id);
}

static void job_work(void *data)
{
	Task *task = data;
	bool began, held;

	begin(task);
	began = task->request.plan.operation == OPERATION_PROBE ? probe_work(task)
								: plan_and_run(task);
	held = claims_release(task->place.claims, task->id);
	task->ended.changed_nothing = !began && !held && !holds_fence(task);
}

/* Shows group and domain while the guest is asked. The job has no steps and claims nothing. */
static JobEvent found_event(const Verification *v)
{
	return (JobEvent){
		.kind = JOB_EVENT_PLANNED,
		.group = xstrdup(v->input.group),
		.domain_name = xstrdup(v->input.domain),
		.domain_uuid = xstrdup(v->found->domain->uuid),
	};
}

static void take_result(Task *task, Verification *v)
{
	JobEvent *ended = &task->ended;

	ended->functions = xcalloc(v->input.n_group + 1, sizeof(Bdf));
	ended->domain_uuid = xstrdup(v->found->domain->uuid);
	for (; ended->n_functions < v->input.n_group; ended->n_functions++)
		ended->functions[ended->n_functions] = v->gpus[ended->n_functions].bdf;
	ended->verdict = v->report->verdict;
	ended->asked_usec = v->asked_usec;
	ended->result = TAKE_PTR(v->json);
}

static void verify_work(void *data)
{
	Task *task = data;
	_cleanup_(verification_freep) Verification *v = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *prefix = NULL;
	JobEvent found;
	int r;

	begin(task);
	r = verification_new(&task->looking, &task->request, &v, &problem, &prefix);
	if (r == 0) {
		found = found_event(v);
		send(&found, task);
		r = verification_run(&task->place, &task->request, v, &problem);
		if (v->note.text) {
			JobEvent note = { .kind = JOB_EVENT_NOTE, .note = v->note };

			v->note.text = NULL;
			send(&note, task);
		}
		if (r == PROBLEM)
			prefix = prepare_prefix(&task->request, v->found);
	}
	if (r == 0)
		take_result(task, v);
	end_with(task, r == 0 ? JOB_DONE : cancellation_state(problem), r, problem, prefix);
}

static void job_done(void *data)
{
	Task *task = data;

	task->on_event(task->id, &task->ended, task->userdata);
	task_free(task);
}

void job_start(uint32_t id, Mailbox *mailbox, const JobPlace *place, const JobRequest *request,
	       JobListener listener, void *userdata)
{
	Task *task = task_new(id, mailbox, place, request, userdata);

	task->on_event = listener;
	mailbox_run(mailbox, request->plan.operation == OPERATION_VERIFY ? verify_work : job_work,
		    job_done, task);
}

static void plan_work(void *data)
{
	Task *task = data;
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *prefix = NULL;
	int r;

	begin(task);
	r = prepare(&task->looking, &task->request, 0, &prepared, &problem, &prefix);
	if (r == 0)
		task->result.json = plan_to_json(prepared->plan);
	else
		describe(r, problem, prefix, &task->result.error_name, &task->result.message);
}

static void plan_done(void *data)
{
	Task *task = data;

	task->on_plan(&task->result, task->userdata);
	task_free(task);
}

void plan_start(Mailbox *mailbox, const JobPlace *place, const JobRequest *request,
		PlanListener listener, void *userdata)
{
	Task *task = task_new(0, mailbox, place, request, userdata);

	task->on_plan = listener;
	mailbox_run(mailbox, plan_work, plan_done, task);
}
