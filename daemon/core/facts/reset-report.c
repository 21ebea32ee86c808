/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/reset-report.h"

#include "util/text.h"

#include "reset-report.inc"

bool reset_method_counts(const char *method)
{
	return !str_equal(method, "pm");
}

bool reset_result_is_good(ResetResult result)
{
	return result == RESET_DONE || result == RESET_NO_METHOD || result == RESET_WITH_LEAD;
}

/* Whole gigatransfers suffice to compare speeds: 2.5, 5, 8, 16, 32, 64. */
static unsigned long speed_number(const char *speed)
{
	return speed ? strtoul(speed, NULL, 10) : 0;
}

bool reset_link_is_worse(const ResetLook *before, const ResetLook *after)
{
	unsigned long then = speed_number(before->link_speed);
	unsigned long now = speed_number(after->link_speed);

	if (then > 0 && now > 0 && now < then)
		return true;
	return before->link_width > 0 && after->link_width > 0 &&
	       after->link_width < before->link_width;
}

static char *link_text(const ResetReport *report)
{
	return strf("%s: %s: %s x%u, before the reset %s x%u", BDF_TEXT(&report->bdf),
		    reset_result_to_string(report->result), str_or_empty(report->after.link_speed),
		    report->after.link_width, str_or_empty(report->before.link_speed),
		    report->before.link_width);
}

/* What else is known is in the job's message: a receipt has the number only. */
static const char *error_text(const ResetReport *report)
{
	if (report->result != RESET_UNKNOWN)
		return strerror(-report->error);
	switch (-report->error) {
	case ETIMEDOUT:
		return "it did not end in time";
	case EBUSY:
		return "an earlier one was still at work";
	case EPROTO:
		return "what resets it ended before it answered";
	case EBADMSG:
		return "what resets it gave no answer that makes sense";
	default:
		return strerror(-report->error);
	}
}

char *reset_report_text(const ResetReport *report)
{
	if (report->result == RESET_LINK_WORSE)
		return link_text(report);
	return strf("%s: %s%s%s%s%s%s", BDF_TEXT(&report->bdf),
		    reset_result_to_string(report->result), report->method ? " (" : "",
		    str_or_empty(report->method), report->method ? ")" : "",
		    report->error < 0 ? ": " : "", report->error < 0 ? error_text(report) : "");
}

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
