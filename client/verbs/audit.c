/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass audit: the audit trail, read back from the daemon page by page. --verify has
 * gpupass-trail read the files themselves: a daemon that was taken over is not asked.
 */
#include <fcntl.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/wait.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "bus/document.h"
#include "bus/listen.h"
#include "model/model.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

/* ---- what is asked for ---- */

/* As GetAudit takes it. */
typedef struct AuditFilter {
	uint64_t since_usec, until_usec; /* 0: any */
	bool by_user;
	uint64_t user, job; /* job 0: any */
} AuditFilter;

static int read_time(Client *c, const char *option, const char *text, uint64_t *ret)
{
	if (!text || time_parse(text, now_realtime(), ret) >= 0)
		return 0;
	return client_usage(c,
			    "--%s=%s: not a time\n"
			    "Remedy: write it as 2026-01-31, \"2026-01-31 14:02\", or 2h for two "
			    "hours ago",
			    option, text);
}

static int read_user(Client *c, AuditFilter *filter)
{
	const char *text = c->options->user;
	const struct passwd *user;
	unsigned long long uid;
	int r;

	if (!text)
		return 0;
	filter->by_user = true;
	r = str_to_unsigned(text, 10, UINT32_MAX - 1, &uid);
	if (r == -ERANGE)
		return client_usage(c, "--user=%s: no uid", text);
	if (r >= 0) {
		filter->user = uid;
		return 0;
	}
	/* The names of another host are not known here. */
	user = c->options->host ? NULL : getpwnam(text);
	if (!user)
		return client_usage(c, "--user=%s: no such user%s\nRemedy: give the uid, a number",
				    text, c->options->host ? " is known here" : "");
	filter->user = user->pw_uid;
	return 0;
}

static int read_filter(Client *c, AuditFilter *ret)
{
	const Options *o = c->options;
	unsigned long long job = 0;
	int r = read_time(c, "since", o->since, &ret->since_usec);

	if (r >= 0)
		r = read_time(c, "until", o->until, &ret->until_usec);
	if (r >= 0)
		r = read_user(c, ret);
	if (r < 0 || !o->job)
		return r;
	if (str_to_unsigned(o->job, 10, UINT32_MAX, &job) < 0 || job == 0)
		return client_usage(c, "'%s' is not the number of a job", o->job);
	ret->job = job;
	return 0;
}

/* ---- asking for it ---- */

/* Reads one page behind `after`: a document org.gpupass1.audit-page/1. */
static int get_page(Client *c, const AuditFilter *filter, uint64_t after, json_t **ret)
{
	static const DocumentKind kind =
		DOCUMENT_KIND("the audit trail", AUDIT_PAGE, .list = "records");
	const Options *o = c->options;
	const BusOption options[] = {
		BUS_NUMBER(GPUPASS_OPTION_AFTER, true, after),
		BUS_NUMBER(GPUPASS_OPTION_SINCE, filter->since_usec > 0, filter->since_usec),
		BUS_NUMBER(GPUPASS_OPTION_UNTIL, filter->until_usec > 0, filter->until_usec),
		BUS_NUMBER(GPUPASS_OPTION_USER, filter->by_user, filter->user),
		BUS_NUMBER(GPUPASS_OPTION_JOB, filter->job > 0, filter->job),
		BUS_TEXT(GPUPASS_OPTION_GROUP, o->group),
		BUS_TEXT(GPUPASS_OPTION_DOMAIN, o->domain),
		BUS_FLAG(GPUPASS_OPTION_HOLDERS, o->given & OPTION_HOLDERS),
	};
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = bus_new_manager_call(c, "GetAudit", &call, "");

	if (r >= 0)
		r = bus_append_options(c, call, options, ELEMENTS(options));
	/* Somebody may have to type a password first. */
	return r < 0 ? r : document_call(c, call, BUS_TIMEOUT_ACT_USEC, &kind, ret);
}

