/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/receipt.h"

#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

bool receipt_is_good(const Receipt *receipt)
{
	for (size_t i = 0; i < receipt->n_functions; i++)
		if (!reset_result_is_good(receipt->functions[i].result))
			return false;
	return true;
}

static json_t *functions_to_json(const Receipt *receipt)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < receipt->n_functions; i++)
		if (json_array_append_new(a, reset_report_to_json(&receipt->functions[i])) < 0)
			return NULL;
	return TAKE_PTR(a);
}

char *receipt_to_json(const Receipt *receipt)
{
	_cleanup_json_ json_t *root =
		json_pack("{s:s, s:s, s:b, s:{s:s?, s:s?}, s:I, s:I, s:I, s:o*}", "schema",
			  GPUPASS_SCHEMA_RECEIPT, "group", receipt->group, "good",
			  receipt_is_good(receipt), "domain", "uuid", receipt->domain_uuid, "name",
			  receipt->domain_name, "uid", (json_int_t)receipt->caller_uid,
			  "begun_usec", (json_int_t)receipt->begun_usec, "ended_usec",
			  (json_int_t)receipt->ended_usec, "functions", functions_to_json(receipt));
	_cleanup_free_ char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;

	if (!text || !json_object_get(root, "functions"))
		return NULL;
	return strf("%s\n", text);
}
