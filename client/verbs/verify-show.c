/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/verify-show.h"

#include <string.h>

#include "base/text.h"
#include "bus/document.h"

static long long number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static bool is_text(const json_t *object, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value && strcmp(value, text) == 0;
}

/* --- the guest's report --- */

/* "1 h 2 min old", ", of an earlier boot" */
static char *age_text(const json_t *report)
{
	const json_t *age = json_object_get(report, "age_usec");
	_cleanup_free_ char *time =
		json_is_integer(age) ? duration_format((uint64_t)json_integer_value(age)) : NULL;
	const char *whose = is_text(report, "state", "earlier-boot")   ? "of an earlier boot, "
			    : is_text(report, "state", "other-domain") ? "of another machine, "
								       : "";

	if (json_is_integer(age) && !time)
		return NULL;
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

	json_array_foreach (json_object_get(report, "links"), i, item) {
		_cleanup_free_ char *text = strf("%lld", (long long)json_integer_value(item));

		strv_append(&links, text);
	}
	joined = strv_join(links, " ");
	if (!driver)
		return NULL;
	return strf("%lld GPU%s, active links %s, driver %s: %s", number(report, "gpus"),
		    number(report, "gpus") == 1 ? "" : "s", *joined ? joined : "none", driver,
		    json_is_true(json_object_get(report, "as_expected"))
			    ? "as expected"
			    : "not what the host gave it");
}

void verify_print_guest_report(Client *c, const json_t *report)
{
	_cleanup_free_ char *age = NULL, *stage = NULL, *detail = NULL, *said = NULL;

	if (!json_is_object(report) || is_text(report, "state", "none"))
		return;
	if (is_text(report, "state", "unreadable")) {
		fprintf(c->out.stream, "  Guest's report: not readable\n");
		return;
	}
	age = age_text(report);
	stage = document_text(report, "stage");
	detail = document_text(report, "detail");
	said = strcmp(stage, "checked") == 0 ? checked_text(report) : strf("%s", stage);
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
	long long mbps = number(copy, "mbps");

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

	json_array_foreach (copies, i, copy) {
		print_copy(c, copy, number(workload, "nominal_mbps"));
	}
}

void verify_print_workload(Client *c, const json_t *workload)
{
	const Terminal *t = &c->out;
	_cleanup_free_ char *verdict = NULL, *program = NULL, *reason = NULL, *remedy = NULL;
	long long ring = number(workload, "ring_mbps");

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
	return !json_is_object(workload) || is_text(workload, "verdict", "pass");
}
