/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's answers, and the documents in them: what is taken is about the functions that were
 * asked for, and is written as it was read; what is refused leaves the result as it was.
 */
#include "fuzz.h"
#include "host/wire/answer.h"
#include "host/wire/question.h"

static const Bdf gpus[] = { { .bus = 0x41 }, { .bus = 0x61 } };

typedef union Answer {
	AnswerHead head;
	MoveAnswer move;
	ResetAnswer reset;
	InspectAnswer inspect;
	HostAnswer host;
	HealthAnswer health;
	MachinesAnswer machines;
	MemoryAnswer memory;
	PersistenceAnswer persistence;
	ProbeAnswer probe;
} Answer;

static char *text_of(const Question *q, const Answer *answer)
{
	if (question_id(q) == ASK_MOVE)
		return worker_move_document(&answer->move.bdf, &answer->move.result);
	if (question_id(q) == ASK_RESET)
		return worker_reset_document(&answer->reset.report);
	return answer_text(q, answer);
}

static void judge(const GpuHealth *health)
{
	_cleanup_free_ char *reason = NULL;

	gpu_health_judge(health, &reason);
	EXPECT(reason);
}

static void answer_reads_again(const Question *q, size_t n, const char *bytes, size_t size)
{
	static const Answer nothing;
	_cleanup_free_ char *once = NULL, *twice = NULL, *why = NULL;
	Answer first = { 0 }, second = { 0 };
	int r = answer_parse(q, gpus, n, bytes, size, &first, &why);

	if (r < 0) {
		EXPECT(memcmp(&first, &nothing, sizeof(first)) == 0);
		EXPECT(r == -EBADMSG || (r == -EPROTO && why));
		return;
	}
	if (question_id(q) == ASK_HEALTH)
		judge(&first.health.gpu);
	once = text_of(q, &first);
	EXPECT(answer_parse(q, gpus, n, once, strlen(once), &second, &why) == 0);
	twice = text_of(q, &second);
	EXPECT_SAME_TEXT(once, twice);
	answer_clear(q, &first);
	answer_clear(q, &second);
}

/* promise C3 */
void fuzz_one(const char *bytes, size_t size, _unused_ const char *text)
{
	for (QuestionId id = 0; id < ASK_UEVENTS; id++) {
		answer_reads_again(question(id), 1, bytes, size);
		if (question(id)->most > 1)
			answer_reads_again(question(id), 2, bytes, size);
	}
}
