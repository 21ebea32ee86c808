/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hosts/crew.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>

#include "gpupass/cleanup.h"

#define READ_SIZE 65536U
/* Of standard error the end is kept, where ssh says why it gave up. */
#define ERR_MAX 4096U
/* More than a pipe holds, in case somebody goes on writing. */
#define ERR_READS_MAX 64

typedef struct Crew Crew;

typedef struct Worker {
	Crew *crew;
	CrewResult *result;
	Process process;
	sd_event_source *out, *err, *child, *timer;
	bool unreaped; /* was killed, and has still to be waited for */
} Worker;

struct Crew {
	const CrewPlan *plan;
	sd_event *event;
	Worker *workers;
	size_t n_begun, n_running;
	size_t all; /* bytes that all have said */
};

static void start_more(Crew *crew);

static void close_worker(Worker *w)
{
	w->out = sd_event_source_unref(w->out);
	w->err = sd_event_source_unref(w->err);
	w->child = sd_event_source_unref(w->child);
	w->timer = sd_event_source_unref(w->timer);
	w->process.out = close_fd(w->process.out);
	w->process.err = close_fd(w->process.err);
}

static void reap(Worker *w)
{
	if (w->unreaped && waitpid(w->process.pid, NULL, WNOHANG) != 0)
		w->unreaped = false;
}

/* One that hangs in the kernel is not waited for. */
static void end_worker(Worker *w, int error)
{
	process_kill(w->process.pid);
	w->result->error = error;
	w->unreaped = true;
	close_worker(w);
	w->crew->n_running--;
	start_more(w->crew);
}

/* ---- what it says ---- */

/* Returns 1 when there may be more, 0 at the end or when there is nothing now, or -errno. */
static int read_out(Worker *w)
{
	const CrewPlan *plan = w->crew->plan;
	CrewResult *result = w->result;
	char *bigger = realloc(result->out, result->out_size + READ_SIZE + 1);
	ssize_t n;

	if (!bigger)
		return -ENOMEM;
	result->out = bigger;
	do
		n = read(w->process.out, bigger + result->out_size, READ_SIZE);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		return -errno;
	if (n > 0) {
		result->out_size += (size_t)n;
		w->crew->all += (size_t)n;
	}
	bigger[result->out_size] = '\0';
	if (result->out_size > plan->out_max || w->crew->all > plan->all_max)
		return -EFBIG;
	if (n == 0)
		sd_event_source_set_enabled(w->out, SD_EVENT_OFF);
	return n > 0;
}

static int read_err(Worker *w)
{
	CrewResult *result = w->result;
	ssize_t n;

	if (!result->err)
		result->err = malloc(2 * ERR_MAX + 1);
	if (!result->err)
		return -ENOMEM;
	do
		n = read(w->process.err, result->err + result->err_size, ERR_MAX);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		return -errno;
	result->err_size += n > 0 ? (size_t)n : 0;
	if (result->err_size > ERR_MAX) {
		memmove(result->err, result->err + result->err_size - ERR_MAX, ERR_MAX);
		result->err_size = ERR_MAX;
	}
	result->err[result->err_size] = '\0';
	if (n == 0)
		sd_event_source_set_enabled(w->err, SD_EVENT_OFF);
	return n > 0;
}

static int on_out(_unused_ sd_event_source *s, _unused_ int fd, _unused_ uint32_t events,
		  void *userdata)
{
	Worker *w = userdata;
	int r = read_out(w);

	if (r < 0)
		end_worker(w, r);
	return 0;
}

static int on_err(_unused_ sd_event_source *s, _unused_ int fd, _unused_ uint32_t events,
		  void *userdata)
{
	Worker *w = userdata;
	int r = read_err(w);

	if (r < 0)
		end_worker(w, r);
	return 0;
}

/* ---- its end ---- */

/* Gives back what reads have made ready for more. */
static void shrink(CrewResult *result)
{
	char *smaller = result->out ? realloc(result->out, result->out_size + 1) : NULL;

	if (smaller)
		result->out = smaller;
}

