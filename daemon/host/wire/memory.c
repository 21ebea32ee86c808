/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/memory.h"

#include <errno.h>
#include <string.h>

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"

#define BOARDS_MAX 512
#define REASON_MAX 512

static const JsonMember report_members[] = {
	JSON_BDF_AS(MemoryReport, bdf, "address"),
	JSON_ENUM(MemoryReport, state, MemoryClear, MEMORY_CLEARS,
		  "is none that this version knows"),
	JSON_TEXT_IF_ANY(MemoryReport, why),
	JSON_END,
};

typedef struct Answer {
	MemoryReport *boards;
	size_t n_boards;
} Answer;

static const JsonMember answer_members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_MEMORY),
	JSON_ARRAY(Answer, boards, MemoryReport, report_members, BOARDS_MAX),
	JSON_END,
};

char *memory_document(const MemoryReport *reports, size_t n)
{
	const Answer answer = { .boards = (MemoryReport *)reports, .n_boards = n };

	return json_struct_text(answer_members, &answer);
}

static bool is_about(const MemoryReport *report, const Bdf *bdf)
{
	bool known = report->state != MEMORY_NOT_KNOWN;

	return bdf_equal(&report->bdf, bdf) && known == !report->why &&
	       (known || strlen(report->why) <= REASON_MAX);
}

int memory_document_parse(const char *text, size_t size, const Bdf *boards, size_t n,
			  MemoryReport *ret)
{
	Answer answer = { 0 };
	int r = json_struct_parse(answer_members, text, size, &answer);

	if (r >= 0 && answer.n_boards != n)
		r = -EBADMSG;
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = is_about(&answer.boards[i], &boards[i]) ? 0 : -EBADMSG;
	if (r >= 0 && n > 0) {
		memcpy(ret, answer.boards, n * sizeof(MemoryReport));
		memset(answer.boards, 0, n * sizeof(MemoryReport));
	}
	json_struct_clear(answer_members, &answer);
	return r;
}
