/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers as a whole; test-documents has each of their members. */
#include "rig/test.h"

#include <fcntl.h>

#include "rig/answers.h"
#include "util/file.h"
#include "util/text.h"

static char *text_of(const AnswerFixture *a)
{
	_cleanup_free_ char *path = strf(FIXTURES "/answers/%s.json", a->name);
	char *text = NULL;

	assert_int_equal(file_read_at(AT_FDCWD, path, 65536, &text, NULL), 0);
	return text;
}

static bool is_answer(QuestionId id, const Bdf *functions, size_t n, const char *text)
{
	_cleanup_free_ char *again = NULL, *why = NULL;

	return answer_read(id, functions, n, text, strlen(text), &again, &why) >= 0;
}

/* Neither about another function, nor about one more. */
TEST(an_answer_is_about_what_was_asked_or_none)
{
	for (const AnswerFixture *a = answers; a < answers + ELEMENTS(answers); a++) {
		_cleanup_free_ char *text = text_of(a);
		bool is_list = question(a->question)->most > 1 && a->question != ASK_HEALTH;

		assert_true(is_answer(a->question, answers_about, a->n, text));
		for (size_t i = 0; i < a->n && strcmp(a->name, "probe-none") != 0; i++) {
			Bdf other[] = { answers_about[0], answers_about[1] };

			other[i] = answers_about[2];
			if (is_answer(a->question, other, a->n, text) ||
			    (is_list && is_answer(a->question, answers_about, a->n + 1, text)) ||
			    (i > 0 && is_answer(a->question, answers_about, a->n - 1, text)))
				fail_msg("%s: it is not about what was asked", a->name);
		}
	}
}

#define ANSWER(verb, more) "{\"schema\":\"org.gpupass1.worker/1\",\"verb\":\"" verb "\"," more "}"
#define MODES(first, second) ANSWER("persistence", "\"gpus\":[" first "," second "]")
#define MODE(bdf, mode) "{\"address\":\"" bdf "\",\"mode\":\"" mode "\"}"
#define LINKS(boards, unseen)                                                                      \
	"{\"schema\":\"org.gpupass1.probe/1\",\"boards\":[" boards "],\"unseen\":[" unseen "]}"
#define BOARD(bdf, way)                                                                            \
	"{\"address\":\"" bdf "\",\"way\":\"" way "\",\"seen_usec\":1,\"vendor\":\"10de\","        \
	"\"device\":\"2230\",\"subsystem_vendor\":\"10de\",\"subsystem_device\":\"1459\","         \
	"\"peers\":[],\"inactive\":0,\"other\":0}"
#define UNSEEN(bdf) "{\"address\":\"" bdf "\",\"reason\":\"GPU is lost\"}"
#define A "0000:41:00.0"
#define B "0000:61:00.0"

/* What no member tells by itself. */
TEST(an_answer_tells_of_each_once_and_by_its_own_way)
{
	static const struct {
		const char *text;
		QuestionId question;
		bool good;
	} rows[] = {
		{ MODES(MODE(A, "on"), MODE(B, "off")), ASK_PERSISTENCE, true },
		{ MODES(MODE(B, "on"), MODE(A, "off")), ASK_PERSISTENCE, false },
		{ MODES(MODE(A, "on"), MODE(A, "on")), ASK_PERSISTENCE, false },
		{ MODES(MODE(A, "on"), MODE(B, "unknown")), ASK_PERSISTENCE, false },
		{ LINKS(BOARD(A, "nvml") "," BOARD(B, "nvml"), ""), ASK_LINKS, true },
		{ LINKS(BOARD(A, "nvml"), UNSEEN(B)), ASK_LINKS, true },
		{ LINKS("", UNSEEN(B) "," UNSEEN(A)), ASK_LINKS, true },
		{ LINKS(BOARD(A, "nvml"), ""), ASK_LINKS, false },
		{ LINKS(BOARD(A, "nvml") "," BOARD(B, "nvml"), UNSEEN(B)), ASK_LINKS, false },
		{ LINKS(BOARD(A, "nvml") "," BOARD(B, "mmio"), ""), ASK_LINKS, false },
		{ LINKS(BOARD(A, "nvml") "," BOARD(B, "guest"), ""), ASK_LINKS, false },
		{ LINKS(BOARD(A, "nvml") "," BOARD(B, "nvml"), ""), ASK_REGISTERS, false },
		{ LINKS(BOARD(A, "mmio") "," BOARD(B, "mmio"), ""), ASK_REGISTERS, true },
		{ LINKS("", ""), ASK_LINKS, false },
		{ ANSWER("inspect", "\"error\":2"), ASK_CONFIG, true },
		{ ANSWER("examine", "\"error\":2"), ASK_CONFIG, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (is_answer(rows[i].question, answers_about, 2, rows[i].text) != rows[i].good)
			fail_msg("row %zu is%s taken", i, rows[i].good ? " not" : "");
}

TEST(a_reason_has_an_end)
{
	static const char *const reasons[] = { "it is asleep", "GPU is lost",
					       "NVML cannot be loaded" };
	size_t found = 0;

	for (const AnswerFixture *a = answers; a < answers + ELEMENTS(answers); a++)
		for (size_t i = 0; i < ELEMENTS(reasons); i++) {
			_cleanup_free_ char *text = text_of(a), *much = NULL;
			const char *at = strstr(text, reasons[i]);

			if (!at)
				continue;
			much = strf("%.*s%0600d%s", (int)(at - text), text, 0, at);
			assert_false(is_answer(a->question, answers_about, a->n, much));
			found++;
		}
	assert_int_equal(found, 5);
}

/* Another tool may have set an override of any bytes. */
TEST(bytes_that_are_no_text_are_not_written)
{
	const DriverResult result = { .driver = (char[]){ "a\"\t" },
				      .driver_override = (char[]){ "\377\376" } };
	_cleanup_free_ char *text = worker_move_document(answers_about, &result);

	assert_non_null(strstr(text, "\"driver\":\"a\\\"\\u0009\",\"driver_override\":\"?\""));
}
