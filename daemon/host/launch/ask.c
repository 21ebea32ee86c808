/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/ask.h"

#include <inttypes.h>
#include <sys/socket.h>

#include "host/launch/child.h"
#include "host/launch/part.h"
#include "host/launch/ready.h"
#include "host/launch/worker-find.h"
#include "host/wire/request.h"
#include "util/clock.h"
#include "util/xalloc.h"

/*
 * Of `argv` of a child: the program, --sysfs, --proc and --root. A part, which looks at the host
 * that it is on, gets what follows.
 */
#define LAUNCH_CHILD_WORDS 4U

/*
 * Some questions side by side, one document each, to one part each. Those to the mover are a batch:
 * one connection and one instance for all functions, which works on them side by side and answers
 * with one line each. Where there are no parts, one child a question.
 */
typedef struct Launch {
	const WorkerConfig *config;
	Children *children; /* one a question, and the mover's connection behind them */
	Ask *asks;	    /* their errors: why one was not started; 0: it was */
	char ***queue;	    /* argv of each that is to be started; NULL: none */
	size_t n;
} Launch;

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
static int ask_part(const WorkerConfig *config, const char *part, char *const *words,
		    Children *children, size_t index)
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

/* Starts nothing yet: the queue is to be filled. */
static Launch launch_begin(const WorkerConfig *config, Ask *asks, size_t n)
{
	return (Launch){
		.config = config,
		.asks = asks,
		.n = n,
		.children = children_new(n + 1, question(asks->id)->answer_max),
		.queue = xcalloc(n + 1, sizeof(char **)),
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
			r = ask_part(launch->config, question(launch->asks[i].id)->part,
				     argv + LAUNCH_CHILD_WORDS, launch->children, i);
		if (r == 0)
			r = children_start(launch->children, i, argv);
		launch->asks[i].error = r < 0 ? r : 0;
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
	r = ask_part(launch->config, PART_MOVER, words, launch->children, launch->n);
	if (r == 0)
		start_each(launch, true);
	for (size_t i = 0; r < 0 && i < launch->n; i++)
		launch->asks[i].error = launch->queue[i] ? r : launch->asks[i].error;
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

	if (!child || child->output || launch->asks[i].error < 0)
		return -EBADMSG;
	if (str_equal(answer, BUSY)) {
		launch->asks[i].error = -EBUSY;
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

		if (!launch->queue[i] || launch->asks[i].error < 0)
			continue;
		child->adopted = true;
		child->running = mover->running;
		child->begun = mover->begun;
		child->status = -1;
		child->error = r;
	}
}

/*
 * Starts all, and returns when all have ended or have worked for `timeout_usec`: for the parts to
 * begin, which is systemd's matter, there is time of its own. But no later than at `deadline_usec`
 * (CLOCK_MONOTONIC; 0: none). Parts that wait for another request then are kept for it. After one
 * that could not be started no more are: the error of those is -ECANCELED. It is -EBUSY when
 * an older worker is at work on the function, and none was started.
 */
static void launch_run(Launch *launch, uint64_t timeout_usec, uint64_t deadline_usec)
{
	if (str_equal(question(launch->asks->id)->part, PART_MOVER))
		start_batch(launch);
	else
		start_each(launch, false);
	wait_for(launch->config, launch->children, timeout_usec, deadline_usec);
	if (launch->children->items[launch->n].adopted)
		scatter(launch);
}

static void launch_end(Launch *launch)
{
	if (!launch->config)
		return;
	for (size_t i = 0; i < launch->n; i++)
		strv_free(launch->queue[i]);
	free(launch->queue);
	children_free(launch->children);
	*launch = (Launch){ 0 };
}

/* ---- what is asked ---- */

static const char *program_of(const WorkerConfig *config, const Ask *ask)
{
	const char *part = question(ask->id)->part;

	return str_equal(part, PART_INITRAMFS) ? config->initramfs
	       : str_equal(part, PART_ERASER)  ? config->eraser
					       : config->program;
}

static char **make_argv(const WorkerConfig *config, const Ask *ask)
{
	const Question *q = question(ask->id);
	const char *option = ask->before ? ask->before : q->option;
	char **argv = NULL;

	strv_append(&argv, program_of(config, ask));
	strv_appendf(&argv, "--sysfs=%s", config->sysfs_dir);
	strv_appendf(&argv, "--proc=%s", config->proc_dir);
	strv_appendf(&argv, "--root=%s", config->root_dir ? config->root_dir : "/");
	strv_append(&argv, q->verb);
	if (option)
		strv_append(&argv, option);
	for (size_t i = 0; i < ask->n; i++)
		strv_append(&argv, BDF_TEXT(&ask->functions[i]));
	for (size_t i = 0; i < ELEMENTS(ask->after) && ask->after[i]; i++)
		strv_append(&argv, ask->after[i]);
	if (config->nvml &&
	    (str_equal(q->part, PART_PROBER) || str_equal(q->part, PART_PERSISTENCE)))
		strv_appendf(&argv, "--nvml=%s", config->nvml);
	return argv;
}

/* Of a move: "-" for none. Whoever reads the request would refuse all of it. */
static bool is_valid(const Ask *ask)
{
	return ask->id != ASK_MOVE ||
	       ((str_equal(ask->after[0], "-") || driver_name_valid(ask->after[0])) &&
		(str_equal(ask->after[1], "-") || driver_override_valid(ask->after[1])));
}

static pid_t find_at_work(const WorkerConfig *config, const Ask *ask)
{
	return worker_find(config, question(ask->id)->lock, ask->functions);
}

/* ---- what went wrong, in words ---- */

static char *subject(const Ask *ask)
{
	const Question *q = question(ask->id);
	size_t more = ask->id == ASK_HEALTH ? 0 : ask->n - 1;

	if (ask->n == 0)
		return xstrdup(q->subject ? q->subject : "the host");
	if (more == 0)
		return xstrdup(BDF_TEXT(ask->functions));
	return strf("%s and %zu more", BDF_TEXT(ask->functions), more);
}

/* Which process it is of: "gpupass-inspector (pid 4711)". */
static char *who(const WorkerConfig *config, const Ask *ask)
{
	const char *program = program_of(config, ask);
	const char *slash = strrchr(program, '/');
	_cleanup_free_ char *name = config->parts_dir ? strf("gpupass-%s", question(ask->id)->part)
						      : xstrdup(slash ? slash + 1 : program);

	return ask->pid > 0 ? strf("%s (pid %d)", name, (int)ask->pid) : TAKE_PTR(name);
}

static char *where_to_look(const WorkerConfig *config, const Ask *ask)
{
	_cleanup_free_ char *kernel =
		ask->n > 0 ? strf("; dmesg | grep %s", BDF_TEXT(ask->functions)) : xstrdup("");

	return config->parts_dir
		       ? strf("see journalctl -u 'gpupass-%s@*'%s", question(ask->id)->part, kernel)
		       : strf("see the log of gpupassd, which its workers write to%s", kernel);
}

void ask_refuse(Ask *ask, int error, char *cause, char *remedy)
{
	const Question *q = question(ask->id);
	_cleanup_free_ char *whom = subject(ask);

	ask->error = error;
	ask->problem = problem_free(ask->problem);
	problem_refuse(&ask->problem, q->error != 0 ? q->error : GPUPASS_ERROR_PART_FAILED,
		       .reason = strf("%s %s", whom, q->failed), .cause = cause, .remedy = remedy);
}

static char *time_text(uint64_t usec)
{
	return usec < USEC_PER_SEC ? strf("%" PRIu64 " ms", usec / USEC_PER_MSEC)
				   : strf("%" PRIu64 " s", usec / USEC_PER_SEC);
}

static void refuse_slow(const WorkerConfig *config, Ask *ask, const Child *child, uint64_t waited)
{
	const char *slow = question(ask->id)->slow;
	_cleanup_free_ char *name = who(config, ask), *time = time_text(waited);
	char *remedy = slow ? xstrdup(slow) : where_to_look(config, ask);

	if (child->adopted && !child->begun)
		ask_refuse(ask, -ETIMEDOUT, strf("systemd did not start %s within %s", name, time),
			   strf("see systemctl list-jobs; %s", remedy));
	else
		ask_refuse(ask, -ETIMEDOUT,
			   strf("%s did not answer within %s, and still waits%s", name, time,
				ask->n > 0 && !slow ? ": a driver or a reset has a function, or it "
						      "does not wake up"
						    : ""),
			   TAKE_PTR(remedy));
	free(remedy);
}

static void refuse_dead(const WorkerConfig *config, Ask *ask, const Child *child)
{
	_cleanup_free_ char *name = who(config, ask);
	char *cause;

	if (child->signal != 0)
		cause = strf("%s was ended by signal %d (%s) before it answered", name,
			     child->signal, strsignal(child->signal));
	else if (child->status > 0)
		cause = strf("%s ended with exit status %d, and without an answer", name,
			     child->status);
	else
		cause = strf("%s ended before it answered", name);
	ask_refuse(ask, -EPROTO, cause, where_to_look(config, ask));
}

static void refuse_answer(const WorkerConfig *config, Ask *ask, const Child *child, int error,
			  const char *why)
{
	_cleanup_free_ char *name = who(config, ask);
	size_t most = question(ask->id)->answer_max / 1024;

	if (error == -EPROTO)
		ask_refuse(ask, -EBADMSG,
			   strf("%s answers as another version of gpupass does: %s", name, why),
			   xstrdup("systemctl restart gpupassd, so that it asks parts of its own "
				   "version; was an upgrade interrupted?"));
	else if (child->error == -EFBIG)
		ask_refuse(ask, -EBADMSG,
			   strf("%s answered more than %zu KiB, which no answer has", name, most),
			   where_to_look(config, ask));
	else
		ask_refuse(ask, -EBADMSG, strf("%s gave an answer that makes no sense", name),
			   where_to_look(config, ask));
}

static void refuse_busy(const WorkerConfig *config, Ask *ask)
{
	ask->still_running = true;
	ask->pid = ask->pid > 0 ? ask->pid : find_at_work(config, ask);
	ask_refuse(ask, -EBUSY,
		   ask->pid > 0 ? strf("process %d, which was started earlier, is still at work",
				       (int)ask->pid)
				: xstrdup("one that was started earlier was still at work"),
		   ask->pid > 0 ? strf("wait for it to end: systemctl status %d", (int)ask->pid)
				: strf("wait for it to end: systemctl list-units 'gpupass-%s@*'",
				       question(ask->id)->part));
}

/* Nothing was started, or the part itself has met an error. */
static void refuse_error(const WorkerConfig *config, Ask *ask, int error, bool asked)
{
	const char *slow = question(ask->id)->slow;
	_cleanup_free_ char *name = who(config, ask);

	ask_refuse(ask, error,
		   asked ? strf("%s says: %s", name, strerror(-error))
		   : error == -ECANCELED
			   ? xstrdup("it was not tried, because another one could not be")
			   : strf("%s could not be started: %s", name, strerror(-error)),
		   asked && slow ? xstrdup(slow) : where_to_look(config, ask));
}

/* ---- what came of it ---- */

/*
 * systemd also has the connection of a part open, until it has seen the end of the process, which
 * may take time; and one connection is for all functions of a batch.
 */
static bool has_answered(const Child *child)
{
	return child->adopted && child->size > 0 && child->output[child->size - 1] == '\n';
}

static bool is_dead(const Child *child)
{
	/* An unknown exit status does not count against the answer. */
	return child->error == 0 && (child->signal != 0 || child->status > 0 || child->size == 0);
}

static void take_answer(const WorkerConfig *config, Ask *ask, const Child *child)
{
	_cleanup_free_ char *why = NULL;
	int r = -EBADMSG;

	if (child->error == 0)
		r = answer_parse(question(ask->id), ask->functions, ask->n, child->output,
				 child->size, ask->answer, &why);
	if (r < 0) {
		refuse_answer(config, ask, child, r, why);
		return;
	}
	r = ((const AnswerHead *)ask->answer)->error;
	if (r == 0)
		return;
	answer_clear(question(ask->id), ask->answer);
	refuse_error(config, ask, r, true);
}

static void take(const WorkerConfig *config, Ask *ask, const Child *child, uint64_t waited)
{
	bool late = child->running && !has_answered(child);

	ask->pid = child->pid;
	if (late && child->adopted)
		ask->pid = find_at_work(config, ask);
	if (late) {
		ask->still_running = true;
		refuse_slow(config, ask, child, waited);
	} else if (is_dead(child)) {
		refuse_dead(config, ask, child);
	} else {
		take_answer(config, ask, child);
	}
}

/* After one that could not be asked, the mover is asked nothing: a half-moved group is worse. */
static void queue_all(Launch *launch)
{
	int r = 0;

	for (size_t i = 0; i < launch->n; i++) {
		Ask *ask = &launch->asks[i];

		if (question(ask->id)->alone &&
		    (ask->pid = find_at_work(launch->config, ask)) > 0) {
			ask->error = -EBUSY;
			continue;
		}
		r = ask->error = r < 0 ? -ECANCELED : is_valid(ask) ? 0 : -EINVAL;
		if (r == 0)
			launch->queue[i] = make_argv(launch->config, ask);
	}
}

void ask_parts(const WorkerConfig *config, Ask *asks, size_t n, uint64_t timeout_usec,
	       uint64_t deadline_usec)
{
	_cleanup_(launch_end) Launch launch = { 0 };
	uint64_t start = now_monotonic(), waited;
	const Question *q;

	if (n == 0)
		return;
	q = question(asks->id);
	/* What changes a function: a mover at work is not to count as stuck sooner. */
	if (q->lock == LOCK_FUNCTION)
		deadline_usec = 0;
	if (timeout_usec == ASK_USUAL_TIMEOUT)
		timeout_usec = q->limit_sec * USEC_PER_SEC;
	launch = launch_begin(config, asks, n);
	worker_question_begins(config, q->lock);
	queue_all(&launch);
	launch_run(&launch, timeout_usec, deadline_usec);
	worker_question_ends(config, q->lock, launch.children->items->pid > 0);
	waited = now_monotonic() - start;
	for (size_t i = 0; i < n; i++) {
		int r = asks[i].error;

		if (r == -EBUSY)
			refuse_busy(config, &asks[i]);
		else if (r < 0)
			refuse_error(config, &asks[i], r, false);
		else
			take(config, &asks[i], &launch.children->items[i], waited);
	}
}

void ask_clear(Ask *ask)
{
	ask->problem = problem_free(ask->problem);
}
