/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's answers, and the documents in them: what is taken is about the functions that were
 * asked for, and is written as it was read; what is refused leaves the result as it was.
 */
#include "core/facts/inspection.h"
#include "fuzz.h"
#include "host/wire/answer.h"
#include "host/wire/question.h"
#include "util/json.h"

static const Bdf gpus[] = { { .bus = 0x41 }, { .bus = 0x61 } };

/*
 * AGAIN(): an answer that is taken, written and taken again is the same. `read` and `write` are
 * expressions of text, size and `it`; a struct that was not filled is still all zeros.
 */
#define AGAIN(name, Type, read, write, clear)                                                      \
	static int name##_read(const char *text, size_t size, Type *it)                            \
	{                                                                                          \
		return read;                                                                       \
	}                                                                                          \
                                                                                                   \
	static void name##_reads_again(const char *bytes, size_t size)                             \
	{                                                                                          \
		static const Type nothing;                                                         \
		_cleanup_free_ char *once = NULL, *twice = NULL;                                   \
		Type first = { 0 }, second = { 0 };                                                \
		Type *it = &first;                                                                 \
                                                                                                   \
		if (name##_read(bytes, size, &first) < 0) {                                        \
			EXPECT(memcmp(&first, &nothing, sizeof(first)) == 0);                      \
			return;                                                                    \
		}                                                                                  \
		once = write;                                                                      \
		EXPECT(once &&name##_read(once, strlen(once), &second) == 0);                      \
		it = &second;                                                                      \
		twice = write;                                                                     \
		EXPECT_SAME_TEXT(once, twice);                                                     \
		clear(&first);                                                                     \
		clear(&second);                                                                    \
	}

static char *text_of(json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	return text;
}

typedef struct Pointed {
	Inspection *inspection;
	Examination *host;
	Initramfs *image;
} Pointed;

static void pointed_clear(Pointed *p)
{
	inspection_free(p->inspection);
	examination_free(p->host);
	initramfs_free(p->image);
}

/* ---- the documents in answers, by themselves ---- */

static int from_json(const char *text, size_t size,
		     int (*read)(const json_t *json, Pointed *ret, char **why), Pointed *ret)
{
	_cleanup_json_ json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	_cleanup_free_ char *why = NULL;
	int r;

	if (!json)
		return -EBADMSG;
	r = read(json, ret, &why);
	if (r < 0) {
		EXPECT_REFUSED(r);
		EXPECT(why);
	}
	return r;
}

static int read_inspection(const json_t *json, Pointed *ret, char **why)
{
	return inspection_from_json(json, &ret->inspection, why);
}

static int read_host(const json_t *json, Pointed *ret, char **why)
{
	return examination_from_json(json, &ret->host, why);
}

static int read_image(const json_t *json, Pointed *ret, char **why)
{
	return initramfs_from_json(json, &ret->image, why);
}

static int read_report(const char *text, size_t size, ResetReport *ret)
{
	_cleanup_json_ json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);

	return json ? reset_report_from_json(json, ret) : -EBADMSG;
}

static int read_health(const char *text, size_t size, GpuHealth *ret)
{
	_cleanup_json_ json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	int r = json ? gpu_health_from_json(json, ret, NULL) : -EBADMSG;

	if (r == 0) {
		_cleanup_free_ char *reason = NULL;

		gpu_health_judge(ret, &reason);
		EXPECT(reason);
	}
	return r;
}

AGAIN(bare_inspection, Pointed, from_json(text, size, read_inspection, it),
      text_of(inspection_to_json(it->inspection)), pointed_clear)
AGAIN(bare_host, Pointed, from_json(text, size, read_host, it),
      text_of(examination_to_json(it->host)), pointed_clear)
AGAIN(bare_image, Pointed, from_json(text, size, read_image, it),
      text_of(initramfs_to_json(it->image)), pointed_clear)
AGAIN(bare_report, ResetReport, read_report(text, size, it), text_of(reset_report_to_json(it)),
      reset_report_clear)
AGAIN(bare_health, GpuHealth, read_health(text, size, it), text_of(gpu_health_to_json(it)),
      gpu_health_clear)

/* ---- answers ---- */

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

static char *text_of_answer(const Question *q, const Answer *answer)
{
	if (question_id(q) == ASK_MOVE)
		return worker_move_document(&answer->move.bdf, &answer->move.result);
	if (question_id(q) == ASK_RESET)
		return worker_reset_document(&answer->reset.report);
	return answer_text(q, answer);
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
	once = text_of_answer(q, &first);
	EXPECT(answer_parse(q, gpus, n, once, strlen(once), &second, &why) == 0);
	twice = text_of_answer(q, &second);
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
	bare_inspection_reads_again(bytes, size);
	bare_host_reads_again(bytes, size);
	bare_image_reads_again(bytes, size);
	bare_report_reads_again(bytes, size);
	bare_health_reads_again(bytes, size);
}
