/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers to questions: fixtures/answers/NAME.json, and what reads them. */
#pragma once

#include <string.h>

#include "host/wire/answer.h"
#include "host/wire/question.h"

typedef struct AnswerFixture {
	const char *name;
	QuestionId question;
	size_t n; /* about so many of those below */
} AnswerFixture;

static const AnswerFixture answers[] = {
	{ "move", ASK_MOVE, 1 },	 { "reset", ASK_RESET, 1 },
	{ "vfs", ASK_VFS, 1 },		 { "inspect", ASK_INSPECT, 1 },
	{ "examine", ASK_SETUP, 0 },	 { "gpu", ASK_HEALTH, 1 },
	{ "machines", ASK_MACHINES, 0 }, { "nic", ASK_NICS, 2 },
	{ "memory", ASK_MEMORY, 2 },	 { "persistence", ASK_PERSISTENCE, 2 },
	{ "nvme", ASK_NVME, 1 },	 { "nvme-state", ASK_NVME_STATE, 1 },
	{ "erase", ASK_ERASE, 1 },	 { "probe", ASK_LINKS, 2 },
	{ "probe-none", ASK_LINKS, 2 },
};

/* The third is one that none is about. */
static const Bdf answers_about[] = { { .bus = 0x41 }, { .bus = 0x61 }, { .bus = 0x99 } };

/* *ret_again: what is written of it. What is no answer leaves the result empty. */
static inline int answer_read(QuestionId id, const Bdf *functions, size_t n, const char *text,
			      size_t size, char **ret_again, char **ret_why)
{
	const Question *q = question(id);
	_cleanup_free_ void *answer = calloc(1, q->size);
	int r = answer_parse(q, functions, n, text, size, answer, ret_why);

	for (size_t i = 0; r < 0 && i < q->size; i++)
		assert_int_equal(((const char *)answer)[i], 0);
	if (r < 0)
		return r;
	*ret_again = id == ASK_MOVE  ? worker_move_document(&((const MoveAnswer *)answer)->bdf,
							    &((const MoveAnswer *)answer)->result)
		     : id == ASK_VFS ? worker_vfs_document(&((const VfsAnswer *)answer)->bdf,
							   ((const VfsAnswer *)answer)->head.error,
							   ((const VfsAnswer *)answer)->number)
		     : id == ASK_RESET
			     ? worker_reset_document(&((const ResetAnswer *)answer)->report)
			     : answer_text(q, answer);
	answer_clear(q, answer);
	return 0;
}
