/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bind/boot.h"

#include "core/base/json-fields.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

size_t boot_report_count(const BootReport *report, BootOutcome outcome)
{
	size_t n = 0;

	for (size_t i = 0; i < report->n_functions; i++)
		n += report->functions[i].outcome == outcome;
	return n;
}

char *boot_function_text(const BootFunction *f)
{
	return strf("%s (%s, %s): %s%s%s", BDF_TEXT(&f->record->bdf), f->assignment->group_name,
		    f->assignment->domain_name ? f->assignment->domain_name : "kept",
		    boot_outcome_to_string(f->outcome), f->detail ? ": " : "",
		    str_or_empty(f->detail));
}

static json_t *function_to_json(const BootFunction *f)
{
	json_t *o = json_object();

	json_set_bdf(o, "bdf", &f->record->bdf);
	json_set(o, "group", json_text(f->assignment->group_name));
	json_set_text_if_any(o, "domain_uuid", f->assignment->domain_uuid);
	json_set(o, "outcome", json_text(boot_outcome_to_string(f->outcome)));
	json_set_text_if_any(o, "detail", f->detail);
	return o;
}

char *boot_report_to_json(const BootReport *report)
{
	_cleanup_json_ json_t *root = json_object();
	json_t *functions = json_array();
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < report->n_functions; i++)
		json_append(functions, function_to_json(&report->functions[i]));
	json_set(root, "schema", json_text(GPUPASS_SCHEMA_BOOT));
	json_set(root, "functions", functions);
	json_set(root, "notes", json_strv(report->notes));
	text = json_dumps(root, JSON_INDENT(2));
	return strf("%s\n", text);
}

static void boot_report_clear(BootReport *report)
{
	for (size_t i = 0; i < report->n_functions; i++)
		free(report->functions[i].detail);
	free(report->functions);
	assignments_free(report->assignments);
	strv_free(report->notes);
}

DEFINE_FREE(BootReport, boot_report_free, boot_report_clear)