/* All pages behind `after` as one. *ret_last: the last sequence number that was looked at. */
static int get_records(Client *c, const AuditFilter *filter, uint64_t after, json_t **ret,
		       uint64_t *ret_last)
{
	_cleanup_(json_decrefp) json_t *all = json_array();
	bool more = true;

	while (more) {
		_cleanup_(json_decrefp) json_t *page = NULL;
		long long last;
		int r = get_page(c, filter, after, &page);

		if (r < 0)
			return r;
		json_array_extend(all, json_object_get(page, "records"));
		last = json_number_of(page, "last");
		/* A page that does not come further would be asked for without end. */
		more = json_is_set(page, "more") && last > 0 && (uint64_t)last > after;
		after = last > 0 && (uint64_t)last > after ? (uint64_t)last : after;
	}
	*ret = TAKE_PTR(all);
	*ret_last = after;
	return 0;
}

/* ---- telling: all of the text was chosen by others ---- */

static const Column columns[] = {
	{ "TIME", 0 },
	{ "USER", 0 },
	{ "WHAT", 0 },
	{ "ON", 0 },
	{ "VERDICT", COLUMN_COLOUR },
	{ "WHY", COLUMN_CUT },
};
static const Column now_columns[] = {
	{ "GPU", 0 },		{ "FILE", 0 }, { "PID", COLUMN_RIGHT }, { "PROCESS", COLUMN_CUT },
	{ "UNIT", COLUMN_CUT },
};
static const Column seen_columns[] = {
	{ "TIME", 0 },
	{ "GPU", 0 },
	{ "FILE", 0 },
	{ "PID", COLUMN_RIGHT },
	{ "PROCESS", COLUMN_CUT },
	{ "SEEN", 0 },
};

static char *member_text(const json_t *record, const char *key)
{
	const json_t *number = json_object_get(record, key);

	return json_is_integer(number) ? strf("%lld", (long long)json_integer_value(number))
				       : xstrdup("-");
}

/* "1000", or "0 (1000)": as root, after a login as 1000. */
static char *user_text(const json_t *record)
{
	_cleanup_free_ char *uid = member_text(record, "uid");
	_cleanup_free_ char *login = member_text(record, "login_uid");

	return str_equal(login, "-") || str_equal(login, uid) ? TAKE_PTR(uid)
							      : strf("%s (%s)", uid, login);
}

/* "Assign" of a call, "assign begun" of a job, otherwise the kind. */
static char *what_text(const json_t *record)
{
	const char *kind = json_text_of(record, "kind"), *verb = json_text_of(record, "verb");

	if (!*verb || str_equal(kind, "call"))
		return xstrdup(*verb ? verb : kind);
	return strf("%s %s", verb, str_starts_with(kind, "job-") ? kind + strlen("job-") : kind);
}

static char *functions_text(const json_t *record)
{
	_cleanup_strv_ char **all = NULL;
	const json_t *function;

	JSON_EACH (function, record, "functions")
		strv_append(&all, str_or_empty(json_string_value(function)));
	return all ? strv_join(all, ",") : xstrdup("-");
}

/* Group and domain; where there is neither, the functions. */
static char *on_text(const json_t *record)
{
	const char *group = json_text_of(record, "group"), *domain = json_text_of(record, "domain");

	if (!*group && !*domain)
		return functions_text(record);
	return strf("%s%s%s", group, *group && *domain ? " " : "", domain);
}

static Colour verdict_colour(const char *verdict)
{
	static const char *const bad[] = { "denied", "limited", "failed", "incomplete", "undone" };

	if (SOME_OF(bad, ELEMENTS(bad), str_equal(verdict, it)))
		return COLOUR_BAD;
	return str_equal(verdict, "none") ? COLOUR_NONE : COLOUR_GOOD;
}

typedef struct Texts {
	char *time, *user, *what, *on;
	const char *verdict, *why; /* borrowed */
	Colour colour;
} Texts;

LOCAL_CLEAR(Texts, texts_clear)
#include "audit.inc"

static Texts texts_of(const json_t *record)
{
	const char *verdict = json_text_of(record, "verdict");
	long long time = json_number_of(record, "time_usec");

	return (Texts){
		.time = time_format(time > 0 ? (uint64_t)time : 0),
		.user = user_text(record),
		.what = what_text(record),
		.on = on_text(record),
		.verdict = str_equal(verdict, "none") ? "-" : verdict,
		.why = json_text_of(record, "reason"),
		.colour = verdict_colour(verdict),
	};
}

