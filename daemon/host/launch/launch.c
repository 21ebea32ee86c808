/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/launch.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "host/launch/ready.h"
#include "host/wire/request.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xalloc.h"

/* What the mover says in the place of a document, and what when all of its batch have ended. */
#define BUSY "busy"
#define END "end"
/* systemd takes seconds to reload all its units, and starts nothing meanwhile. */
#define START_TIMEOUT_USEC (25 * USEC_PER_SEC)

static void fall_back(const WorkerConfig *config, const char *part, int error)
{
	_cleanup_free_ char *why = strf("%s/%s: %s", config->parts_dir, part, strerror(-error));

	if (config->fell_back)
		config->fell_back(why, config->userdata);
}

/* Who can be asked only once is told that this was all. */
static int send_request(const WorkerConfig *config, const Asked *asked)
{
	int fd = asked->connection.fd, r = part_send(fd, asked->request, asked->size);

	if (r >= 0 && !ready_parts_stays(config->ready, asked->part) && shutdown(fd, SHUT_WR) < 0)
		r = -EIO;
	if (r < 0)
		close_fd(fd);
	return r;
}

/* Whether one that systemd has started already has the request now. */
static bool ask_ready(const WorkerConfig *config, Asked *asked)
{
	if (!config->ready)
		return false;
	while (ready_parts_take(config->ready, asked->part, &asked->connection))
		if (send_request(config, asked) >= 0)
			return true;
	return false;
}

static int ask_fresh(const WorkerConfig *config, Asked *asked)
{
	int r;

	asked->connection = (ReadyPart){ .fd = -1 };
	r = config->ready
		    ? ready_parts_connect(config->ready, asked->part, true, &asked->connection)
		    : part_connect(config->parts_dir, asked->part, true, &asked->connection.fd);
	return r < 0 ? r : send_request(config, asked);
}

static void adopt(const WorkerConfig *config, Children *children, size_t index, Asked *asked)
{
	Child *child = &children->items[index];

	children_adopt(children, index, asked->connection.fd);
	child->asked = *asked;
	if (ready_parts_stays(config->ready, asked->part))
		child->last = strcmp(asked->part, PART_MOVER) == 0 ? END : "";
}

/* 1: a part has the request; 0: there is no such part. */
static int ask(const WorkerConfig *config, const char *part, char *const *words, Children *children,
	       size_t index)
{
	Asked asked = { .part = part };
	int r = 0;

	if (!config->parts_dir)
		return 0;
	r = request_write(words, &asked.request, &asked.size);
	if (r < 0)
		return r;
	asked.was_ready = ask_ready(config, &asked);
	if (!asked.was_ready)
		r = ask_fresh(config, &asked);
	if (r >= 0) {
		adopt(config, children, index, &asked);
		return 1;
	}
	free(asked.request);
	if (!part_is_absent(r))
		return r;
	fall_back(config, part, r);
	return 0;
}

/*
 * One that had been started before the request, and has died or was stopped before it read that:
 * its connection is at its end, and nothing came. A part says that it begins before it does
 * anything, and does nothing where it cannot say so; what it has said is read before the end is. So
 * nothing was begun, and nobody is left who could begin.
 */
static bool never_began(const Child *child)
{
	return child->asked.was_ready && !child->running && !child->begun && child->size == 0 &&
	       (child->error == 0 || child->error == -ECONNRESET);
}

/* Whether another one is asked now. A fresh one: only once. */
static bool ask_another(const WorkerConfig *config, Children *children, size_t index)
{
	Child *child = &children->items[index];
	Asked asked = child->asked;

	if (!never_began(child))
		return false;
	child->error = 0; /* without another one it counts as one that died */
	child->asked.was_ready = asked.was_ready = false;
	if (ask_fresh(config, &asked) < 0)
		return false;
	adopt(config, children, index, &asked);
	return true;
}

static void keep_for_another_request(const WorkerConfig *config, Child *child)
{
	ReadyPart connection = child->asked.connection;

	if (!child->whole || child->fd < 0)
		return;
	connection.fd = TAKE_FD(child->fd);
	ready_parts_give_back(config->ready, child->asked.part, &connection);
}

static uint64_t until(uint64_t deadline_usec, uint64_t most_usec)
{
	uint64_t now = now_monotonic(), left = deadline_usec > now ? deadline_usec - now : 0;

	return deadline_usec == 0 || left > most_usec ? most_usec : left;
}

static void wait_for(const WorkerConfig *config, Children *children, uint64_t timeout_usec,
		     uint64_t deadline_usec)
{
	bool again = false;

	children_wait_begun(children, until(deadline_usec, START_TIMEOUT_USEC));
	for (size_t i = 0; i < children->n_items; i++)
		again |= ask_another(config, children, i);
	if (again)
		children_wait_begun(children, until(deadline_usec, START_TIMEOUT_USEC));
	children_wait(children, until(deadline_usec, timeout_usec));
	for (size_t i = 0; i < children->n_items; i++)
		keep_for_another_request(config, &children->items[i]);
}

