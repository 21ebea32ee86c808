/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `monitor`: jobs and states of groups as they change, until interrupted. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "base/text.h"
#include "bus/bus.h"
#include "model/json.h"
#include "verbs/verbs.h"

#define MATCH_DAEMON "type='signal',sender='" GPUPASS_BUS_NAME "',"
#define MATCH_OBJECTS                                                                              \
	MATCH_DAEMON "interface='org.freedesktop.DBus.ObjectManager',path='" GPUPASS_PATH_ROOT "'"
#define MATCH_GROUPS                                                                               \
	MATCH_DAEMON "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"     \
		     "path_namespace='" GPUPASS_PATH_GROUPS "'"
#define MATCH_MANAGER                                                                              \
	MATCH_DAEMON "interface='" GPUPASS_IFACE_MANAGER "',path='" GPUPASS_PATH_ROOT "'"
#define MATCH_OWNER                                                                                \
	"type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"            \
	"member='NameOwnerChanged',arg0='" GPUPASS_BUS_NAME "'"

typedef struct Monitor {
	Client *client;
	World world; /* as last seen, to report the earlier state */
	sd_event *event;
	sd_event_source *sigint, *sigterm;
	sd_bus_slot *slots[4];
	bool stale; /* groups may have changed: compare them with fresh ones */
	bool over;
	int error;
} Monitor;

/* Prints one event; `document` is its JSON, whose reference is taken. */
static int tell(Monitor *m, json_t *document, const char *text)
{
	Client *c = m->client;
	struct timespec now;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	if (c->options->json != JSON_OFF) {
		uint64_t usec = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;

		if (json_object_set_new(document, "time", json_unsigned(usec)) < 0) {
			json_decref(document);
			return -ENOMEM;
		}
		r = json_print(c, document);
	} else {
		_cleanup_free_ char *time = time_format((uint64_t)now.tv_sec * 1000000);

		json_decref(document);
		fprintf(c->out.stream, "%s  %s\n", time ? time : "-", text ? text : "-");
	}
	/* A reader of a pipe wants events as they come. */
	return fflush(c->out.stream) == EOF ? -errno : r;
}

static int tell_group(Monitor *m, const char *name, const char *before, const char *after)
{
	_cleanup_free_ char *text = strf("group %s: %s %s %s", name, before,
					 terminal_glyph(&m->client->out, GLYPH_ARROW), after);

	return tell(m,
		    json_pack("{s:s, s:s, s:s, s:s, s:s}", "schema", SCHEMA_EVENT, "event", "group",
			      "group", name, "before", before, "after", after),
		    text);
}

static int tell_daemon(Monitor *m, bool there)
{
	const char *state = there ? "started" : "stopped";
	_cleanup_free_ char *text = strf("gpupassd %s", state);

	return tell(m,
		    json_pack("{s:s, s:s, s:s}", "schema", SCHEMA_EVENT, "event", "daemon", "state",
			      state),
		    text);
}

static int tell_job(Monitor *m, const char *what, const char *path, const char *result,
		    const char *message)
{
	_cleanup_(job_clear) Job job = { 0 };
	_cleanup_free_ char *text = NULL, *first = NULL, *clean = NULL;
	int r;

	r = object_load(m->client, OBJECT_JOB, path, &job);
	if (r == -ECANCELED) {
		client_forgive(m->client); /* it has already gone: a job without a name */
		return 0;
	}
	if (r < 0)
		return r;
	first = strndup(message, strcspn(message, "\n"));
	clean = first ? text_printable(first) : NULL;
	if (!clean)
		return -ENOMEM;
	text = strf("job %" PRIu32 " %s: %s%s%s%s%s%s%s", job.id, what, job.operation,
		    *job.group_name ? " " : "", job.group_name, *job.domain_name ? ", domain " : "",
		    job.domain_name, *clean ? ": " : "", clean);
	return tell(m,
		    json_pack("{s:s, s:s, s:s, s:o}", "schema", SCHEMA_EVENT, "event",
			      *result ? "job-removed" : "job-new", "result", result, "job",
			      json_job(&job)),
		    text);
}

static int on_manager(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *ret_error)
{
	const char *path, *result, *error, *text;
	Monitor *m = userdata;
	uint32_t id;
	int r = 0;

	if (sd_bus_message_is_signal(message, GPUPASS_IFACE_MANAGER, "JobNew") > 0) {
		if (sd_bus_message_read(message, "uo", &id, &path) > 0)
			r = tell_job(m, "started", path, "", "");
	} else if (sd_bus_message_is_signal(message, GPUPASS_IFACE_MANAGER, "JobRemoved") > 0) {
		if (sd_bus_message_read(message, "uosss", &id, &path, &result, &error, &text) > 0) {
			_cleanup_free_ char *clean = text_printable(result);

			r = clean ? tell_job(m, clean, path, *clean ? clean : "ended", text)
				  : -ENOMEM;
		}
	}
	if (r < 0)
		m->error = r;
	return 0;
}

