/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How an answer goes to whoever asked. */

#include "gpupass/errors.h"
#include "util/xalloc.h"
#include "worker/command.h"

int worker_tell(const Question *q, const char *text)
{
	if (puts(text) != EOF && fflush(stdout) != EOF)
		return GPUPASS_EXIT_DONE;
	/* A reader that has given up has closed its end. The log should have what was done. */
	if (errno != EPIPE || question_id(q) == ASK_INSPECT || question_id(q) == ASK_GLANCE)
		return GPUPASS_EXIT_FAILED;
	fprintf(stderr, "%s: nobody waits any more for this answer: %s\n", worker_program.name,
		text);
	return GPUPASS_EXIT_DONE;
}

int worker_answer(const WorkerCommand *command,
		  int (*answer)(const WorkerCommand *command, void *ret_answer))
{
	const Question *q = command->question;
	_cleanup_free_ void *it = xcalloc(1, q->size);
	_cleanup_free_ char *text = NULL;
	int r = answer ? answer(command, it) : -ENOENT;

	text = r < 0 ? NULL : answer_text(q, it);
	answer_clear(q, it);
	return text ? worker_tell(q, text) : program_fail(&worker_program, "cannot answer", r);
}
