/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/receipt.h"

#include <limits.h>

#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

bool receipt_has_failure(const Receipt *receipt)
{
	return SOME(receipt->functions, receipt->n_functions, !reset_result_is_good(it->result));
}

bool receipt_is_good(const Receipt *receipt)
{
	return !SOME(receipt->boards, receipt->n_boards, !it->reset) &&
	       !receipt_has_failure(receipt);
}

static json_t *domain_to_json(const char *uuid, const char *name)
{
	return json_build("{s:o, s:o}", "uuid", json_string_or_null(uuid), "name",
			  json_string_or_null(name));
}

static json_t *board_to_json(const ReceiptBoard *board)
{
	json_t *o = json_build("{s:s, s:b, s:o, s:s}", "address", BDF_TEXT(&board->bdf), "reset",
			       board->reset, "tenant",
			       domain_to_json(board->tenant_uuid, board->tenant_name), "memory",
			       memory_clear_to_string(board->memory));

	json_set_text_if_any(o, "memory_why", board->memory_why);
	if (board->accepted)
		json_set(o, "accepted", json_true());
	return o;
}

json_t *receipt_document(const Receipt *receipt, unsigned number)
{
	/* null when nobody gets it yet. */
	json_t *next = receipt->next_uuid ? domain_to_json(receipt->next_uuid, receipt->next_name)
					  : json_null();
	return json_build(
		"{s:s, s:I, s:s, s:b, s:b, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "schema",
		GPUPASS_SCHEMA_RECEIPT, "number", (json_int_t)number, "group", receipt->group,
		"good", receipt_is_good(receipt), "together", receipt->together, "domain",
		domain_to_json(receipt->domain_uuid, receipt->domain_name), "next", next, "uid",
		(json_int_t)receipt->caller_uid, "begun_usec", (json_int_t)receipt->begun_usec,
		"ended_usec", (json_int_t)receipt->ended_usec, "boards",
		JSON_ARRAY(receipt->boards, receipt->n_boards, board_to_json(it)), "functions",
		JSON_ARRAY(receipt->functions, receipt->n_functions,
			   json_struct_write(reset_report_members, it)));
}

/* ---- read again ---- */

static const json_t *board_of(const json_t *receipt, const Bdf *bdf)
{
	const json_t *board;
	size_t i;

	json_array_foreach (json_object_get(receipt, "boards"), i, board)
		if (str_equal(json_string_value(json_object_get(board, "address")), BDF_TEXT(bdf)))
			return board;
	return NULL;
}

/* The leading function, or else the first one of the board that is at fault. */
static void read_function(const json_t *receipt, LastReset *board)
{
	const json_t *function;
	size_t i;

	json_array_foreach (json_object_get(receipt, "functions"), i, function) {
		ResetReport report = { 0 };
		int r = json_struct_read(reset_report_members, function, NULL, &report, NULL);
		bool tells = r == 0 && bdf_same_slot(&report.bdf, &board->bdf) &&
			     (!board->what || !reset_result_is_good(report.result));
		bool last = tells && !reset_result_is_good(report.result);

		if (tells) {
			free(board->what);
			board->what = reset_report_text(&report);
		}
		reset_report_clear(&report);
		if (last)
			break;
	}
}

void receipt_read_last(const json_t *receipt, LastReset *boards, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const json_t *board = boards[i].known ? NULL : board_of(receipt, &boards[i].bdf);

		if (!board)
			continue;
		boards[i].known = true;
		boards[i].reset = json_is_true(json_object_get(board, "reset"));
		read_function(receipt, &boards[i]);
	}
}

/* ---- files ---- */

char *receipt_file_name(unsigned number, const char *group)
{
	return strf("%0*u-%s.json", RECEIPT_DIGITS, number, group);
}

unsigned receipt_file_number(const char *name)
{
	_cleanup_free_ char *digits = xstrndup(name, strspn(name, "0123456789"));
	unsigned long long number = 0;

	if (strlen(digits) != RECEIPT_DIGITS || name[RECEIPT_DIGITS] != '-' ||
	    str_to_unsigned(digits, 10, UINT_MAX, &number) < 0)
		return 0;
	return (unsigned)number;
}

/* Only what is read again. */
static int receipt_read(const json_t *document, void **ret, char **ret_why)
{
	if (!json_is_array(json_object_get(document, "boards")) ||
	    !json_is_array(json_object_get(document, "functions")) ||
	    !json_is_string(json_object_get(document, "group")))
		return json_refuse(ret_why, "it has no group, no boards or no functions");
	*ret = json_incref((json_t *)document);
	return 0;
}

static void receipt_free(void *receipt)
{
	json_decref(receipt);
}

/* Before version 2 receipts had no number, and the time in their names. */
static bool is_name(const char *name, const void *receipt)
{
	const char *group = json_string_value(json_object_get(receipt, "group"));
	const json_t *number = json_object_get(receipt, "number");
	_cleanup_free_ char *end = strf("-%s.json", group);
	json_int_t said = number ? json_integer_value(number) : 0;

	return str_ends_with(name, end) && said == (json_int_t)receipt_file_number(name);
}

#define NOT_KNOWN "what it says of a reset is not known"

const RecordKind receipt_kind = {
	.folder = "receipts",
	.schema = GPUPASS_SCHEMA_RECEIPT_2,
	.most = 256U * 1024, /* of the largest group, with room */
	.read = receipt_read,
	.free = receipt_free,
	.is_name = is_name,
	.misnamed = "its name is not its number and its group",
	.so = { NOT_KNOWN, NOT_KNOWN, NOT_KNOWN },
	.remedy = {
		[RECORD_NEWER] = RECORD_NEWER_REMEDY ", or move the file away",
		[RECORD_DAMAGED] = "move the file away",
		[RECORD_UNREAD] = "see the kernel's log for why, or move the file away",
	},
};

#include "receipt.inc"
