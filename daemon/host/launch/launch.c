/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/launch.h"

#include <errno.h>
#include <string.h>

#include "host/launch/worker-find.h"
#include "util/clock.h"
#include "util/text.h"

/* What the mover says in the place of a document. */
#define BUSY "busy"
/* systemd takes seconds to reload all its units, and starts nothing meanwhile. */
#define START_TIMEOUT_USEC (25 * USEC_PER_SEC)

static void fall_back(const WorkerConfig *config, const char *part, int error)
{
	_cleanup_free_ char *why = strf("%s/%s: %s", config->parts_dir, part, strerror(-error));

	if (config->fell_back)
		config->fell_back(why ? why : strerror(ENOMEM), config->userdata);
}

/* 1 with the connection; 0 when there is no such part. */
static int ask(const WorkerConfig *config, const char *part, char *const *words, int *ret_fd)
{
	int r = config->parts_dir ? part_ask(config->parts_dir, part, words, ret_fd) : -ENOENT;

	if (r >= 0)
		return 1;
	if (!part_is_absent(r))
		return r;
	if (config->parts_dir)
		fall_back(config, part, r);
	return 0;
}

int launch_one(const WorkerConfig *config, const char *part, Children *children, size_t index,
	       char *const *argv)
{
	int fd = -1, r = ask(config, part, argv + LAUNCH_CHILD_WORDS, &fd);

	if (r == 0)
		return children_start(children, index, argv);
	if (r > 0)
		children_adopt(children, index, fd);
	return r < 0 ? r : 0;
}

void launch_wait(Children *children, uint64_t timeout_usec)
{
	children_wait_begun(children, START_TIMEOUT_USEC);
	children_wait(children, timeout_usec);
}

/* ---- a batch ---- */

int launch_begin(const WorkerConfig *config, size_t n, size_t output_max, Launch *ret)
{
	Launch launch = { .config = config, .n = n };
	int r = children_new(n + 1, output_max, &launch.children);

	if (r < 0)
		return r;
	launch.queue = calloc(n + 1, sizeof(char **));
	launch.errors = calloc(n + 1, sizeof(int));
	if (!launch.queue || !launch.errors) {
		launch_end(&launch);
		return -ENOMEM;
	}
	*ret = launch;
	return 0;
}

int launch_add(Launch *launch, size_t index, char *const *argv)
{
	return strv_copy(argv, &launch->queue[index]);
}

static void start_children(Launch *launch)
{
	int r = 0;

	for (size_t i = 0; i < launch->n; i++) {
		if (!launch->queue[i])
			continue;
		launch->errors[i] =
			r < 0 ? -ECANCELED : children_start(launch->children, i, launch->queue[i]);
		r = launch->errors[i] < 0 ? launch->errors[i] : r;
	}
}

static int make_request(const Launch *launch, char ***ret)
{
	_cleanup_strv_ char **words = NULL;
	int r = 0;

	for (size_t i = 0; i < launch->n; i++)
		for (char **word = launch->queue[i] ? launch->queue[i] + LAUNCH_CHILD_WORDS : NULL;
		     r >= 0 && word && *word; word++)
			r = strv_append(&words, *word);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(words);
	return 0;
}

static void start(Launch *launch)
{
	_cleanup_strv_ char **words = NULL;
	int fd = -1, r = make_request(launch, &words);

	if (r >= 0 && !words)
		return; /* none is to be started */
	if (r >= 0)
		r = ask(launch->config, PART_MOVER, words, &fd);
	if (r == 0)
		start_children(launch);
	for (size_t i = 0; r < 0 && i < launch->n; i++)
		launch->errors[i] = launch->queue[i] ? r : 0;
	if (r <= 0)
		return;
	launch->children->output_max *= launch->n;
	children_adopt(launch->children, launch->n, fd);
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
	if (!child->output)
		return -ENOMEM;
	child->size = strlen(child->output);
	return 0;
}

/* Makes of the mover's one output the outputs of as many children. */
static void scatter(Launch *launch)
{
	Child *mover = &launch->children->items[launch->n];
	/* What was read of nothing is not ended by a NUL. */
	char *line = mover->size > 0 ? mover->output : NULL, *end;
	int r = mover->error;

	if (r >= 0 && line && strlen(line) != mover->size)
		r = -EBADMSG;
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
		child->status = -1;
		child->error = r;
	}
}

void launch_run(Launch *launch, uint64_t timeout_usec)
{
	start(launch);
	launch_wait(launch->children, timeout_usec);
	if (launch->children->items[launch->n].adopted)
		scatter(launch);
}

int launch_error(const Launch *launch, size_t index)
{
	return launch->errors[index];
}

const Child *launch_child(const Launch *launch, size_t index)
{
	return &launch->children->items[index];
}

pid_t launch_pid(const WorkerConfig *config, const Child *child, const Bdf *function)
{
	return child->pid > 0 ? child->pid : worker_find(config, function);
}

void launch_end(Launch *launch)
{
	for (size_t i = 0; launch->queue && i < launch->n; i++)
		strv_free(launch->queue[i]);
	free(launch->queue);
	free(launch->errors);
	children_free(launch->children);
	*launch = (Launch){ 0 };
}
