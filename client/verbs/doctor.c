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
	static const DocumentKind kind = { "the report", GPUPASS_SCHEMA_DOCTOR, NULL };
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
	if (strcmp(status, "fail") == 0)
		return COLOUR_BAD;
	if (strcmp(status, "warn") == 0)
		return COLOUR_MOVING;
	if (strcmp(status, "unknown") == 0)
		return COLOUR_NONE;
	return strcmp(status, "pass") == 0 ? COLOUR_GOOD : COLOUR_DIM;
}

static bool is_trouble(const char *status)
{
	return strcmp(status, "fail") == 0 || strcmp(status, "warn") == 0;
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
	return is_trouble(status) || (strcmp(status, "unknown") == 0 && *remedy);
}

/* True: it was printed. */
static bool print_check(Client *c, const json_t *check)
{
	_cleanup_free_ char *status = document_text(check, "status"),
			    *id = document_text(check, "id");
	_cleanup_free_ char *title = document_text(check, "title"),
			    *remedy = document_text(check, "remedy");
	_cleanup_free_ char *see = document_text(check, "see"),
			    *evidence = document_text(check, "evidence");
	const Terminal *t = &c->out;
	const json_t *line;
	size_t i;

	if (!is_told(status, remedy) && !(c->options->given & OPTION_VERBOSE))
		return false;
	fprintf(t->stream, "%s%-7s%s %s%s%s (%s)\n", terminal_colour(t, status_colour(status)),
		status, terminal_plain(t), terminal_colour(t, COLOUR_BOLD), title,
		terminal_plain(t), id);
	json_array_foreach (json_object_get(check, "what"), i, line) {
		_cleanup_free_ char *text = text_printable(str_or_empty(json_string_value(line)));

		print_wrapped(t, DOCTOR_INDENT, "", text);
	}
	if (*remedy)
		print_wrapped(t, DOCTOR_INDENT, "Remedy: ", remedy);
	if (*see && is_told(status, remedy))
		print_see(c, see);
	else if (*evidence && strcmp(status, "skipped") != 0)
		print_wrapped(t, DOCTOR_INDENT, "By:     ", evidence);
	return true;
}

static void print_suspects(const Terminal *t, const json_t *suspects)
{
	_cleanup_strv_ char **ids = NULL;
	_cleanup_free_ char *joined = NULL;
	const json_t *item;
	size_t i;

	json_array_foreach (suspects, i, item)
		strv_append_take(&ids, text_printable(str_or_empty(json_string_value(item))));
	joined = strv_join(ids, ", ");
	if (ids)
		print_wrapped(t, 2, "Look first at: ", joined);
	else
		print_wrapped(t, 2, "", "Nothing that was found on the host explains it.");
}

static void print_symptom(Client *c, const json_t *symptom)
{
	_cleanup_free_ char *title = document_text(symptom, "title");
	const Terminal *t = &c->out;
	const json_t *hint;
	size_t i;

	fprintf(t->stream, "\n%sSymptom:%s %s\n", terminal_colour(t, COLOUR_BOLD),
		terminal_plain(t), title);
	print_suspects(t, json_object_get(symptom, "suspects"));
	print_wrapped(t, 2, "", "Only the guest can show:");
	json_array_foreach (json_object_get(symptom, "hints"), i, hint) {
		_cleanup_free_ char *cause = document_text(hint, "cause");
		_cleanup_free_ char *remedy = document_text(hint, "remedy");

		print_wrapped(t, 2, "- ", cause);
		print_wrapped(t, 4, "Remedy: ", remedy);
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
	const json_t *checks = json_object_get(report, "checks"), *check;
	const json_t *symptom = json_object_get(report, "symptom");
	bool printed = json_is_object(symptom);
	size_t i;

	json_array_foreach (checks, i, check)
		printed |= print_check(c, check);
	if (json_is_object(symptom))
		print_symptom(c, symptom);
	if (c->options->legend)
		print_counts(c, report, printed);
}

static int check_symptom(Client *c, size_t n_arguments)
{
	if ((c->options->given & OPTION_SYMPTOM) && n_arguments == 0)
		return client_usage(c,
				    "--symptom needs a domain\nRemedy: name it: gpupass doctor "
				    "DOMAIN --symptom=%s",
				    c->options->symptom);
	return 0;
}

int verb_doctor(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_(json_decrefp) json_t *report = NULL;
	bool failed;
	int r;

	if (c->options->given & OPTION_BUNDLE)
		return doctor_bundle(c, c->options->bundle, n_arguments);
	r = check_symptom(c, n_arguments);
	if (r < 0)
		return r;
	r = request_report(c, n_arguments > 0 ? arguments[0] : "", &report);
	if (r < 0)
		return r;
	failed = count(report, "fail") > 0;
	if (c->options->json != JSON_OFF)
		r = json_print(c, TAKE_PTR(report));
	else
		print_report(c, report);
	if (r < 0)
		return r;
	return failed ? GPUPASS_EXIT_FAILED : GPUPASS_EXIT_DONE;
}
