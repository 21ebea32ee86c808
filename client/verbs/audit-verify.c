/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass audit --verify: has gpupass-trail read the files themselves. A daemon that was taken over
 * is not asked.
 */
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "util/file.h"
#include "verbs/audit.h"

#define TRAIL_DIRECTORY "/var/lib/gpupass/audit"
#define REPORT_MAX (1024U * 1024)

/* ---- running it ---- */

static int spawn(const char *program, char *const *arguments, int out, pid_t *ret)
{
	static char *const no_environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	int r = -posix_spawn_file_actions_init(&actions);

	if (r < 0)
		return r;
	r = -posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (r >= 0)
		r = -posix_spawn(ret, program, &actions, NULL, arguments, no_environment);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

static int wait_for(pid_t pid, int *ret_status)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : GPUPASS_EXIT_FAILED;
	return 0;
}

/* What it has to say about an error it says on stderr itself. */
static int run(const char *program, char *const *arguments, char **ret, int *ret_status)
{
	int pipes[2], r, of_read;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	r = spawn(program, arguments, pipes[1], &pid);
	close_fd(pipes[1]);
	of_read = r < 0 ? r : file_read_fd(pipes[0], REPORT_MAX, ret, NULL);
	close_fd(pipes[0]); /* it may have more to say, and would wait */
	if (r < 0)
		return r;
	r = wait_for(pid, ret_status);
	return r < 0 ? r : of_read;
}

/* ---- telling ---- */

static void print_findings(Client *c, const json_t *report)
{
	long long others = json_number_of(report, "all_findings");
	const json_t *finding;

	JSON_EACH (finding, report, "findings") {
		fprintf(c->out.stream, "%s%s%s\n", terminal_colour(&c->out, COLOUR_BAD),
			json_text_of(finding, "text"), terminal_plain(&c->out));
		others--;
	}
	if (others > 0)
		fprintf(c->out.stream, "and %lld more\n", others);
}

static void print_limits(Client *c, const json_t *report)
{
	if (json_number_of(report, "lost") > 0)
		fprintf(c->out.stream, "%lld records could not be written, as others say.\n",
			json_number_of(report, "lost"));
	if (json_is_set(report, "torn"))
		fputs("The last line is not whole: it is being written, or a power cut left it so. "
		      "Then the next start of gpupassd removes and records it.\n",
		      c->out.stream);
	if (c->options->expect)
		fprintf(c->out.stream,
			"Not found by this: what was cut off, or written anew, behind the expected "
			"record (%lld stand behind it).\n",
			json_number_of(report, "behind"));
	else
		fputs("Not found by this: records cut off at the end, or all of an end that was "
		      "written anew. Note this hash elsewhere, and later give it to --expect.\n",
		      c->out.stream);
}

static void print_report(Client *c, const json_t *report)
{
	bool whole = json_is_set(report, "whole");

	print_findings(c, report);
	fprintf(c->out.stream, "%sThe trail is %s%s: %lld records, from %lld to %lld%s.\n",
		terminal_colour(&c->out, whole ? COLOUR_GOOD : COLOUR_BAD),
		whole ? "whole" : "not whole", terminal_plain(&c->out),
		json_number_of(report, "records"), json_number_of(report, "first"),
		json_number_of(report, "last"),
		json_is_set(report, "dropped") ? "; older ones were rotated away" : "");
	fprintf(c->out.stream, "Last record: %lld\nLast hash:   %s\n",
		json_number_of(report, "last"), json_text_of(report, "last_hash"));
	if (!c->options->quiet)
		print_limits(c, report);
}

static int cannot(Client *c, const char *directory, int status)
{
	if (status == GPUPASS_EXIT_NOT_PERMITTED)
		return client_fail(c, failure_new("org.freedesktop.DBus.Error.AccessDenied",
						  GPUPASS_EXIT_NOT_PERMITTED,
						  "cannot read the audit trail\n"
						  "Cause:  only root may read its files\n"
						  "Remedy: run it as root"));
	if (status == GPUPASS_EXIT_NOT_FOUND)
		return client_error(c, GPUPASS_ERROR_INTERNAL,
				    "there is no audit trail in %s\n"
				    "Remedy: name its directory with --trail",
				    directory);
	return client_error(c, GPUPASS_ERROR_INTERNAL, "the audit trail in %s cannot be read",
			    directory);
}

static int check_expected(Client *c)
{
	const char *expect = c->options->expect;

	if (!expect || (strlen(expect) == 64 && strspn(expect, "0123456789abcdef") == 64))
		return 0;
	return client_usage(c, "--expect=%s: not a hash of 64 hex digits", expect);
}

int audit_verify(Client *c)
{
	static const DocumentKind kind = { .what = "the report",
					   .schema = GPUPASS_SCHEMA_AUDIT_CHECK,
					   .list = "findings" };
	const char *directory = c->options->trail ? c->options->trail : TRAIL_DIRECTORY;
	_cleanup_free_ char *program = strf("%s/gpupass-trail", c->libexec_directory);
	_cleanup_free_ char *expect =
		c->options->expect ? strf("--expect=%s", c->options->expect) : NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_(json_decrefp) json_t *report = NULL;
	char *arguments[5] = { NULL };
	int status = 0, n = 0, r;

	if (c->options->host || c->options->session)
		return client_usage(c, "--verify reads files of this host: run it there, as root");
	r = check_expected(c);
	if (r < 0)
		return r;
	arguments[n++] = program;
	if (expect)
		arguments[n++] = expect;
	arguments[n++] = (char *)"--";
	arguments[n++] = (char *)directory;
	r = run(program, arguments, &text, &status);
	if (r < 0)
		return client_error(c, GPUPASS_ERROR_INTERNAL,
				    "cannot run %s: %s\nRemedy: install gpupass anew", program,
				    strerror(-r));
	if (str_is_empty(text))
		return cannot(c, directory, status);
	r = document_parse(c, text, &kind, &report);
	if (r < 0)
		return r;
	r = json_show(c, report, print_report);
	if (r < 0)
		return r;
	return json_is_set(report, "whole") ? GPUPASS_EXIT_DONE : GPUPASS_EXIT_FAILED;
}
