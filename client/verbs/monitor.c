/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `monitor`: jobs and states of groups as they change, until interrupted. */
#include <inttypes.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/listen.h"
#include "model/json.h"
#include "show/describe.h"
#include "util/clock.h"
#include "util/grow.h"
#include "verbs/verbs.h"

#define MATCH_DAEMON "type='signal',sender='" GPUPASS_BUS_NAME "',"
#define MATCH_GROUPS                                                                               \
	MATCH_DAEMON "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"     \
		     "path_namespace='" GPUPASS_PATH_GROUPS "'"
#define MATCH_OBJECTS                                                                              \
	MATCH_DAEMON "interface='org.freedesktop.DBus.ObjectManager',path='" GPUPASS_PATH_ROOT "'"

/* A job that the daemon had when the state was told last: its signals may still be on their way. */
typedef struct KnownJob {
	uint32_t id;
	bool over;
} KnownJob;

typedef struct Monitor {
	Client *client;
	Listener listener;
	World world; /* as last seen, to report the earlier state */
	uint64_t sequence;
	KnownJob *known;
	size_t n_known;
	uint32_t *open; /* jobs that have begun and not ended */
	size_t n_open;
	bool restarted; /* tell the whole state at the next look */
} Monitor;

/* ---- one event ---- */

/* Prints one event; `document` is its JSON, whose reference is taken. */
static int tell(Monitor *m, json_t *document, const char *text)
{
	Client *c = m->client;
	int r = 0;

	if (c->options->json != JSON_OFF) {
		json_set(document, "time", json_unsigned(now_realtime()));
		json_set(document, "sequence", json_unsigned(++m->sequence));
		r = json_print_line(c, document);
	} else {
		_cleanup_free_ char *time = time_format(now_realtime());

		json_decref(document);
		if (text)
			fprintf(c->out.stream, "%s  %s\n", time, text);
	}
	/* A reader of a pipe wants events as they come. */
	return fflush(c->out.stream) == EOF ? -errno : r;
}

static int tell_group(Monitor *m, const char *name, const char *before, const char *after)
{
	_cleanup_free_ char *text = strf("group %s: %s %s %s", name, before,
					 terminal_glyph(&m->client->out, GLYPH_ARROW), after);

	return tell(m,
		    json_build("{s:s, s:s, s:s, s:s, s:s}", "schema", SCHEMA_EVENT, "event",
			       "group", "group", name, "before", before, "after", after),
		    text);
}

/* Jobs that were under way when the daemon went: no signal will tell how they ended. */
static char *open_jobs_text(const Monitor *m)
{
	_cleanup_strv_ char **ids = NULL;
	_cleanup_free_ char *joined = NULL;

	for (size_t i = 0; i < m->n_open; i++)
		strv_appendf(&ids, "%" PRIu32, m->open[i]);
	joined = strv_join(ids, ", ");
	return strf("%s%s", ids ? "; under way: job " : "", joined);
}

static int tell_daemon(Monitor *m, bool there)
{
	const char *state = there ? "started" : "stopped";
	_cleanup_free_ char *jobs = open_jobs_text(m);
	_cleanup_free_ char *text = strf("gpupassd %s%s", state, jobs);

	return tell(m,
		    json_build("{s:s, s:s, s:s, s:o}", "schema", SCHEMA_EVENT, "event", "daemon",
			       "state", state, "open_jobs",
			       JSON_ARRAY(m->open, m->n_open, json_integer(*it))),
		    text);
}

static int tell_job(Monitor *m, const Job *job, const char *what, const char *result,
		    const char *message)
{
	_cleanup_free_ char *first = xstrndup(message, strcspn(message, "\n"));
	_cleanup_free_ char *clean = text_printable(first);
	_cleanup_free_ char *title = job_title(job);
	_cleanup_free_ char *text =
		strf("job %" PRIu32 " %s: %s%s%s", job->id, what, title, *clean ? ": " : "", clean);

	return tell(m,
		    json_build("{s:s, s:s, s:s, s:o}", "schema", SCHEMA_EVENT, "event",
			       *result ? "job-removed" : "job-new", "result", result, "job",
			       json_of_object(OBJECT_JOB, job)),
		    text);
}

/* The whole state in JSON: a program that begins to read here needs no other call. */
static int tell_state(Monitor *m)
{
	json_t *jobs = JSON_ARRAY(m->world.jobs, m->world.n_jobs,
				  job_is_over(it) ? NULL : json_of_object(OBJECT_JOB, it));

	return tell(m,
		    json_build("{s:s, s:s, s:o, s:o}", "schema", SCHEMA_EVENT, "event", "state",
			       "groups", json_groups(&m->world), "jobs", jobs),
		    NULL);
}

/* ---- jobs ---- */

static void open_job(Monitor *m, uint32_t id)
{
	if (SOME_OF(m->open, m->n_open, it == id))
		return;
	*GROW(m->open, m->n_open) = id;
}

static void close_job(Monitor *m, uint32_t id)
{
	for (size_t i = 0; i < m->n_open; i++)
		if (m->open[i] == id) {
			m->open[i] = m->open[--m->n_open];
			return;
		}
}

static bool is_told(const Monitor *m, uint32_t id, bool over)
{
	return SOME(m->known, m->n_known, it->id == id && (it->over || !over));
}

