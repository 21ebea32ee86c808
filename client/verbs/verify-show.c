/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/verify-show.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"

/* --- the guest's report --- */

/* "1 h 2 min old", ", of an earlier boot" */
static char *age_text(const json_t *report)
{
	const json_t *age = json_object_get(report, "age_usec");
	_cleanup_free_ char *time =
		json_is_integer(age) ? duration_format((uint64_t)json_integer_value(age)) : NULL;
	const char *whose = strcmp(json_text_of(report, "state"), "earlier-boot") == 0
				    ? "of an earlier boot, "
			    : strcmp(json_text_of(report, "state"), "other-domain") == 0
				    ? "of another machine, "
				    : "";

	return time ? strf("%s%s old", whose, time)
		    : strf("%swritten in the future by the guest's clock", whose);
}

/* "2 GPUs, active links 4 4, driver 535.183.06: as expected" */
static char *checked_text(const json_t *report)
{
	_cleanup_free_ char *driver = document_text(report, "driver");
	_cleanup_strv_ char **links = NULL;
	_cleanup_free_ char *joined = NULL;
	const json_t *item;
	size_t i;

	json_array_foreach (json_object_get(report, "links"), i, item)
		strv_appendf(&links, "%lld", (long long)json_integer_value(item));
	joined = strv_join(links, " ");
	return strf(
		"%lld GPU%s, active links %s, driver %s: %s", json_number_of(report, "gpus"),
		json_number_of(report, "gpus") == 1 ? "" : "s", *joined ? joined : "none", driver,
		json_is_set(report, "as_expected") ? "as expected" : "not what the host gave it");
}

void verify_print_guest_report(Client *c, const json_t *report)
{
	_cleanup_free_ char *age = NULL, *stage = NULL, *detail = NULL, *said = NULL;

	if (!json_is_object(report) || strcmp(json_text_of(report, "state"), "none") == 0)
		return;
	if (strcmp(json_text_of(report, "state"), "unreadable") == 0) {
		fprintf(c->out.stream, "  Guest's report: not readable\n");
		return;
	}
	age = age_text(report);
	stage = document_text(report, "stage");
	detail = document_text(report, "detail");
	said = strcmp(stage, "checked") == 0 ? checked_text(report) : TAKE_PTR(stage);
	fprintf(c->out.stream, "  Guest's report (%s): %s%s%s\n", age, said, *detail ? ": " : "",
		detail);
}

/* --- the workload --- */

static Colour workload_colour(const char *verdict)
{
	if (strcmp(verdict, "pass") == 0)
		return COLOUR_GOOD;
	return strcmp(verdict, "unknown") == 0 ? COLOUR_MOVING : COLOUR_BAD;
}

/* 0000:41:00.0 to 0000:61:00.0  52.8 GB/s  93 %  pass */
static void print_copy(Client *c, const json_t *copy, long long nominal)
{
	const Terminal *t = &c->out;
	_cleanup_free_ char *from = document_text(copy, "from"), *to = document_text(copy, "to");
	_cleanup_free_ char *verdict = document_text(copy, "verdict");
	long long mbps = json_number_of(copy, "mbps");

	fprintf(t->stream, "  %s to %s  %lld.%lld GB/s", from, to, mbps / 1000, mbps % 1000 / 100);
	if (nominal > 0)
		fprintf(t->stream, "  %lld %% of %lld.%lld", mbps * 100 / nominal, nominal / 1000,
			nominal % 1000 / 100);
	fprintf(t->stream, "  %s%s%s\n", terminal_colour(t, workload_colour(verdict)), verdict,
		terminal_plain(t));
}

static void print_copies(Client *c, const json_t *workload)
{
	const json_t *copies = json_object_get(workload, "copies"), *copy;
	size_t i;

	json_array_foreach (copies, i, copy)
		print_copy(c, copy, json_number_of(workload, "nominal_mbps"));
}

void verify_print_workload(Client *c, const json_t *workload)
{
	const Terminal *t = &c->out;
	_cleanup_free_ char *verdict = NULL, *program = NULL, *reason = NULL, *remedy = NULL;
	long long ring = json_number_of(workload, "ring_mbps");

	if (!json_is_object(workload))
		return;
	verdict = document_text(workload, "verdict");
	program = document_text(workload, "program");
	reason = document_text(workload, "reason");
	remedy = document_text(workload, "remedy");
	fprintf(t->stream, "  Workload%s%s: %s%s%s", *program ? ", by " : "", program,
		terminal_colour(t, workload_colour(verdict)), verdict, terminal_plain(t));
	if (ring > 0)
		fprintf(t->stream, ", bus bandwidth %lld.%lld GB/s", ring / 1000,
			ring % 1000 / 100);
	fputc('\n', t->stream);
	print_copies(c, workload);
	if (*reason)
		fprintf(t->stream, "  Reason: %s\n", reason);
	if (*remedy)
		fprintf(t->stream, "  Remedy: %s\n", remedy);
}

bool verify_workload_passed(const json_t *workload)
{
	return !json_is_object(workload) || strcmp(json_text_of(workload, "verdict"), "pass") == 0;
}
