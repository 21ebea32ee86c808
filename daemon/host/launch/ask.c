/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/pci/driver-name.h"
#include "host/launch/launch.h"
#include "host/launch/worker-find.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xalloc.h"

/* ---- what is asked ---- */

static char **make_argv(const WorkerConfig *config, const Ask *ask)
{
	const Question *q = question(ask->id);
	const char *option = ask->before ? ask->before : q->option;
	char **argv = NULL;

	strv_append(&argv, ask->id == ASK_IMAGE ? config->initramfs : config->program);
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
	const char *program = ask->id == ASK_IMAGE ? config->initramfs : config->program;
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
static void queue_all(Launch *launch, Ask *asks)
{
	int r = 0;

	for (size_t i = 0; i < launch->n; i++) {
		const Question *q = question(asks[i].id);

		launch->parts[i] = q->part;
		if (q->alone && (asks[i].pid = find_at_work(launch->config, &asks[i])) > 0) {
			launch->errors[i] = -EBUSY;
			continue;
		}
		launch->errors[i] = r < 0 ? -ECANCELED : is_valid(&asks[i]) ? 0 : -EINVAL;
		r = launch->errors[i];
		if (r == 0)
			launch->queue[i] = make_argv(launch->config, &asks[i]);
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
	launch = launch_begin(config, n, q->answer_max);
	worker_question_begins(config, q->lock);
	queue_all(&launch, asks);
	launch_run(&launch, timeout_usec, deadline_usec);
	worker_question_ends(config, q->lock, launch.children->items->pid > 0);
	waited = now_monotonic() - start;
	for (size_t i = 0; i < n; i++) {
		int r = launch.errors[i];

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