static int tell_job_at(Monitor *m, const char *path, const char *what, const char *result,
		       const char *message)
{
	_cleanup_(job_clear) Job job = { 0 };
	int r = object_load(m->client, OBJECT_JOB, path, &job);

	if (r == -ECANCELED) {
		client_forgive(m->client); /* it has already gone: a job without a name */
		return 0;
	}
	return r < 0 ? r : tell_job(m, &job, what, result, message);
}

static int on_manager(sd_bus_message *message, void *userdata)
{
	const char *path, *result, *error, *text;
	Monitor *m = userdata;
	uint32_t id;
	int r = 0;

	if (sd_bus_message_is_signal(message, GPUPASS_IFACE_MANAGER, "JobNew") > 0) {
		if (sd_bus_message_read(message, "uo", &id, &path) > 0 && !is_told(m, id, false)) {
			open_job(m, id);
			r = tell_job_at(m, path, "started", "", "");
		}
	} else if (sd_bus_message_is_signal(message, GPUPASS_IFACE_MANAGER, "JobRemoved") > 0) {
		if (sd_bus_message_read(message, "uosss", &id, &path, &result, &error, &text) > 0 &&
		    !is_told(m, id, true)) {
			_cleanup_free_ char *clean = text_printable(result);

			close_job(m, id);
			r = tell_job_at(m, path, clean, *clean ? clean : "ended", text);
		}
	}
	return r;
}

/* What a new daemon did before it could be heard, such as finishing the jobs of the last one. */
static int tell_jobs_of_new_daemon(Monitor *m)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < m->world.n_jobs; i++) {
		const Job *job = &m->world.jobs[i];
		bool over = job_is_over(job);

		r = tell_job(m, job, over ? job->state : "started", over ? job->state : "",
			     over ? job->error_message : "");
	}
	return r;
}

/* From here on these are known, and those that run are open. */
static void know_jobs(Monitor *m)
{
	free(m->known);
	m->n_known = m->n_open = 0;
	m->known = xcalloc(m->world.n_jobs + 1, sizeof(*m->known));
	EACH (const Job, job, m->world.jobs, m->world.n_jobs) {
		m->known[m->n_known++] = (KnownJob){ job->id, job_is_over(job) };
		if (!job_is_over(job))
			open_job(m, job->id);
	}
}

/* ---- groups, and the daemon ---- */

static int on_daemon(bool there, void *userdata)
{
	Monitor *m = userdata;
	int r = tell_daemon(m, there);

	/* The next daemon counts its jobs anew. */
	m->n_known = m->n_open = 0;
	m->restarted = there;
	return r;
}

static int tell_groups(Monitor *m, const World *fresh)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < fresh->n_groups; i++) {
		const Group *after = &fresh->groups[i];
		const Group *before = world_find_group(&m->world, after->name);

		if (!before || strcmp(before->state, after->state) != 0)
			r = tell_group(m, after->name, before ? before->state : "none",
				       after->state);
	}
	for (size_t i = 0; r >= 0 && i < m->world.n_groups; i++)
		if (!world_find_group(fresh, m->world.groups[i].name))
			r = tell_group(m, m->world.groups[i].name, m->world.groups[i].state,
				       "none");
	return r;
}

/* Reads everything again and reports what has changed. Returns 0 when it could not be read. */
static int look(Monitor *m)
{
	World fresh = { 0 };
	int r = world_load(m->client, &fresh);

	if (r == -ECANCELED) {
		client_forgive(m->client);
		return 0;
	}
	if (r < 0)
		return r;
	m->listener.changed = false;
	r = tell_groups(m, &fresh);
	world_clear(&m->world);
	m->world = fresh;
	if (r >= 0 && m->restarted) {
		m->restarted = false;
		r = tell_jobs_of_new_daemon(m);
		if (r >= 0)
			know_jobs(m);
		if (r >= 0)
			r = tell_state(m);
	}
	return r < 0 ? r : 1;
}

static int begin(Monitor *m)
{
	int r = world_load(m->client, &m->world);

	if (r >= 0)
		know_jobs(m);
	/* Only JSON has told of them with the state; otherwise their signals do. */
	if (m->client->options->json == JSON_OFF)
		m->n_known = 0;
	return r < 0 ? r : tell_state(m);
}

static int run(Monitor *m)
{
	Listener *l = &m->listener;
	uint64_t timeout = UINT64_MAX;

	while (!l->loop.interrupted) {
		int r = listener_wait(l, timeout);

		timeout = UINT64_MAX;
		if (r >= 0 && l->changed && l->there && !l->loop.interrupted) {
			r = look(m);
			timeout = r == 0 ? LISTENER_RETRY_USEC : UINT64_MAX;
		}
		if (r < 0)
			return r;
	}
	return GPUPASS_EXIT_DONE;
}

static void monitor_clear(Monitor *m)
{
	listener_clear(&m->listener);
	world_clear(&m->world);
	free(m->known);
	free(m->open);
}

int verb_monitor(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	static const char *const changes[] = { MATCH_GROUPS, MATCH_OBJECTS, NULL };
	static const ListenerHooks hooks = { changes, on_manager, on_daemon };
	_cleanup_(monitor_clear) Monitor m = { .client = c };
	int r = listener_start(&m.listener, c, &hooks, &m);

	if (r >= 0)
		r = begin(&m);
	return r < 0 ? r : run(&m);
}