/* What it was on has a fifth of a terminal, so that a long reason does not take its room. */
static void add_record(Table *table, const Terminal *terminal, const json_t *record)
{
	size_t room = terminal->width > 0 ? terminal->width / 5 : SIZE_MAX;
	_cleanup_(texts_clear) Texts t = texts_of(record);
	_cleanup_free_ char *on = text_cut(t.on, room, terminal_glyph(terminal, GLYPH_ELLIPSIS));

	table_row(table, (const char *const[]){ t.time, t.user, t.what, on, t.verdict, t.why },
		  t.colour, NULL);
}

/* A page of all records. */
static void print_records(Client *c, const json_t *page)
{
	_cleanup_(table_freep) Table *table = NULL;
	const json_t *record;

	if (json_array_size(json_object_get(page, "records")) == 0) {
		if (!c->options->quiet)
			fputs("There are no such records.\n", c->err.stream);
		return;
	}
	table = table_new(&c->out, columns, ELEMENTS(columns), c->options->legend);
	JSON_EACH (record, page, "records")
		add_record(table, &c->out, record);
	table_print(table);
}

/* One record, for a reader who waits for it. */
static int print_line(Client *c, json_t *record)
{
	int r = 0;

	if (c->options->json != JSON_OFF) {
		r = json_print_line(c, json_incref(record));
	} else {
		_cleanup_(texts_clear) Texts t = texts_of(record);

		fprintf(c->out.stream, "%s  user %s  %s  %s  %s%s%s\n", t.time, t.user, t.what,
			t.on, terminal_colour(&c->out, t.colour), t.verdict,
			terminal_plain(&c->out));
		if (*t.why)
			fprintf(c->out.stream, "    %s\n", t.why);
	}
	/* A reader of a pipe wants records as they come. */
	return fflush(c->out.stream) == EOF ? -errno : r;
}

/* ---- holders ---- */

static void print_now(Client *c, const json_t *holders)
{
	_cleanup_(table_freep) Table *table =
		table_new(&c->out, now_columns, ELEMENTS(now_columns), c->options->legend);
	const json_t *item;
	size_t n = 0;

	JSON_EACH (item, holders, "holders") {
		_cleanup_free_ char *pid = member_text(item, "pid");

		table_row(table,
			  (const char *const[]){
				  json_text_of(item, "function"), json_text_of(item, "path"), pid,
				  json_text_of(item, "command"), json_text_of(item, "unit") },
			  COLOUR_NONE, NULL);
		n++;
	}
	if (n > 0)
		table_print(table);
	else
		fputs("No process has a file of a GPU open.\n", c->out.stream);
	JSON_EACH (item, holders, "unseen")
		fprintf(c->out.stream, "%s\n", str_or_empty(json_string_value(item)));
}

static void add_seen(Table *table, const json_t *record)
{
	_cleanup_(texts_clear) Texts t = texts_of(record);
	_cleanup_free_ char *pid = member_text(record, "pid");
	_cleanup_free_ char *functions = functions_text(record);

	table_row(table,
		  (const char *const[]){
			  t.time, functions, t.why, pid, json_text_of(record, "command"),
			  str_equal(json_text_of(record, "kind"), "holder") ? "open" : "gone" },
		  COLOUR_NONE, NULL);
}

/* Those of now, and "records" of earlier ones. */
static void print_holders(Client *c, const json_t *holders)
{
	_cleanup_(table_freep) Table *table = NULL;
	const json_t *record;

	print_now(c, holders);
	if (json_array_size(json_object_get(holders, "records")) == 0)
		return;
	fputs("\n", c->out.stream);
	table = table_new(&c->out, seen_columns, ELEMENTS(seen_columns), c->options->legend);
	JSON_EACH (record, holders, "records")
		add_seen(table, record);
	table_print(table);
}

/* ---- following: the daemon says that there is more, and the next page is read ---- */

/* The number of the last record, from which on those that come are printed. */
static int find_end(Client *c, uint64_t *ret)
{
	Manager manager = { 0 };
	int r = object_load(c, OBJECT_MANAGER, GPUPASS_PATH_ROOT, &manager);

	*ret = manager.audit_sequence;
	object_clear(OBJECT_MANAGER, &manager);
	return r;
}

