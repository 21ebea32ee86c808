/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/reset-report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json-fields.h"
#include "util/json.h"
#include "util/text.h"

DEFINE_STRING_TABLE(reset_result, ResetResult, RESET_RESULTS)

/* MAX_ERRNO in the kernel: no errno is above it. */
#define ERRNO_MAX 4095

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

static json_t *look_to_json(const ResetLook *look)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_set_text_if_any(o, "link_speed", look->link_speed);
	if (look->link_width > 0)
		r |= json_object_set_new(o, "link_width", json_integer(look->link_width));
	r |= json_set_text_if_any(o, "power_state", look->power_state);
	return o && r >= 0 ? TAKE_PTR(o) : NULL;
}

json_t *reset_report_to_json(const ResetReport *report)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_set_bdf(o, "address", &report->bdf);
	r |= json_object_set_new(o, "result", json_string(reset_result_to_string(report->result)));
	r |= json_object_set_new(o, "error", json_integer(-report->error));
	r |= json_set_text_if_any(o, "method", report->method);
	r |= json_object_set_new(o, "before", look_to_json(&report->before));
	r |= json_object_set_new(o, "after", look_to_json(&report->after));
	return o && r >= 0 ? TAKE_PTR(o) : NULL;
}

static int look_from_json(const json_t *json, const char *where, ResetLook *into)
{
	static const char *const keys[] = { "link_speed", "link_width", "power_state", NULL };
	JsonReader reader;

	json_reader_begin(&reader, json, where, keys);
	json_read_text_if_any(&reader, "link_speed", &into->link_speed);
	json_read_unsigned_if_any(&reader, "link_width", &into->link_width);
	json_read_text_if_any(&reader, "power_state", &into->power_state);
	return json_reader_end(&reader, NULL);
}

static ResetReport reset_report_take(ResetReport *report)
{
	ResetReport taken = *report;

	*report = (ResetReport){ 0 };
	return taken;
}

int reset_report_from_json(const json_t *json, ResetReport *ret)
{
	static const char *const keys[] = { "address", "result", "error", "method",
					    "before",  "after",	 NULL };
	_cleanup_(reset_report_clear) ResetReport report = { 0 };
	_cleanup_free_ char *result = NULL;
	JsonReader reader;
	int r;

	json_reader_begin(&reader, json, NULL, keys);
	json_read_bdf(&reader, "address", &report.bdf);
	json_read_text(&reader, "result", &result);
	report.error = -(int)json_read_number(&reader, "error", ERRNO_MAX);
	json_read_text_if_any(&reader, "method", &report.method);
	r = json_reader_end(&reader, NULL);
	if (r >= 0)
		r = look_from_json(json_object_get(json, "before"), "before", &report.before);
	if (r >= 0)
		r = look_from_json(json_object_get(json, "after"), "after", &report.after);
	if (r >= 0 && reset_result_from_string(result, &report.result) < 0)
		r = -EBADMSG;
	if (r < 0)
		return r;
	*ret = reset_report_take(&report);
	return 0;
}

void reset_look_clear(ResetLook *look)
{
	free(look->link_speed);
	free(look->power_state);
	*look = (ResetLook){ 0 };
}

void reset_report_clear(ResetReport *report)
{
	free(report->method);
	reset_look_clear(&report->before);
	reset_look_clear(&report->after);
	*report = (ResetReport){ 0 };
}
