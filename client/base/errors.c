/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/errors.h"

#include "base/text.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/xalloc.h"

#define BUS_ERROR "org.freedesktop.DBus.Error."

/* Longer words before a colon are no label. */
#define PART_LABEL_MAX 8
#define REMEDY_VERSIONS                                                                            \
	"gpupass and gpupassd are of different versions; install one version of both, then: "      \
	"systemctl restart gpupassd"

/*
 * Errors of the bus and of its libraries, with the text that an operator needs. Without state and
 * remedy the reason says it all, and the bus's own words are not told.
 */
typedef struct BusError {
	const char
		*names; /* behind BUS_ERROR, or whole; one that ends in '.' is of all behind it */
	GpupassExit code;
	const char *reason;
	const char *state;
	const char *remedy;
} BusError;

static const BusError bus_errors[] = {
	{ "ServiceUnknown NameHasNoOwner", GPUPASS_EXIT_NO_DAEMON, "gpupassd is not running",
	  "nothing was changed", "start it with: systemctl start gpupassd" },
	{ "Spawn. org.freedesktop.systemd1.", GPUPASS_EXIT_NO_DAEMON,
	  "gpupassd could not be started", "nothing was changed",
	  "see: systemctl status gpupassd" },
	{ "NoReply Timeout TimedOut", GPUPASS_EXIT_NO_DAEMON, "gpupassd did not answer",
	  "not known; a job may be running", "see: systemctl status gpupassd; then: gpupass jobs" },
	{ "Disconnected", GPUPASS_EXIT_NO_DAEMON, "the connection to the bus was lost",
	  "not known; a job may be running", "look at it with: gpupass jobs" },
	/* By the bus's policy: the daemon's own refusals have more lines. */
	{ "AccessDenied", GPUPASS_EXIT_NOT_PERMITTED,
	  "only root and members of the group " GPUPASS_GROUP " may use it: "
	  "usermod -aG " GPUPASS_GROUP " USER, then a new login",
	  NULL, NULL },
	{ "InteractiveAuthorizationRequired", GPUPASS_EXIT_NOT_PERMITTED,
	  "not permitted without a password", "nothing was changed",
	  "run it as root, or without --no-ask-password" },
	{ "AuthFailed", GPUPASS_EXIT_NOT_PERMITTED, "not permitted to use the bus",
	  "nothing was changed", "run it as root" },
	{ "InvalidArgs", GPUPASS_EXIT_USAGE, "gpupassd refused the arguments",
	  "nothing was changed", NULL },
	{ "LimitsExceeded", GPUPASS_EXIT_BUSY, "too many requests", "nothing was changed",
	  "try again later" },
	{ "UnknownMethod UnknownInterface UnknownProperty", GPUPASS_EXIT_DEPENDENCY,
	  "gpupassd cannot do this", "nothing was changed", REMEDY_VERSIONS },
	{ "UnknownObject", GPUPASS_EXIT_DEPENDENCY, "gpupassd does not have this object",
	  "nothing was changed", REMEDY_VERSIONS },
	{ "InconsistentMessage", GPUPASS_EXIT_DEPENDENCY,
	  "gpupassd sent an answer that cannot be read", NULL, REMEDY_VERSIONS },
};

static const struct {
	const char *name;
	GpupassExit code;
} own_errors[] = {
#define X(enumerator, name, code) [enumerator] = { GPUPASS_ERROR_PREFIX name, code },
	GPUPASS_ERRORS(X)
#undef X
};

const char *error_name(GpupassError error)
{
	return own_errors[error].name;
}

static const BusError *find_bus_error(const char *name)
{
	for (size_t i = 0; i < ELEMENTS(bus_errors); i++) {
		_cleanup_strv_ char **names = NULL;

		strv_split(bus_errors[i].names, " ", &names);
		for (char **n = names; *n; n++) {
			bool whole = str_starts_with(*n, "org.");
			_cleanup_free_ char *full = strf("%s%s", whole ? "" : BUS_ERROR, *n);

			if (str_ends_with(full, ".") ? str_starts_with(name, full)
						     : strcmp(name, full) == 0)
				return &bus_errors[i];
		}
	}
	return NULL;
}

GpupassExit error_exit_code(const char *name)
{
	const BusError *b = find_bus_error(name);

	if (b)
		return b->code;
	for (size_t i = 0; i < ELEMENTS(own_errors); i++)
		if (strcmp(own_errors[i].name, name) == 0)
			return own_errors[i].code;
	return GPUPASS_EXIT_FAILED;
}

Failure *failure_new(const char *name, GpupassExit code, const char *message)
{
	Failure *f = xcalloc(1, sizeof(*f));

	f->code = code;
	f->name = xstrdup(name);
	f->message = xstrdup(message);
	return f;
}

/* Cause, state and remedy of an error that the bus made. */
static char *bus_error_text(const BusError *b, const char *message)
{
	return strf("%s%s%s%s%s%s%s", b->reason,
		    str_is_empty(message) ? "" : "\nCause:  ", str_is_empty(message) ? "" : message,
		    b->state ? "\nState:  " : "", b->state ? b->state : "",
		    b->remedy ? "\nRemedy: " : "", b->remedy ? b->remedy : "");
}

