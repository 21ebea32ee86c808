/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/job.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "bus/listen.h"
#include "model/json.h"
#include "show/describe.h"
#include "util/clock.h"
#include "util/xalloc.h"

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
				   OPTION_ACCEPT_DIRTY;
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

/* ---- one job, from its call to its end ---- */

/* With --wait, a call that is refused because something is busy is sent again when that has changed. */
typedef struct Turn {
	uint64_t until; /* monotonic, in microseconds; 0: no --wait */
	char *group;	/* the path of the group, or of none, that the call names */
	Failure *why;	/* the call was refused, and waits; NULL: it is on its way, or has begun */
	json_t *job;	/* the job that was refused, or NULL */
	Group seen;	/* as it is since then; unless `fresh` */
	bool changed;	/* the group has, since the call was sent */
	bool ended;	/* a job has, since then */
	bool fresh;	/* the group was not looked at yet */
	bool elsewhere; /* it was not the group that was busy, or nobody knows which */
	bool told;
} Turn;

static void turn_forget(Turn *t)
{
	t->why = failure_free(t->why);
	json_decref(t->job);
	t->job = NULL;
	t->changed = t->ended = false;
}

typedef struct Watch {
	Client *client;
	sd_bus_message *call; /* the caller's */
	sd_bus_slot *called;
	Turn turn;
	Loop loop;
	sd_bus_slot *slots[3]; /* of the signals */
	size_t n_slots;
	sd_bus_slot *changes; /* of the job */
	char *path;	      /* of the job; NULL until the call is answered */
	Job job;
	bool known;	  /* `job` was read */
	bool dirty;	  /* something about it changed */
	bool stale;	  /* it must be read again */
	bool removed;	  /* JobRemoved came for it: it is over, whatever it says */
	bool daemon_lost; /* gpupassd left the bus */
	int error;	  /* a callback failed; client->failure may say more */
} Watch;

#define MATCH_REMOVED                                                                              \
	"type='signal',sender='" GPUPASS_BUS_NAME "',interface='" GPUPASS_IFACE_MANAGER "',"       \
	"member='JobRemoved',path='" GPUPASS_PATH_ROOT "'"

static int watch_failed(Watch *w, int r)
{
	w->error = r;
	return 0; /* ends the loop here; sd-bus would only log the error */
}

static bool is_about_job(const Watch *w, const char *path)
{
	return w->path && strcmp(w->path, path) == 0;
}

static int on_changed(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Watch *w = userdata;
	const char *interface;
	int r;

	if (!w->known || !is_about_job(w, sd_bus_message_get_path(m)))
		return 0;
	r = sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &interface);
	if (r < 0 || strcmp(interface, GPUPASS_IFACE_JOB) != 0)
		return 0;
	r = object_read(w->client, OBJECT_JOB, m, false, &w->job);
	if (r >= 0) /* names of properties whose values were not sent */
		r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "s");
	if (r < 0)
		return watch_failed(w, w->client->failure ? r
							  : bus_bad_reply(w->client, strerror(-r)));
	if (sd_bus_message_at_end(m, false) == 0)
		w->stale = true;
	w->dirty = true;
	return 0;
}

/* Listens to the changes of this object. */
static int watch_listen(Watch *w, const char *path, sd_bus_slot **slot,
			sd_bus_message_handler_t handler)
{
	_cleanup_free_ char *match =
		strf("type='signal',sender='" GPUPASS_BUS_NAME "',"
		     "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
		     "path='%s'",
		     path);

	return sd_bus_add_match_async(w->client->bus, slot, match, handler, NULL, w);
}

/* Keeps the failure, if it is one to wait for. */
static bool turn_takes_failure(Watch *w)
{
	Client *c = w->client;

	if (!w->turn.until || !c->failure ||
	    strcmp(c->failure->name, error_name(GPUPASS_ERROR_GROUP_BUSY)) != 0)
		return false;
	if (!w->turn.told && !c->options->quiet)
		fprintf(c->err.stream, "Waiting: %.*s\n", (int)strcspn(c->failure->message, "\n"),
			c->failure->message);
	w->turn.told = w->turn.fresh = true;
	w->turn.why = TAKE_PTR(c->failure);
	w->turn.job = TAKE_PTR(c->failed_job);
	return true;
}

