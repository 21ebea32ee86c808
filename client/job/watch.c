/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/watch.h"

#include <inttypes.h>

#include "base/text.h"
#include "model/json.h"
#include "util/clock.h"
#include "util/xalloc.h"

static void turn_forget(Turn *t)
{
	t->why = failure_free(t->why);
	json_decref(t->job);
	t->job = NULL;
	t->changed = t->ended = false;
}

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
	if (!w->turn.told && !c->options->quiet) {
		/* Whoever defines a domain chooses its name, and the refusal may have it. */
		_cleanup_free_ char *text = text_printable_lines(c->failure->message);

		fprintf(c->err.stream, "Waiting: %.*s\n", (int)strcspn(text, "\n"), text);
	}
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

int watch_start(Watch *w)
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

bool watch_job_is_over(const Watch *w)
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

int watch_fail(Client *c, const Job *job)
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
	watch_fail(w->client, &w->job);
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

int watch_next(Watch *w)
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

void watch_clear(Watch *w)
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