Failure *failure_from_bus(const char *name, const char *message)
{
	_cleanup_free_ char *text = NULL;
	const BusError *b = find_bus_error(name);
	Failure *failure;
	bool plain = false;

	/* A text of several lines comes from the daemon, and says more than the table. */
	if (b && !(message && strchr(message, '\n'))) {
		plain = !b->state && !b->remedy;
		text = bus_error_text(b, plain ? NULL : message);
	} else {
		text = xstrdup(str_is_empty(message) ? "gpupassd gave no reason" : message);
	}
	failure = failure_new(name, error_exit_code(name), text);
	failure->plain = plain;
	return failure;
}

Failure *failure_from_errno(int error, const char *what)
{
	static const struct {
		const char *name, *remedy;
		GpupassExit code;
		int errors[5];
	} rows[] = {
		{ BUS_ERROR "FileNotFound",
		  "start D-Bus: systemctl start dbus.socket; then: systemctl start gpupassd",
		  GPUPASS_EXIT_NO_DAEMON,
		  { ENOENT, ENOTDIR, ECONNREFUSED, ENOMEDIUM } },
		{ BUS_ERROR "Disconnected",
		  "see: systemctl status gpupassd; then: gpupass jobs",
		  GPUPASS_EXIT_NO_DAEMON,
		  { ETIMEDOUT, ECONNRESET, ENOTCONN, EPIPE, ESHUTDOWN } },
		{ BUS_ERROR "AccessDenied",
		  "run it as root",
		  GPUPASS_EXIT_NOT_PERMITTED,
		  { EACCES, EPERM } },
		{ BUS_ERROR "InconsistentMessage",
		  REMEDY_VERSIONS,
		  GPUPASS_EXIT_DEPENDENCY,
		  { EBADMSG } },
	};
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		for (size_t k = 0; k < ELEMENTS(rows[i].errors) && rows[i].errors[k]; k++)
			if (rows[i].errors[k] == error) {
				text = strf("%s\nCause:  %s\nRemedy: %s", what, strerror(error),
					    rows[i].remedy);
				return failure_new(rows[i].name, rows[i].code, text);
			}
	text = strf("%s\nCause:  %s", what, strerror(error));
	return failure_new(BUS_ERROR "Failed", GPUPASS_EXIT_FAILED, text);
}

/* What went wrong, in the colour of a failure. */
static void print_first(const Terminal *t, const char *line)
{
	_cleanup_free_ char *text =
		strf("%sgpupass: %s%s", terminal_colour(t, COLOUR_BAD), line, terminal_plain(t));

	terminal_prose(t, 0, 2, text);
}

/* "Cause:  …", and what goes on with it below the first word after the label. */
static void print_part(const Terminal *t, const char *line)
{
	size_t label = strcspn(line, ":"), indent = 2;

	if (label < PART_LABEL_MAX && line[label] == ':')
		indent += label + 1 + strspn(line + label + 1, " ");
	else
		indent += strspn(line, " ");
	fputs("  ", t->stream);
	terminal_prose(t, 2, indent, line);
}

void failure_print(const Failure *failure, const Terminal *t)
{
	_cleanup_free_ char *text = text_printable_lines(failure->message);
	_cleanup_free_ char *name = text_printable(failure->name);
	bool first = true;
	char *next;

	for (char *line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (first)
			print_first(t, line);
		else if (*line)
			print_part(t, line);
		first = false;
	}
	if (!failure->plain)
		fprintf(t->stream, "  Error:  %s\n", name);
}

/* The text after "Cause:" up to the next label, its lines unindented; NULL: there is none. */
static char *message_part(const char *message, const char *label)
{
	_cleanup_free_ char *part = NULL;
	const char *line = message, *end;
	bool inside = false;
	size_t size;
	FILE *f = xmemstream(&part, &size);

	while ((line = strchr(line, '\n'))) {
		line++;
		end = line + strcspn(line, "\n");
		if (*line != ' ' && *line != '\t') {
			inside = str_starts_with(line, label);
			if (inside)
				line += strlen(label);
		} else if (inside) {
			fputc('\n', f);
		}
		if (!inside)
			continue;
		line += strspn(line, " \t");
		fwrite(line, 1, (size_t)(end - line), f);
	}
	xmemstream_end(&f);
	return size > 0 ? TAKE_PTR(part) : NULL;
}

json_t *failure_json(const Failure *failure, json_t *job)
{
	_cleanup_free_ char *cause = message_part(failure->message, "Cause:");
	_cleanup_free_ char *state = message_part(failure->message, "State:");
	_cleanup_free_ char *remedy = message_part(failure->message, "Remedy:");
	_cleanup_free_ char *reason = xstrndup(failure->message, strcspn(failure->message, "\n"));
	/* Its words may be those of a command line, which may be any bytes. */
	json_t *document = json_build(
		"{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:i}", "schema", GPUPASS_SCHEMA_ERROR, "error",
		failure->name, "message", json_text(failure->message), "reason", json_text(reason),
		"cause", json_string_or_null(cause), "state", json_string_or_null(state), "remedy",
		json_string_or_null(remedy), "exit", (int)failure->code);

	if (job)
		json_set(document, "job", job);
	return document;
}

#include "errors.inc"