static int on_reply(sd_bus_message *reply, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Watch *w = userdata;
	const sd_bus_error *error = sd_bus_message_get_error(reply);
	const char *path;
	int r;

	if (error) {
		r = bus_fail(w->client, error, -EIO);
		return turn_takes_failure(w) ? 0 : watch_failed(w, r);
	}
	r = sd_bus_message_read(reply, "o", &path);
	if (r < 0)
		return watch_failed(w, bus_bad_reply(w->client, "the reply names no job"));
	w->path = xstrdup(path);
	/* Of this job alone: the signals of all jobs would wake every client for each. */
	r = watch_listen(w, w->path, &w->changes, on_changed);
	return r < 0 ? watch_failed(w, bus_fail(w->client, NULL, r)) : 0;
}

static void replace_text(Watch *w, const char *s, char **to)
{
	free(*to);
	*to = model_text(w->client, s, true);
}

static int on_removed(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *ret_error)
{
	const char *path, *result, *error, *message;
	Watch *w = userdata;
	uint32_t id;

	if (sd_bus_message_read(m, "uosss", &id, &path, &result, &error, &message) <= 0)
		return 0;
	/* One that was refused, too, had nothing in hand: who waits must not wake who waits. */
	w->turn.ended |= strcmp(error, error_name(GPUPASS_ERROR_GROUP_BUSY)) != 0;
	if (!w->known || !is_about_job(w, path))
		return 0;
	w->removed = true;
	w->stale = true;
	/* Kept in case the job cannot be read any more: the daemon keeps only so many. */
	replace_text(w, result, &w->job.state);
	replace_text(w, error, &w->job.error_name);
	replace_text(w, message, &w->job.error_message);
	return 0;
}

static int on_group(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Watch *w = userdata;

	w->turn.changed = true;
	/* Older than what was read meanwhile, perhaps: then the newer comes behind it. */
	if (w->turn.why && !w->turn.fresh && sd_bus_message_skip(m, "s") >= 0 &&
	    object_read(w->client, OBJECT_GROUP, m, false, &w->turn.seen) < 0)
		client_forgive(w->client);
	return 0;
}

static int on_owner(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Watch *w = userdata;
	const char *name, *before, *after;

	if (sd_bus_message_read(m, "sss", &name, &before, &after) >= 0 && *before && !*after)
		w->daemon_lost = true;
	return 0;
}

/*
 * Nothing waits for the bus to say yes: it takes messages in their order, so that it listens for us
 * before it passes the call on. Where it says no, sd-bus closes the connection.
 */
static int watch_subscribe(Watch *w)
{
	static const struct {
		const char *match;
		sd_bus_message_handler_t handler;
	} matches[] = {
		{ MATCH_REMOVED, on_removed },
		{ BUS_MATCH_OWNER, on_owner },
	};
	int r;

	for (size_t i = 0; i < ELEMENTS(matches); i++) {
		r = sd_bus_add_match_async(w->client->bus, &w->slots[w->n_slots], matches[i].match,
					   matches[i].handler, NULL, w);
		if (r < 0)
			return r;
		w->n_slots++;
	}
	return w->turn.until ? watch_listen(w, w->turn.group, &w->slots[w->n_slots++], on_group)
			     : 0;
}

static int watch_send(Watch *w)
{
	Client *c = w->client;
	int r;

	turn_forget(&w->turn);
	w->called = sd_bus_slot_unref(w->called);
	r = sd_bus_call_async(c->bus, &w->called, w->call, on_reply, w, BUS_TIMEOUT_ACT_USEC);
	return r < 0 ? bus_fail(c, NULL, r) : 0;
}

/* Subscribes, sends the call. */
static int watch_start(Watch *w)
{
	int r = watch_subscribe(w);

	if (r >= 0)
		r = loop_start(&w->loop, w->client);
	return r < 0 ? bus_fail(w->client, NULL, r) : watch_send(w);
}

/* Reads the whole job: at first, and at its end, when the last changes may still be on the way. */
static int watch_refresh(Watch *w)
{
	Job fresh = { 0 };
	int r = object_load(w->client, OBJECT_JOB, w->path, &fresh);

	if (r < 0) {
		job_clear(&fresh);
		if (r != -ECANCELED || !w->removed)
			return r;
		client_forgive(w->client); /* JobRemoved said what matters */
		w->dirty = true;
		return 0;
	}
	job_clear(&w->job);
	w->job = fresh;
	w->known = true;
	w->dirty = true;
	return 0;
}

/* The job ended, one way or the other. */
static bool watch_job_is_over(const Watch *w)
{
	return w->known && (w->removed || job_is_over(&w->job));
}

