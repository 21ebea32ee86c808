/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/job.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "bus/bus.h"
#include "job/watch.h"
#include "model/json.h"
#include "show/progress.h"
#include "util/xalloc.h"

static json_t *job_document(const Job *job)
{
	json_t *document = json_job(job);

	json_set(document, "schema", json_text(GPUPASS_SCHEMA_JOB));
	return document;
}

static int print_job_json(Client *c, const Job *job)
{
	return c->options->json == JSON_OFF ? 0 : json_print(c, job_document(job));
}

/* The headline names board and links, which only the group has; without the group it omits them. */
static void print_headline(Progress *p, Client *c, const Job *job)
{
	_cleanup_(group_clear) Group group = { 0 };
	_cleanup_free_ char *path = NULL;
	int r;

	/* A job that ended before it began gets one line. */
	if (p->quiet || p->headline || !*job->group_name ||
	    (job_is_over(job) && job->steps.n_items == 0))
		return;
	sd_bus_path_encode(GPUPASS_PATH_GROUPS, job->group_name, &path);
	r = object_load(c, OBJECT_GROUP, path, &group);
	if (r < 0)
		client_forgive(c);
	progress_headline(p, job, r < 0 ? NULL : &group);
}

/* What a call that returns a job is reported by. */
typedef struct Report {
	JobEnd *done;	   /* of a job that is done */
	JobEnd *otherwise; /* of one that is not */
	bool cancels;	   /* the call is to cancel the job */
} Report;

/* The job itself goes on: who wants it undone says so. */
static int tell_interrupted(Client *c, const Watch *w, const Report *report)
{
	/* The terminal shows ^C, and the cursor behind it. */
	if (c->err.tty)
		fputs("\r\033[K", c->err.stream);
	if (w->known) {
		fprintf(c->err.stream,
			"gpupass: interrupted; job %" PRIu32 " %s in gpupassd\n"
			"  Remedy: follow it with: gpupass jobs %" PRIu32 ", or: gpupass monitor\n",
			w->job.id, report->cancels ? "is cancelled all the same" : "goes on",
			w->job.id);
		if (!report->cancels)
			fprintf(c->err.stream,
				"          cancel it with: gpupass cancel %" PRIu32 "\n",
				w->job.id);
		print_job_json(c, &w->job);
	} else if (report->cancels) {
		fputs("gpupass: interrupted before gpupassd answered; the job may be cancelled\n"
		      "  Remedy: look with: gpupass jobs\n",
		      c->err.stream);
	} else {
		fputs("gpupass: interrupted before gpupassd answered; a job may have been started\n"
		      "  Remedy: look with: gpupass jobs\n",
		      c->err.stream);
	}
	return JOB_EXIT_INTERRUPTED;
}

static int tell_lost(Client *c, const Watch *w)
{
	const char *cause = w->daemon_lost   ? "gpupassd left the bus"
			    : w->loop.silent ? "the host has fallen silent"
					     : "the connection to the bus was lost";
	const char *state = w->daemon_lost ? "not known; the job may be half done"
					   : "the job goes on in gpupassd";
	_cleanup_free_ char *message = NULL;

	if (w->known)
		message = strf("job %" PRIu32 " can no longer be watched\nCause:  %s\n"
			       "State:  %s\n"
			       "Remedy: see: systemctl status gpupassd; then: gpupass status %s",
			       w->job.id, cause, state, w->job.group_name);
	else
		message = strf("the request was not answered\nCause:  %s\n"
			       "State:  not known; a job may have been started\n"
			       "Remedy: see: systemctl status gpupassd; then: gpupass jobs",
			       cause);
	return client_fail(c, failure_new("org.freedesktop.DBus.Error.Disconnected",
					  GPUPASS_EXIT_NO_DAEMON, message));
}

static int tell_failed(Client *c, const Job *job)
{
	_cleanup_free_ char *message = NULL;
	Failure *failure;
	bool incomplete = strcmp(job->state, "incomplete") == 0;
	int r;

	if (*job->error_message)
		message = xstrdup(job->error_message);
	else
		message = strf("job %" PRIu32 " ended as %s\nRemedy: see: gpupass jobs %" PRIu32,
			       job->id, job->state, job->id);
	failure = failure_from_bus(
		*job->error_name ? job->error_name : error_name(GPUPASS_ERROR_INTERNAL), message);
	/* Functions that could not be restored matter more than the reason of the failure. */
	if (incomplete)
		failure->code = GPUPASS_EXIT_ROLLBACK_INCOMPLETE;
	r = client_fail(c, failure);
	if (c->options->json != JSON_OFF)
		c->failed_job = json_job(job);
	return r;
}

static int tell_done(Client *c, Progress *p, const Job *job)
{
	int r;

	progress_result(p, job);
	r = print_job_json(c, job);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}

