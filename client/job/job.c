/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/job.h"

#include <inttypes.h>

#include "base/text.h"
#include "job/watch.h"
#include "model/json.h"
#include "show/describe.h"
#include "util/clock.h"

/* ---- from the command line to the a{sv} options of org.gpupass1 ---- */

int request_append_options(Client *c, sd_bus_message *call, const char *operation,
			   const char *group)
{
	const Options *o = c->options;
	const BusOption options[] = {
		BUS_FLAG(GPUPASS_OPTION_LIVE, o->given & OPTION_LIVE),
		BUS_FLAG(GPUPASS_OPTION_CONFIG, o->given & OPTION_CONFIG),
		BUS_FLAG(GPUPASS_OPTION_KEEP_VFIO, o->given & OPTION_KEEP_VFIO),
		BUS_FLAG(GPUPASS_OPTION_PERSIST, o->given & OPTION_PERSIST),
		BUS_FLAG(GPUPASS_OPTION_ALLOW_BOOT_VGA, o->given & OPTION_ALLOW_BOOT_VGA),
		BUS_FLAG(GPUPASS_OPTION_ACCEPT_DIRTY, o->given & OPTION_ACCEPT_DIRTY),
		BUS_FLAG(GPUPASS_OPTION_MMIO, o->given & OPTION_MMIO),
		BUS_FLAG(GPUPASS_OPTION_WORKLOAD, o->given & OPTION_WORKLOAD),
		BUS_TEXT(GPUPASS_OPTION_MODEL, o->model),
		BUS_TEXT(GPUPASS_OPTION_NUMA, o->numa),
		BUS_TEXT(GPUPASS_OPTION_FIT, o->fit),
		BUS_TEXT(GPUPASS_OPTION_TOPOLOGY, o->topology),
		BUS_NUMBER(GPUPASS_OPTION_TIMEOUT, o->given & OPTION_TIMEOUT, o->timeout_usec),
		BUS_TEXT(GPUPASS_OPTION_GROUP, group),
		BUS_TEXT(GPUPASS_OPTION_OPERATION, operation),
	};

	return bus_append_options(c, call, options, ELEMENTS(options));
}

int request_check(Client *c, Operation operation)
{
	const uint64_t of_assign = OPTION_LIVE | OPTION_CONFIG | OPTION_MODEL |
				   OPTION_ALLOW_BOOT_VGA | OPTION_NUMA | OPTION_FIT |
				   OPTION_TOPOLOGY | OPTION_ACCEPT_DIRTY;
	uint64_t wrong = 0;

	if (operation == OPERATION_RELEASE)
		wrong = c->options->given & of_assign;
	else if (operation == OPERATION_ASSIGN)
		wrong = c->options->given & OPTION_KEEP_VFIO;
	if (!wrong)
		return 0;
	return client_usage(c, "--%s is no option of %s", option_name(wrong & -wrong),
			    operation == OPERATION_RELEASE ? "a release" : "an assignment");
}

/* ---- telling ---- */

int job_print_json(Client *c, const Job *job)
{
	json_t *document = json_of_object(OBJECT_JOB, job);

	json_set(document, "schema", json_text(GPUPASS_SCHEMA_JOB));
	return json_print(c, document);
}

static int print_if_json(Client *c, const Job *job)
{
	return c->options->json == JSON_OFF ? 0 : job_print_json(c, job);
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
	const char *about; /* the group or domain that --wait waits for; NULL: it does not */
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
		print_if_json(c, &w->job);
	} else if (w->turn.why) {
		fprintf(c->err.stream, "gpupass: interrupted while it waited; nothing was begun\n");
	} else {
		fprintf(c->err.stream,
			"gpupass: interrupted before gpupassd answered; %s\n"
			"  Remedy: look with: gpupass jobs\n",
			report->cancels ? "the job may be cancelled"
					: "a job may have been started");
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

static int tell_done(Client *c, Progress *p, const Job *job)
{
	progress_result(p, job);
	return print_if_json(c, job);
}

/* "Cancelling job 17: assign pair1, domain vm42", instead of what it does. */
static void print_cancelled_job(Progress *p, const char *word, const Job *job)
{
	_cleanup_free_ char *text = job_title(job);

	if (p->quiet || p->headline)
		return;
	p->headline = p->domain = true;
	fprintf(p->terminal->stream, "%s job %" PRIu32 ": %s\n", word, job->id, text);
}

/* Of a job that is not done. */
static int tell_unless_done(Client *c, _unused_ Progress *p, const Job *job)
{
	return watch_fail(c, job);
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
	_cleanup_(watch_clear) Watch w = { .client = c, .call = call };
	_cleanup_(progress_clear) Progress p = { .terminal = &c->err, .quiet = c->options->quiet };
	int r;

	if (report->about && c->options->given & OPTION_WAIT) {
		w.turn.until = now_monotonic() + c->options->wait_usec;
		sd_bus_path_encode(GPUPASS_PATH_GROUPS, report->about, &w.turn.group);
	}
	r = watch_start(&w);
	return r < 0 ? r : watch_and_tell(c, &w, &p, report);
}

static int run_and_go(Client *c, sd_bus_message *call, const Report *report)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	_cleanup_(job_clear) Job job = { 0 };
	const char *path;
	int r = bus_call(c, call, BUS_TIMEOUT_ACT_USEC, "o", &reply);

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
	return print_if_json(c, &job);
}

static int run(Client *c, sd_bus_message *call, const Report *report)
{
	return c->options->given & OPTION_NO_BLOCK ? run_and_go(c, call, report)
						   : run_and_wait(c, call, report);
}

int job_run(Client *c, sd_bus_message *call, JobEnd *end)
{
	return run(c, call, &(Report){ end ? end : tell_done, tell_unless_done, false, NULL });
}

int job_request(Client *c, const char *method, const char *first, const char *second,
		const char *group, JobEnd *end)
{
	const uint64_t both = OPTION_NO_BLOCK | OPTION_WAIT;
	_cleanup_message_ sd_bus_message *call = NULL;
	int r;

	if ((c->options->given & both) == both)
		return client_usage(c, "--no-block does not wait\nRemedy: leave out --wait, or it");
	r = bus_new_manager_call(c, method, &call, second ? "ss" : first ? "s" : "", first, second);
	if (r >= 0)
		r = request_append_options(c, call, NULL, group);
	if (r < 0)
		return r;
	return run(c, call,
		   &(Report){ end ? end : tell_done, tell_unless_done, false,
			      str_is_empty(second) ? first : second });
}

/* ---- cancelling ---- */

/* Everything is as before; from its second line on, the daemon's message says what was undone. */
static int tell_cancelled(Client *c, Progress *p, const Job *job)
{
	const char *line = strchr(job->error_message, '\n');

	if (strcmp(job->state, "cancelled") != 0)
		return watch_fail(c, job);
	p->headline = false;
	print_cancelled_job(p, "Cancelled", job);
	for (; !p->quiet && line; line = strchr(line, '\n')) {
		line++;
		fprintf(c->err.stream, "  %.*s\n", (int)strcspn(line, "\n"), line);
	}
	return print_if_json(c, job);
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
