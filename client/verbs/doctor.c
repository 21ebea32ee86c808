/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass doctor: what is wrong, why, and what to do; nothing is changed. */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "util/xalloc.h"
#include "verbs/doctor.h"
#include "verbs/verbs.h"

#define DOCTOR_INDENT 8 /* below the title */

static int request_report(Client *c, const char *domain, json_t **ret)
{
	static const DocumentKind kind = { .what = "the report", .schema = GPUPASS_SCHEMA_DOCTOR };
	_cleanup_message_ sd_bus_message *call = NULL;
	int r;

	if (c->options->given & OPTION_SYMPTOM)
		r = bus_new_manager_call(c, "Doctor", &call, "sa{sv}", domain, 1,
					 GPUPASS_OPTION_SYMPTOM, "s", c->options->symptom);
	else
		r = bus_new_manager_call(c, "Doctor", &call, "sa{sv}", domain, 0);
	/* A GPU that does not answer uses its whole deadline. */
	return r < 0 ? r : document_call(c, call, BUS_TIMEOUT_ACT_USEC, &kind, ret);
}

static void print_wrapped(const Terminal *t, size_t indent, const char *label, const char *text)
{
	fprintf(t->stream, "%*s%s", (int)indent, "", label);
	terminal_prose(t, indent + strlen(label), indent + strlen(label), text);
}

static Colour status_colour(const char *status)
{
	static const struct {
		const char *status;
		Colour colour;
	} colours[] = {
		{ "fail", COLOUR_BAD },
		{ "warn", COLOUR_MOVING },
		{ "unknown", COLOUR_NONE },
		{ "pass", COLOUR_GOOD },
	};

	for (size_t i = 0; i < ELEMENTS(colours); i++)
		if (strcmp(colours[i].status, status) == 0)
			return colours[i].colour;
	return COLOUR_DIM;
}

/* A heading of the installed file: with spaces less finds it, whatever the case. */
static void print_see(Client *c, const char *anchor)
{
	_cleanup_free_ char *line = strf("%s/TROUBLESHOOTING.md, \"%s\"", c->doc_directory, anchor);

	for (char *at = strrchr(line, ','); *at; at++)
		if (*at == '-')
			*at = ' ';
	print_wrapped(&c->out, DOCTOR_INDENT, "See:    ", line);
}

/* What is not in order, and what is not known although something can be done about it. */
static bool is_told(const char *status, const char *remedy)
{
	return strcmp(status, "fail") == 0 || strcmp(status, "warn") == 0 ||
	       (strcmp(status, "unknown") == 0 && *remedy);
}

/* True: it was printed. */
static bool print_check(Client *c, const json_t *check)
{
	const char *status = json_text_of(check, "status"), *remedy = json_text_of(check, "remedy");
	const char *see = json_text_of(check, "see"), *evidence = json_text_of(check, "evidence");
	bool told = is_told(status, remedy);
	const Terminal *t = &c->out;
	const json_t *line;

	if (!told && !(c->options->given & OPTION_VERBOSE))
		return false;
	fprintf(t->stream, "%s%-7s%s %s%s%s (%s)\n", terminal_colour(t, status_colour(status)),
		status, terminal_plain(t), terminal_colour(t, COLOUR_BOLD),
		json_text_of(check, "title"), terminal_plain(t), json_text_of(check, "id"));
	JSON_EACH (line, check, "what")
		print_wrapped(t, DOCTOR_INDENT, "", str_or_empty(json_string_value(line)));
	if (*remedy)
		print_wrapped(t, DOCTOR_INDENT, "Remedy: ", remedy);
	if (*see && told)
		print_see(c, see);
	else if (*evidence && strcmp(status, "skipped") != 0)
		print_wrapped(t, DOCTOR_INDENT, "By:     ", evidence);
	return true;
}

static void print_suspects(const Terminal *t, const json_t *symptom)
{
	_cleanup_strv_ char **ids = NULL;
	_cleanup_free_ char *joined = NULL;
	const json_t *item;

	JSON_EACH (item, symptom, "suspects")
		strv_append(&ids, str_or_empty(json_string_value(item)));
	joined = strv_join(ids, ", ");
	if (ids)
		print_wrapped(t, 2, "Look first at: ", joined);
	else
		print_wrapped(t, 2, "", "Nothing that was found on the host explains it.");
}

static void print_symptom(const Terminal *t, const json_t *symptom)
{
	const json_t *hint;

	fprintf(t->stream, "\n%sSymptom:%s %s\n", terminal_colour(t, COLOUR_BOLD),
		terminal_plain(t), json_text_of(symptom, "title"));
	print_suspects(t, symptom);
	print_wrapped(t, 2, "", "Only the guest can show:");
	JSON_EACH (hint, symptom, "hints") {
		print_wrapped(t, 2, "- ", json_text_of(hint, "cause"));
		print_wrapped(t, 4, "Remedy: ", json_text_of(hint, "remedy"));
	}
}

static long long count(const json_t *report, const char *status)
{
	return json_number_of(json_object_get(report, "counts"), status);
}

static void print_counts(Client *c, const json_t *report, bool printed)
{
	bool verbose = c->options->given & OPTION_VERBOSE;
	long long unknown = count(report, "unknown"), skipped = count(report, "skipped");
	_cleanup_free_ char *not_known =
		unknown > 0 ? strf(", %lld unknown", unknown) : xstrdup("");
	_cleanup_free_ char *left_out = skipped > 0 ? strf(", %lld skipped", skipped) : xstrdup("");
	_cleanup_free_ char *line =
		strf("%zu checks: %lld failed, %lld with a warning, %lld passed%s%s.%s",
		     json_array_size(json_object_get(report, "checks")), count(report, "fail"),
		     count(report, "warn"), count(report, "pass"), not_known, left_out,
		     unknown + skipped > 0 && !verbose ? " Why: --verbose" : "");

	if (printed)
		fputc('\n', c->out.stream);
	print_wrapped(&c->out, 0, "", line);
}

static void print_report(Client *c, const json_t *report)
{
	const json_t *symptom = json_object_get(report, "symptom"), *check;
	bool printed = json_is_object(symptom);

	JSON_EACH (check, report, "checks")
		printed |= print_check(c, check);
	if (json_is_object(symptom))
		print_symptom(&c->out, symptom);
	if (c->options->legend)
		print_counts(c, report, printed);
}

int verb_doctor(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_(json_decrefp) json_t *report = NULL;
	int r;

	if (c->options->given & OPTION_BUNDLE)
		return doctor_bundle(c, c->options->bundle, n_arguments);
	if (c->options->symptom && n_arguments == 0)
		return client_usage(c,
				    "--symptom needs a domain\nRemedy: name it: gpupass doctor "
				    "DOMAIN --symptom=%s",
				    c->options->symptom);
	r = request_report(c, n_arguments > 0 ? arguments[0] : "", &report);
	if (r >= 0)
		r = json_show(c, report, print_report);
	if (r < 0)
		return r;
	return count(report, "fail") > 0 ? GPUPASS_EXIT_FAILED : GPUPASS_EXIT_DONE;
}