/* ---- a batch ---- */

Launch launch_begin(const WorkerConfig *config, size_t n, size_t output_max)
{
	return (Launch){
		.config = config,
		.n = n,
		.children = children_new(n + 1, output_max),
		.parts = xcalloc(n + 1, sizeof(char *)),
		.queue = xcalloc(n + 1, sizeof(char **)),
		.errors = xcalloc(n + 1, sizeof(int)),
	};
}

/* Asks each by itself; a child where there is no part, or where `only_children`. */
static void start_each(Launch *launch, bool only_children)
{
	int r = 0;

	for (size_t i = 0; i < launch->n; i++) {
		char **argv = launch->queue[i];

		if (!argv)
			continue;
		if (r == 0 && !only_children)
			r = ask(launch->config, launch->parts[i], argv + LAUNCH_CHILD_WORDS,
				launch->children, i);
		if (r == 0)
			r = children_start(launch->children, i, argv);
		launch->errors[i] = r < 0 ? r : 0;
		r = r < 0 ? -ECANCELED : 0;
	}
}

static char **make_request(const Launch *launch)
{
	char **words = NULL;

	for (size_t i = 0; i < launch->n; i++)
		if (launch->queue[i])
			strv_copy(launch->queue[i] + LAUNCH_CHILD_WORDS, &words);
	return words;
}

static void start_batch(Launch *launch)
{
	_cleanup_strv_ char **words = make_request(launch);
	int r;

	if (!words)
		return; /* none is to be started */
	r = ask(launch->config, PART_MOVER, words, launch->children, launch->n);
	if (r == 0)
		start_each(launch, true);
	for (size_t i = 0; r < 0 && i < launch->n; i++)
		launch->errors[i] = launch->queue[i] ? r : launch->errors[i];
	if (r > 0)
		launch->children->output_max *= launch->n;
}

/* ---- the mover's lines ---- */

/* "NUMBER ANSWER": the number counts the commands of the request. Anything else is no answer. */
static Child *addressee(const Launch *launch, char *line, char **ret_answer, size_t *ret_index)
{
	char *blank = strchr(line, ' ');
	unsigned long long number;

	if (!blank)
		return NULL;
	*blank = '\0';
	*ret_answer = blank + 1;
	if (str_to_unsigned(line, 10, launch->n, &number) < 0)
		return NULL;
	for (size_t i = 0; i < launch->n; i++)
		if (launch->queue[i] && number-- == 0) {
			*ret_index = i;
			return &launch->children->items[i];
		}
	return NULL;
}

/* -EBADMSG: the line is for none of them, or there is a second one for the same. */
static int hand_out(Launch *launch, char *line)
{
	char *answer = NULL;
	size_t i = 0;
	Child *child = addressee(launch, line, &answer, &i);

	if (!child || child->output || launch->errors[i] < 0)
		return -EBADMSG;
	if (str_equal(answer, BUSY)) {
		launch->errors[i] = -EBUSY;
		return 0;
	}
	child->output = strf("%s\n", answer);
	child->size = strlen(child->output);
	return 0;
}

/* Makes of the mover's one output the outputs of as many children. */
static void scatter(Launch *launch)
{
	Child *mover = &launch->children->items[launch->n];
	char *line = mover->output, *end;
	int r = mover->error;

	if (r >= 0 && line && strlen(line) != mover->size)
		r = -EBADMSG;
	if (line && mover->whole)
		line[mover->size - strlen(END "\n")] = '\0';
	while (r >= 0 && line && (end = strchr(line, '\n'))) {
		*end = '\0';
		r = hand_out(launch, line);
		line = end + 1;
	}
	for (size_t i = 0; i < launch->n; i++) {
		Child *child = &launch->children->items[i];

		if (!launch->queue[i] || launch->errors[i] < 0)
			continue;
		child->adopted = true;
		child->running = mover->running;
		child->begun = mover->begun;
		child->status = -1;
		child->error = r;
	}
}

void launch_run(Launch *launch, uint64_t timeout_usec, uint64_t deadline_usec)
{
	if (str_equal(launch->parts[0], PART_MOVER))
		start_batch(launch);
	else
		start_each(launch, false);
	wait_for(launch->config, launch->children, timeout_usec, deadline_usec);
	if (launch->children->items[launch->n].adopted)
		scatter(launch);
}

void launch_end(Launch *launch)
{
	if (!launch->config)
		return;
	for (size_t i = 0; i < launch->n; i++)
		strv_free(launch->queue[i]);
	free(launch->queue);
	free(launch->parts);
	free(launch->errors);
	children_free(launch->children);
	*launch = (Launch){ 0 };
}