static int print_new(Client *c, const AuditFilter *filter, uint64_t *last)
{
	_cleanup_(json_decrefp) json_t *records = NULL;
	json_t *record;
	size_t i;
	int r = get_records(c, filter, *last, &records, last);

	if (r == -ECANCELED && c->failure && c->failure->code == GPUPASS_EXIT_NO_DAEMON) {
		client_forgive(c); /* a signal says when it is back */
		return 0;
	}
	json_array_foreach (records, i, record)
		if (r >= 0)
			r = print_line(c, record);
	return r;
}

static int follow_on(Client *c, Listener *l, const AuditFilter *filter)
{
	uint64_t last = 0;
	int r = filter->since_usec > 0 ? 0 : find_end(c, &last);

	for (l->changed = true; r >= 0 && !l->loop.interrupted;) {
		if (l->changed && l->there) {
			l->changed = false;
			r = print_new(c, filter, &last);
		} else {
			r = listener_wait(l, UINT64_MAX);
		}
	}
	return r;
}

static int follow(Client *c, const AuditFilter *filter)
{
	static const char *const changes[] = {
		"type='signal',sender='" GPUPASS_BUS_NAME "',path='" GPUPASS_PATH_ROOT "',"
		"interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'",
		NULL
	};
	static const ListenerHooks hooks = { changes, NULL, NULL };
	_cleanup_(listener_clear) Listener l = { 0 };
	int r = listener_start(&l, c, &hooks, NULL);

	return r < 0 ? r : follow_on(c, &l, filter);
}

/* ---- --verify ---- */

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
		return client_error(c, GPUPASS_ERROR_FILE_FAILED,
				    "there is no audit trail in %s\n"
				    "Remedy: name its directory with --trail",
				    directory);
	return client_error(c, GPUPASS_ERROR_FILE_FAILED, "the audit trail in %s cannot be read",
			    directory);
}

static int check_expected(Client *c)
{
	const char *expect = c->options->expect;

	if (!expect || (strlen(expect) == 64 && strspn(expect, "0123456789abcdef") == 64))
		return 0;
	return client_usage(c, "--expect=%s: not a hash of 64 hex digits", expect);
}

static int verify(Client *c)
{
	static const DocumentKind kind =
		DOCUMENT_KIND("the report", AUDIT_CHECK, .list = "findings");
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
		return client_error(c, GPUPASS_ERROR_FILE_FAILED,
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

/* ---- the verb ---- */

static int show_all(Client *c, const AuditFilter *filter)
{
	_cleanup_(json_decrefp) json_t *page = NULL;
	json_t *records = NULL;
	uint64_t last = 0;
	int r = get_records(c, filter, 0, &records, &last);

	if (r < 0)
		return r;
	page = json_build("{s:s, s:o, s:o, s:b}", "schema", GPUPASS_SCHEMA_AUDIT_PAGE, "records",
			  records, "last", json_unsigned(last), "more", 0);
	return json_show(c, page, print_records);
}

static int show_holders(Client *c, const AuditFilter *filter)
{
	static const DocumentKind kind =
		DOCUMENT_KIND("the list of holders", HOLDERS, .list = "holders");
	_cleanup_(json_decrefp) json_t *now = NULL;
	json_t *records = NULL;
	uint64_t last = 0;
	int r = document_get(c, "GetHolders", BUS_TIMEOUT_ACT_USEC, &kind, &now);

	if (r >= 0)
		r = get_records(c, filter, 0, &records, &last);
	if (r < 0)
		return r;
	json_set(now, "records", records);
	return json_show(c, now, print_holders);
}

int verb_audit(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	const uint64_t of_verify = OPTION_VERIFY | OPTION_EXPECT | OPTION_TRAIL;
	uint64_t given = c->options->given;
	AuditFilter filter = { 0 };
	int r;

	if (given & of_verify) {
		if (!(given & OPTION_VERIFY))
			return client_usage(c, "--expect and --trail go with --verify");
		if (given & ~of_verify)
			return client_usage(c, "--verify reads the whole trail: of the options of "
					       "audit it takes --expect and --trail");
		return verify(c);
	}
	r = read_filter(c, &filter);
	if (r >= 0 && (given & OPTION_FOLLOW) && (given & OPTION_UNTIL))
		r = client_usage(c, "--follow has no end: leave out --until");
	if (r < 0)
		return r;
	if (given & OPTION_FOLLOW)
		return follow(c, &filter);
	return given & OPTION_HOLDERS ? show_holders(c, &filter) : show_all(c, &filter);
}