static bool is_lost(const Watch *w)
{
	return w->daemon_lost || w->loop.silent || sd_bus_is_open(w->client->bus) <= 0;
}

static bool watch_is_over(const Watch *w)
{
	return w->loop.interrupted || watch_job_is_over(w) || is_lost(w);
}

/* Tells of the job as of a failure. */
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
		c->failed_job = json_of_object(OBJECT_JOB, job);
	return r;
}

/* ---- waiting for what is busy ---- */

/*
 * Nothing has the group in hand, and an assignment can have it. Where the call names no group that
 * there is, nobody knows which is busy.
 */
static bool turn_is_free(const Watch *w)
{
	const Group *group = &w->turn.seen;

	return !group->name ||
	       (strcmp(group->job, "/") == 0 &&
		(group->assignable || strcmp(sd_bus_message_get_member(w->call), "Assign") != 0));
}

static int turn_look(Watch *w)
{
	Group seen = { 0 };
	int r = object_load(w->client, OBJECT_GROUP, w->turn.group, &seen);

	if (r < 0 && r != -ECANCELED)
		return r;
	client_forgive(w->client);
	group_clear(&w->turn.seen);
	w->turn.seen = seen;
	w->turn.fresh = false;
	w->turn.elsewhere = turn_is_free(w);
	return 0;
}

/* Sends the call again once that has changed for which it was refused. */
static int turn_take(Watch *w)
{
	Turn *t = &w->turn;
	int r = t->fresh ? turn_look(w) : 0;
	bool news = t->changed || (t->ended && t->elsewhere);

	t->changed = t->ended = false;
	if (r < 0 || !news)
		return r;
	t->elsewhere = turn_is_free(w);
	return t->elsewhere ? watch_send(w) : 0;
}

/* The time is over: the refusal is what the command ends with. */
static int turn_gives_up(Watch *w)
{
	w->client->failure = TAKE_PTR(w->turn.why);
	w->client->failed_job = TAKE_PTR(w->turn.job);
	return -ECANCELED;
}

/* The job was refused: as if the call had been. */
static void turn_takes_job(Watch *w)
{
	if (strcmp(w->job.state, "failed") != 0 ||
	    strcmp(w->job.error_name, error_name(GPUPASS_ERROR_GROUP_BUSY)) != 0)
		return;
	tell_failed(w->client, &w->job);
	turn_takes_failure(w);
	job_clear(&w->job);
	w->changes = sd_bus_slot_unref(w->changes);
	free(w->path);
	w->path = NULL;
	w->known = w->removed = w->dirty = false;
}

/* Until when an event may come. */
static uint64_t turn_left(const Watch *w)
{
	uint64_t now = now_monotonic();

	if (!w->turn.why)
		return UINT64_MAX;
	return w->turn.until > now ? w->turn.until - now : 0;
}

/*
 * Waits until something happens, and brings w->job up to date. 1: look, there is news; 0: it is
 * over (the job ended, or the watch was interrupted or lost).
 */
static int watch_next(Watch *w)
{
	int r;

	while (!w->dirty) {
		if (watch_is_over(w))
			return 0;
		r = sd_event_run(w->loop.event, turn_left(w));
		if (r < 0)
			return bus_fail(w->client, NULL, r);
		if (w->turn.why && turn_left(w) == 0)
			return turn_gives_up(w);
		if (w->error < 0)
			return w->error;
		if (is_lost(w))
			continue;
		if ((w->path && !w->known) || w->stale || (w->dirty && watch_job_is_over(w))) {
			w->stale = false;
			r = watch_refresh(w);
			if (r < 0)
				return r;
			if (w->turn.until && watch_job_is_over(w))
				turn_takes_job(w);
		}
		if (w->turn.why) {
			r = turn_take(w);
			if (r < 0)
				return r;
		}
	}
	w->dirty = false;
	return 1;
}

static void watch_clear(Watch *w)
{
	for (size_t i = 0; i < w->n_slots; i++)
		sd_bus_slot_unref(w->slots[i]);
	sd_bus_slot_unref(w->changes);
	sd_bus_slot_unref(w->called);
	loop_clear(&w->loop);
	job_clear(&w->job);
	free(w->path);
	turn_forget(&w->turn);
	group_clear(&w->turn.seen);
	free(w->turn.group);
	*w = (Watch){ 0 };
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
		return tell_failed(c, job);
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
