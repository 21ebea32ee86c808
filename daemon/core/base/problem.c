/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/base/problem.h"

#include <stdarg.h>

#include "util/text.h"
#include "util/xalloc.h"

/* "Cause:  ", "State:  " and "Remedy: " are equally wide. */
#define LABEL_WIDTH 8

int problem_refuse_with(Problem **ret_problem, GpupassError error, ProblemText text)
{
	Problem *problem = xmalloc(sizeof(*problem));

	*problem = (Problem){
		.error = error,
		.reason = text.reason,
		.cause = text.cause,
		.state = text.state,
		.remedy = text.remedy,
	};
	*ret_problem = problem;
	return PROBLEM;
}

int problem_set(Problem **ret_problem, GpupassError error, const char *reason, ...)
{
	char *text;
	va_list ap;

	va_start(ap, reason);
	text = vstrf(reason, ap);
	va_end(ap);
	return problem_refuse(ret_problem, error, .reason = text);
}

int problem_errno(Problem **ret_problem, int error, const char *reason, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, reason);
	text = vstrf(reason, ap);
	va_end(ap);
	return problem_refuse(ret_problem, GPUPASS_ERROR_INTERNAL,
			      .reason = strf("%s: %s", text, strerror(-error)),
			      .remedy = xstrdup("see journalctl -u gpupassd; report it with what "
						"gpupass doctor --bundle=FILE writes"));
}

static void replace_part(char **part, const char *format, va_list ap) _printf_(2, 0);

static void replace_part(char **part, const char *format, va_list ap)
{
	/* The arguments may be of the old part. */
	char *text = vstrf(format, ap);

	free(*part);
	*part = text;
}

int problem_state(Problem *problem, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	replace_part(&problem->state, format, ap);
	va_end(ap);
	return PROBLEM;
}

int problem_remedy(Problem *problem, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	replace_part(&problem->remedy, format, ap);
	va_end(ap);
	return PROBLEM;
}

/* "\nLabel:  first line\n        further lines" */
static void print_part(FILE *f, const char *label, const char *text)
{
	size_t n = strlen(text);

	while (n > 0 && text[n - 1] == '\n')
		n--;
	fprintf(f, "\n%-*s", LABEL_WIDTH, label);
	for (size_t i = 0; i < n; i++) {
		fputc(text[i], f);
		if (text[i] == '\n')
			fprintf(f, "%*s", LABEL_WIDTH, "");
	}
}

char *problem_message(const Problem *problem, const char *prefix)
{
	char *message;
	size_t size;
	FILE *f = xmemstream(&message, &size);

	if (prefix)
		fprintf(f, "%s: ", prefix);
	fputs(problem->reason, f);
	if (!str_is_empty(problem->cause))
		print_part(f, "Cause:", problem->cause);
	print_part(f,
		   "State:", str_is_empty(problem->state) ? "nothing was changed" : problem->state);
	if (!str_is_empty(problem->remedy))
		print_part(f, "Remedy:", problem->remedy);
	xmemstream_end(&f);
	return message;
}

const char *problem_dbus_name(GpupassError error)
{
	static const char *const names[] = {
#define X(enumerator, name, code) [enumerator] = GPUPASS_ERROR_PREFIX name,
		GPUPASS_ERRORS(X)
#undef X
	};
	size_t i = (size_t)error;

	return i < ELEMENTS(names) ? names[i] : names[GPUPASS_ERROR_INTERNAL];
}

#include "problem.inc"