static int on_objects(_unused_ sd_bus_message *message, void *userdata,
		      _unused_ sd_bus_error *ret_error)
{
	Monitor *m = userdata;

	m->stale = true;
	return 0;
}

static int on_owner(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *ret_error)
{
	const char *name, *before, *after;
	Monitor *m = userdata;
	int r;

	if (sd_bus_message_read(message, "sss", &name, &before, &after) <= 0)
		return 0;
	m->stale = *after != '\0';
	r = tell_daemon(m, *after != '\0');
	if (r < 0)
		m->error = r;
	return 0;
}

static int on_interrupt(_unused_ sd_event_source *s, _unused_ const struct signalfd_siginfo *si,
			void *userdata)
{
	Monitor *m = userdata;

	m->over = true;
	return 0;
}

/* Reads everything again and reports which groups have changed. */
static int compare(Monitor *m)
{
	World fresh = { 0 };
	int r;

	m->stale = false;
	r = world_load(m->client, &fresh);
	if (r == -ECANCELED) {
		client_forgive(m->client); /* another signal will say that the daemon ended */
		return 0;
	}
	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < fresh.n_groups; i++) {
		const Group *after = &fresh.groups[i];
		const Group *before = world_find_group(&m->world, after->name);

		if (!before || strcmp(before->state, after->state) != 0)
			r = tell_group(m, after->name, before ? before->state : "none",
				       after->state);
	}
	for (size_t i = 0; r >= 0 && i < m->world.n_groups; i++)
		if (!world_find_group(&fresh, m->world.groups[i].name))
			r = tell_group(m, m->world.groups[i].name, m->world.groups[i].state,
				       "none");
	world_clear(&m->world);
	m->world = fresh;
	return r;
}

static int subscribe(Monitor *m)
{
	static const struct {
		const char *match;
		sd_bus_message_handler_t handler;
	} matches[] = {
		{ MATCH_MANAGER, on_manager },
		{ MATCH_GROUPS, on_objects },
		{ MATCH_OBJECTS, on_objects },
		{ MATCH_OWNER, on_owner },
	};
	int r;

	for (size_t i = 0; i < ELEMENTS(matches); i++) {
		r = sd_bus_add_match(m->client->bus, &m->slots[i], matches[i].match,
				     matches[i].handler, m);
		if (r < 0)
			return r;
	}
	return 0;
}

static int monitor_start(Monitor *m)
{
	sigset_t mask;
	int r;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
		return -errno;
	r = sd_event_new(&m->event);
	if (r >= 0)
		r = sd_event_add_signal(m->event, &m->sigint, SIGINT, on_interrupt, m);
	if (r >= 0)
		r = sd_event_add_signal(m->event, &m->sigterm, SIGTERM, on_interrupt, m);
	if (r >= 0)
		r = subscribe(m);
	if (r >= 0)
		r = sd_bus_attach_event(m->client->bus, m->event, SD_EVENT_PRIORITY_NORMAL);
	return r;
}

static int monitor_run(Monitor *m)
{
	int r;

	while (!m->over && m->error >= 0) {
		r = sd_event_run(m->event, UINT64_MAX);
		if (r < 0)
			return bus_fail(m->client, NULL, r);
		if (sd_bus_is_open(m->client->bus) <= 0)
			return bus_fail(m->client, NULL, -ENOTCONN);
		if (m->stale && !m->over && m->error >= 0)
			m->error = compare(m);
	}
	return m->error;
}

static void monitor_clear(Monitor *m)
{
	for (size_t i = 0; i < ELEMENTS(m->slots); i++)
		sd_bus_slot_unref(m->slots[i]);
	if (m->event)
		sd_bus_detach_event(m->client->bus);
	sd_event_source_unref(m->sigint);
	sd_event_source_unref(m->sigterm);
	sd_event_unref(m->event);
	world_clear(&m->world);
}

int verb_monitor(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	_cleanup_(monitor_clear) Monitor m = { .client = c };
	int r;

	r = bus_connect(c);
	if (r < 0)
		return r;
	r = monitor_start(&m);
	if (r < 0)
		return bus_fail(c, NULL, r);
	r = world_load(c, &m.world);
	if (r >= 0)
		r = monitor_run(&m);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}
