/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Apart from the rest of a report, which gpupass-mover uses without a JSON library. */
#include "core/base/json-struct.h"
#include "core/facts/reset-report.h"

static const JsonMember look_members[] = {
	JSON_TEXT_IF_ANY(ResetLook, link_speed),
	JSON_NUMBER_IF_ANY(ResetLook, link_width, UINT32_MAX),
	JSON_TEXT_IF_ANY(ResetLook, power_state),
	JSON_END,
};

const JsonMember reset_report_members[] = {
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
	return json_struct_write(reset_report_members, report);
}

int reset_report_from_json(const json_t *json, ResetReport *ret)
{
	ResetReport report = { 0 };
	int r = json_struct_read(reset_report_members, json, NULL, &report, NULL);

	if (r < 0)
		reset_report_clear(&report);
	else
		*ret = report;
	return r;
}
