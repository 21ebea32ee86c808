/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/watch.h"

#include <string.h>

#include "base/text.h"
#include "bus/bus.h"
#include "util/xalloc.h"

/* Matches all changes of a job's properties, and nothing of other objects. */
#define MATCH_CHANGED                                                                              \
	"type='signal',sender='" GPUPASS_BUS_NAME "',interface='org.freedesktop.DBus.Properties'," \
	"member='PropertiesChanged',path_namespace='" GPUPASS_PATH_JOBS "'"
#define MATCH_REMOVED                                                                              \
	"type='signal',sender='" GPUPASS_BUS_NAME "',interface='" GPUPASS_IFACE_MANAGER "',"       \
	"member='JobRemoved',path='" GPUPASS_PATH_ROOT "'"

static int watch_failed(Watch *w, int r)
{
	w->error = r;
	return 0; /* ends the loop here; sd-bus would only log the error */
}

static int on_reply(sd_bus_message *reply, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Watch *w = userdata;
	const sd_bus_error *error = sd_bus_message_get_error(reply);
	const char *path;
	int r;

	if (error)
		return watch_failed(w, bus_fail(w->client, error, -EIO));
	r = sd_bus_message_read(reply, "o", &path);
	if (r < 0)
		return watch_failed(w, bus_bad_reply(w->client, "the reply names no job"));
	w->path = xstrdup(path);
	return 0;
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

	if (sd_bus_message_read(m, "uosss", &id, &path, &result, &error, &message) <= 0 ||
	    !w->known || !is_about_job(w, path))
		return 0;
	w->removed = true;
	w->stale = true;
	/* Kept in case the job cannot be read any more: the daemon keeps only so many. */
	replace_text(w, result, &w->job.state);
	replace_text(w, error, &w->job.error_name);
	replace_text(w, message, &w->job.error_message);
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
		{ MATCH_CHANGED, on_changed },
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
	return 0;
}

int watch_start(Watch *w, Client *c, sd_bus_message *call)
{
	int r;

	w->client = c;
	r = watch_subscribe(w);
	if (r >= 0)
		r = loop_start(&w->loop, c);
	if (r >= 0)
		r = sd_bus_call_async(c->bus, &w->slots[w->n_slots], call, on_reply, w,
				      BUS_TIMEOUT_ACT_USEC);
	if (r < 0)
		return bus_fail(c, NULL, r);
	w->n_slots++;
	return 0;
}

/* Reads the whole job: at first, and at its end, when the last changes may still be on the way. */
static int watch_refresh(Watch *w)
{
	Job fresh = { 0 };
	int r;

	r = object_load(w->client, OBJECT_JOB, w->path, &fresh);
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

int watch_next(Watch *w)
{
	int r;

	while (!w->dirty) {
		if (watch_is_over(w))
			return 0;
		r = sd_event_run(w->loop.event, UINT64_MAX);
		if (r < 0)
			return bus_fail(w->client, NULL, r);
		if (w->error < 0)
			return w->error;
		if (is_lost(w))
			continue;
		if ((w->path && !w->known) || w->stale || (w->dirty && watch_job_is_over(w))) {
			w->stale = false;
			r = watch_refresh(w);
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
	loop_clear(&w->loop);
	job_clear(&w->job);
	free(w->path);
	*w = (Watch){ 0 };
}
