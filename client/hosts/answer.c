/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hosts/answer.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "gpupass/printable.h"

#define BUS_ERROR "org.freedesktop.DBus.Error."
#define BAD_ANSWER BUS_ERROR "InconsistentMessage"
#define UNCHANGED "State:  nothing was changed"
/* Longer lines of ssh, or of the host's own, say no more. */
#define SAID_MAX 240
#define REASON_MAX 400
#define CODE_MAX 255

/* ---- writing ---- */

/* Takes the reference. NULL: out of memory, or a text that is not UTF-8. */
static int write_document(int fd, json_t *document)
{
	_cleanup_free_ char *text = document ? json_dumps(document, JSON_COMPACT) : NULL;

	json_decref(document);
	return text ? text_write(fd, text) : -ENOMEM;
}

int answer_write(int fd, int code, json_t *document, const char *text, const char *notes)
{
	return write_document(fd, json_pack("{s:i, s:O?, s:s, s:s}", "exit", code, "document",
					    document, "text", text, "notes", notes));
}

int answer_write_failure(int fd, const Failure *failure)
{
	return write_document(fd, json_pack("{s:i, s:s, s:s}", "exit", (int)failure->code, "error",
					    failure->name, "message", failure->message));
}

/* ---- cleaning ---- */

/* Length of the sequence that sets a colour, with which the text begins; 0: none. */
static size_t colour_length(const char *s)
{
	size_t n = 2;

	if (s[0] != '\033' || s[1] != '[')
		return 0;
	n += strspn(s + n, "0123456789;");
	return s[n] == 'm' ? n + 1 : 0;
}

char *answer_clean(const char *text, bool colour)
{
	_cleanup_free_ char *clean = NULL;
	size_t size, length;
	FILE *f = open_memstream(&clean, &size);
	bool whole = true;

	if (!f)
		return NULL;
	for (const char *s = text; *s && whole; s += length) {
		_cleanup_free_ char *piece = NULL, *printable = NULL;

		length = colour ? colour_length(s) : 0;
		if (length > 0) {
			fwrite(s, 1, length, f);
			continue;
		}
		length = 1 + strcspn(s + 1, "\033");
		piece = strndup(s, length);
		printable = piece ? printable_copy(piece, "\n\t") : NULL;
		whole = printable && fputs(printable, f) >= 0;
	}
	if (fclose(f) != 0 || !whole)
		return NULL;
	return TAKE_PTR(clean);
}

/* Clean, and no longer than that. In a locale without UTF-8 a character may be cut in two. */
static char *clean_line(const char *line, size_t max)
{
	_cleanup_free_ char *clean = text_printable(line);
	_cleanup_free_ char *cut = clean ? text_cut(clean, max, "...") : NULL;

	return cut ? text_printable(cut) : NULL;
}

/* The last line with something in it, clean; "" where there is none. ssh says at its end why. */
static char *last_line(const CrewResult *result)
{
	const char *begin = result->err ? result->err : "";
	const char *end = begin + result->err_size;
	_cleanup_free_ char *line = NULL;

	while (end > begin && strchr("\r\n\t ", end[-1]))
		end--;
	for (const char *s = begin; s < end; s++)
		if (*s == '\n' || *s == '\0')
			begin = s + 1;
	line = strndup(begin, (size_t)(end - begin));
	return line ? clean_line(line, SAID_MAX) : NULL;
}

/* ---- what went wrong ---- */

static int fail(HostAnswer *answer, const char *name, char *message)
{
	Failure *failure = failure_new(name, GPUPASS_EXIT_NO_DAEMON, message);

	free(message);
	if (!failure)
		return -ENOMEM;
	*answer = (HostAnswer){ .code = GPUPASS_EXIT_NO_DAEMON, .failure = failure };
	return 0;
}

int answer_refuse(HostAnswer *answer, const char *host, const char *what)
{
	answer_clear(answer);
	return fail(answer, BAD_ANSWER,
		    strf("the answer of %s cannot be used\nCause:  it %s\n" UNCHANGED
			 "\nRemedy: install one version of gpupass and gpupassd here and there",
			 host, what));
}

/* Where no connection could be made, ssh knows more than sd-bus does. */
static bool is_connection(const char *name)
{
	return strcmp(name, BUS_ERROR "Disconnected") == 0 ||
	       strcmp(name, BUS_ERROR "FileNotFound") == 0;
}

static int not_connected(HostAnswer *answer, const char *host, const char *verb,
			 const CrewResult *result, const char *name, const char *message)
{
	_cleanup_free_ char *said = last_line(result);
	const char *cause = strstr(message, "\nCause:");

	if (!said)
		return -ENOMEM;
	cause = cause ? cause + strlen("\nCause:") + strspn(cause + strlen("\nCause:"), " ")
		      : "the connection was lost";
	return fail(answer, name,
		    strf("cannot talk to gpupassd\nCause:  %s%.*s\n" UNCHANGED
			 "\nRemedy: ssh asks nothing here; try it alone: gpupass -H %s %s",
			 *said ? "ssh says: " : "",
			 (int)(*said ? strlen(said) : strcspn(cause, "\n")), *said ? said : cause,
			 host, verb));
}