static int on_timer(_unused_ sd_event_source *s, _unused_ uint64_t usec, void *userdata)
{
	end_worker(userdata, -ETIMEDOUT);
	return 0;
}

/*
 * What it said is in the pipe by now. Whoever else has the other end of standard error, such as an
 * ssh that serves later connections, too, is not waited for.
 */
static int on_exit_of(_unused_ sd_event_source *s, const siginfo_t *si, void *userdata)
{
	Worker *w = userdata;
	int r;

	process_kill(si->si_pid);
	do
		r = read_out(w);
	while (r > 0);
	for (size_t i = 0; r >= 0 && i < ERR_READS_MAX && (r = read_err(w)) > 0; i++)
		;
	shrink(w->result);
	w->result->error = r < 0 ? r : 0;
	w->result->status = si->si_code == CLD_EXITED ? si->si_status : -1;
	close_worker(w);
	w->crew->n_running--;
	start_more(w->crew);
	return 0;
}

/* ---- all of them ---- */

static int watch(Worker *w)
{
	sd_event *event = w->crew->event;
	int r;

	r = sd_event_add_child(event, &w->child, w->process.pid, WEXITED, on_exit_of, w);
	if (r >= 0)
		r = sd_event_add_io(event, &w->out, w->process.out, EPOLLIN, on_out, w);
	if (r >= 0)
		r = sd_event_add_io(event, &w->err, w->process.err, EPOLLIN, on_err, w);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &w->timer, CLOCK_MONOTONIC,
					       w->crew->plan->limit_usec, 0, on_timer, w);
	return r;
}

static void start_one(Crew *crew, size_t i)
{
	const CrewPlan *plan = crew->plan;
	Worker *w = &crew->workers[i];
	int r = process_start(plan->run, plan->userdata, i, plan->limit_usec, &w->process);

	if (r < 0) {
		w->result->error = r;
		return;
	}
	crew->n_running++;
	r = watch(w);
	if (r < 0)
		end_worker(w, r);
}

/* end_worker() comes back to this, when a process could not be watched. */
static void start_more(Crew *crew)
{
	for (size_t i = 0; i < crew->n_begun; i++)
		reap(&crew->workers[i]);
	while (crew->n_running < crew->plan->at_once && crew->n_begun < crew->plan->n)
		start_one(crew, crew->n_begun++);
}

static int run_all(Crew *crew)
{
	int r = sd_event_new(&crew->event);

	if (r < 0)
		return r;
	start_more(crew);
	while (r >= 0 && crew->n_running > 0)
		r = sd_event_run(crew->event, UINT64_MAX);
	for (size_t i = 0; i < crew->n_begun; i++) {
		Worker *w = &crew->workers[i];

		if (w->child)
			process_kill(w->process.pid);
		close_worker(w);
		reap(w);
	}
	crew->event = sd_event_unref(crew->event);
	return r < 0 ? r : 0;
}

int crew_run(const CrewPlan *plan, CrewResult **ret)
{
	_cleanup_free_ Worker *workers = calloc(plan->n + 1, sizeof(*workers));
	CrewResult *results = calloc(plan->n + 1, sizeof(*results));
	Crew crew = { .plan = plan, .workers = workers };
	sigset_t child, saved;
	int r;

	if (!workers || !results) {
		free(results);
		return -ENOMEM;
	}
	for (size_t i = 0; i < plan->n; i++)
		workers[i] = (Worker){ .crew = &crew,
				       .result = &results[i],
				       .process = { .out = -1, .err = -1 } };
	/* sd-event hears of the end of processes only then. */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &saved);
	r = run_all(&crew);
	sigprocmask(SIG_SETMASK, &saved, NULL);
	if (r < 0)
		crew_results_free(results, plan->n);
	else
		*ret = results;
	return r;
}

void crew_results_free(CrewResult *results, size_t n)
{
	for (size_t i = 0; results && i < n; i++) {
		free(results[i].out);
		free(results[i].err);
	}
	free(results);
}
