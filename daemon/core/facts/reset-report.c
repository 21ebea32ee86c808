/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/reset-report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json-struct.h"
#include "util/text.h"

DEFINE_STRING_TABLE(reset_result, ResetResult, RESET_RESULTS)

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

char *reset_report_text(const ResetReport *report)
{
	if (report->result == RESET_LINK_WORSE)
		return link_text(report);
	return strf(
		"%s: %s%s%s%s%s%s", BDF_TEXT(&report->bdf), reset_result_to_string(report->result),
		report->method ? " (" : "", str_or_empty(report->method), report->method ? ")" : "",
		report->error < 0 ? ": " : "", report->error < 0 ? strerror(-report->error) : "");
}

static const JsonMember look_members[] = {
	JSON_TEXT_IF_ANY(ResetLook, link_speed),
	JSON_NUMBER_IF_ANY(ResetLook, link_width, UINT32_MAX),
	JSON_TEXT_IF_ANY(ResetLook, power_state),
	JSON_END,
};

static const JsonMember report_members[] = {
	JSON_BDF_AS(ResetReport, bdf, "address"),
	JSON_ENUM(ResetReport, result, ResetResult, RESET_RESULTS, "is none that there is"),
	JSON_ERRNO(ResetReport, error),
	JSON_TEXT_IF_ANY(ResetReport, method),
	JSON_STRUCT(ResetReport, before, ResetLook, look_members),
	JSON_STRUCT(ResetReport, after, ResetLook, look_members),
	JSON_END,
};

json_t *reset_report_to_json(const ResetReport *report)
{
	return json_struct_write(report_members, report);
}

int reset_report_from_json(const json_t *json, ResetReport *ret)
{
	ResetReport report = { 0 };
	int r = json_struct_read(report_members, json, NULL, &report, NULL);

	if (r < 0)
		reset_report_clear(&report);
	else
		*ret = report;
	return r;
}

void reset_look_clear(ResetLook *look)
{
	json_struct_clear(look_members, look);
	*look = (ResetLook){ 0 };
}

void reset_report_clear(ResetReport *report)
{
	json_struct_clear(report_members, report);
	*report = (ResetReport){ 0 };
}