static int too_late(HostAnswer *answer, const char *host, const char *verb,
		    const CrewResult *result, const CrewPlan *plan)
{
	_cleanup_free_ char *limit = duration_format(plan->limit_usec), *said = last_line(result);

	if (!limit || !said)
		return -ENOMEM;
	return fail(
		answer, BUS_ERROR "Timeout",
		strf("no answer within %s%s%s\n" UNCHANGED
		     "\nRemedy: give it longer with --timeout, or try it alone: gpupass -H %s %s",
		     limit, *said ? "\nCause:  ssh says: " : "", said, host, verb));
}

/* It did not end by itself, or with nothing said. */
static int ended(HostAnswer *answer, const char *host, const char *verb, const CrewResult *result,
		 const CrewPlan *plan)
{
	switch (result->error) {
	case -ETIMEDOUT:
		return too_late(answer, host, verb, result, plan);
	case -EFBIG:
		return fail(
			answer, BUS_ERROR "LimitsExceeded",
			strf("its answer is too large\nCause:  more than %zu MiB of one host, or "
			     "%zu MiB of all\n" UNCHANGED
			     "\nRemedy: ask it alone: gpupass -H %s %s",
			     plan->out_max >> 20, plan->all_max >> 20, host, verb));
	case 0:
		return fail(answer, BUS_ERROR "Failed",
			    strf("the process that asked it ended early\n" UNCHANGED
				 "\nRemedy: try it alone: gpupass -H %s %s",
				 host, verb));
	default:
		return fail(answer, BUS_ERROR "Failed",
			    strf("no process could be started to ask it\nCause:  %s\n" UNCHANGED
				 "\nRemedy: try it alone: gpupass -H %s %s",
				 strerror(-result->error), host, verb));
	}
}

/* ---- reading ---- */

static int take_failure(json_t *answer, const char *host, const char *verb,
			const CrewResult *result, HostAnswer *ret)
{
	const char *name, *message;
	int code;

	if (json_unpack_ex(answer, NULL, JSON_STRICT, "{s:i, s:s, s:s}", "exit", &code, "error",
			   &name, "message", &message) < 0 ||
	    code <= GPUPASS_EXIT_DONE || code > CODE_MAX)
		return -EBADMSG;
	if (is_connection(name))
		return not_connected(ret, host, verb, result, name, message);
	*ret = (HostAnswer){ .code = code,
			     .reached = code != GPUPASS_EXIT_NO_DAEMON,
			     .failure = failure_new(name, (GpupassExit)code, message) };
	return ret->failure ? 0 : -ENOMEM;
}

static int take_result(json_t *answer, bool colour, HostAnswer *ret)
{
	const char *text, *notes;
	json_t *document;
	int code;

	if (json_unpack_ex(answer, NULL, JSON_STRICT, "{s:i, s:o, s:s, s:s}", "exit", &code,
			   "document", &document, "text", &text, "notes", &notes) < 0 ||
	    code < 0 || code > CODE_MAX || !(json_is_object(document) || json_is_null(document)))
		return -EBADMSG;
	*ret = (HostAnswer){ .code = code, .reached = true };
	ret->document = json_is_object(document) ? json_incref(document) : NULL;
	ret->text = answer_clean(text, colour);
	ret->notes = answer_clean(notes, colour);
	if (ret->text && ret->notes)
		return 0;
	answer_clear(ret);
	return -ENOMEM;
}

int answer_read(const char *host, const char *verb, const CrewResult *result, const CrewPlan *plan,
		bool colour, HostAnswer *ret)
{
	_cleanup_(json_decrefp) json_t *answer = NULL;
	int r;

	*ret = (HostAnswer){ 0 };
	if (result->error < 0 || result->status < 0 || result->out_size == 0)
		return ended(ret, host, verb, result, plan);
	answer = json_loadb(result->out, result->out_size, JSON_REJECT_DUPLICATES, NULL);
	r = json_object_get(answer, "error") ? take_failure(answer, host, verb, result, ret)
					     : take_result(answer, colour, ret);
	return r == -EBADMSG ? answer_refuse(ret, host, "is not what gpupass says") : r;
}

/* ---- using it ---- */

char *answer_reason(const HostAnswer *answer)
{
	const char *message = answer->failure->message, *cause = strstr(message, "\nCause:");
	_cleanup_free_ char *line = NULL;

	if (cause)
		cause += strlen("\nCause:") + strspn(cause + strlen("\nCause:"), " ");
	line = strf("%.*s%s%.*s", (int)strcspn(message, "\n"), message, cause ? ": " : "",
		    cause ? (int)strcspn(cause, "\n") : 0, cause ? cause : "");
	return line ? clean_line(line, REASON_MAX) : NULL;
}

void answer_clear(HostAnswer *answer)
{
	failure_free(answer->failure);
	json_decref(answer->document);
	free(answer->text);
	free(answer->notes);
	*answer = (HostAnswer){ 0 };
}
