/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/reset-tally.h"

DEFINE_STRING_TABLE(reset_method, ResetMethod, RESET_METHODS)

void reset_tally_add(ResetTally *tally, const ResetReport *report)
{
	ResetMethod method = RESET_METHOD_NONE;
	uint8_t *n;

	if (report->result == RESET_WITH_LEAD || (size_t)report->result >= RESET_RESULT_MAX_)
		return;
	if (report->method && reset_method_from_string(report->method, &method) < 0)
		method = RESET_METHOD_OTHER;
	n = &tally->n[method][report->result];
	if (*n < UINT8_MAX)
		(*n)++;
}