/* "Cancelling job 17: assign pair1, domain vm42", instead of what it does. */
static void print_cancelled_job(Progress *p, const char *word, const Job *job)
{
	if (p->quiet || p->headline)
		return;
	p->headline = p->domain = true;
	fprintf(p->terminal->stream, "%s job %" PRIu32 ": %s%s%s%s%s\n", word, job->id,
		job->operation, *job->group_name ? " " : "", job->group_name,
		*job->domain_name ? ", domain " : "", job->domain_name);
}

/* Of a job that is not done. */
static int tell_unless_done(Client *c, _unused_ Progress *p, const Job *job)
{
	return tell_failed(c, job);
}

static int watch_and_tell(Client *c, Watch *w, Progress *p, const Report *report)
{
	int r;

	while ((r = watch_next(w)) > 0) {
		if (report->cancels)
			print_cancelled_job(p, "Cancelling", &w->job);
		print_headline(p, c, &w->job);
		progress_domain(p, &w->job);
		progress_update(p, &w->job);
	}
	if (r < 0)
		return r;
	if (!watch_job_is_over(w))
		return w->loop.interrupted ? tell_interrupted(c, w, report) : tell_lost(c, w);
	return strcmp(w->job.state, "done") == 0 ? report->done(c, p, &w->job)
						 : report->otherwise(c, p, &w->job);
}

static int run_and_wait(Client *c, sd_bus_message *call, const Report *report)
{
	_cleanup_(watch_clear) Watch w = { 0 };
	_cleanup_(progress_clear) Progress p = { .terminal = &c->err, .quiet = c->options->quiet };
	int r;

	r = watch_start(&w, c, call);
	return r < 0 ? r : watch_and_tell(c, &w, &p, report);
}

static int run_and_go(Client *c, sd_bus_message *call, const Report *report)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	_cleanup_(job_clear) Job job = { 0 };
	const char *path;
	int r;

	r = bus_call(c, call, BUS_TIMEOUT_ACT_USEC, "o", &reply);
	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "o", &path);
	if (r < 0)
		return bus_bad_reply(c, strerror(-r));
	r = object_load(c, OBJECT_JOB, path, &job);
	if (r < 0)
		return r;
	if (!c->options->quiet)
		fprintf(c->err.stream,
			"%s job %" PRIu32 "; look at it with: gpupass jobs %" PRIu32 "\n",
			report->cancels ? "Cancelling" : "Started", job.id, job.id);
	r = print_job_json(c, &job);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}

static int run(Client *c, sd_bus_message *call, const Report *report)
{
	return c->options->given & OPTION_NO_BLOCK ? run_and_go(c, call, report)
						   : run_and_wait(c, call, report);
}

int job_run_to(Client *c, sd_bus_message *call, JobEnd *end)
{
	return run(c, call, &(Report){ .done = end, .otherwise = tell_unless_done });
}

int job_run(Client *c, sd_bus_message *call)
{
	return job_run_to(c, call, tell_done);
}

/* ---- cancelling ---- */

/* Everything is as before; from its second line on, the daemon's message says what was undone. */
static int tell_cancelled(Client *c, Progress *p, const Job *job)
{
	const char *line = strchr(job->error_message, '\n');
	int r;

	if (strcmp(job->state, "cancelled") != 0)
		return tell_failed(c, job);
	p->headline = false;
	print_cancelled_job(p, "Cancelled", job);
	for (; !p->quiet && line; line = strchr(line, '\n')) {
		line++;
		fprintf(c->err.stream, "  %.*s\n", (int)strcspn(line, "\n"), line);
	}
	r = print_job_json(c, job);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}

/* gpupassd does not accept a cancel that comes too late; one of another version may. */
static int tell_too_late(Client *c, _unused_ Progress *p, const Job *job)
{
	return client_error(c, GPUPASS_ERROR_TOO_LATE,
			    "job %" PRIu32 " was done before it could be cancelled\n"
			    "Remedy: see what it did: gpupass jobs %" PRIu32,
			    job->id, job->id);
}

int job_id_parse(Client *c, const char *text, uint32_t *ret)
{
	unsigned long long value = 0;

	if (str_to_unsigned(text, 10, UINT32_MAX, &value) < 0 || value == 0)
		return client_usage(c, "'%s' is not the number of a job\nRemedy: see: gpupass jobs",
				    text);
	*ret = (uint32_t)value;
	return 0;
}

int job_cancel(Client *c, uint32_t id)
{
	_cleanup_message_ sd_bus_message *call = NULL;
	static const Report report = { tell_too_late, tell_cancelled, .cancels = true };
	int r = bus_new_manager_call(c, "Cancel", &call, "ua{sv}", id, 0);

	return r < 0 ? r : run(c, call, &report);
}
