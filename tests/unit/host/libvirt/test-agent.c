/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's messages, and the conversation with a scripted agent. */
#include "rig/test.h"

#include <string.h>
#include <unistd.h>

#include "host/libvirt/guest-agent.h"
#include "util/clock.h"
#include "util/text.h"

/* ---- base64 ---- */

TEST(base64_is_read)
{
	static const struct {
		const char *text, *bytes;
		size_t n;
	} rows[] = {
		{ "", "", 0 },
		{ "Zg==", "f", 1 },
		{ "Zm8=", "fo", 2 },
		{ "Zm9v", "foo", 3 },
		{ "Zm9vYg==", "foob", 4 },
		{ "AAAA", "\0\0\0", 3 },
		{ "+/+/", "\xfb\xff\xbf", 3 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *bytes = NULL;
		size_t n = 99;

		assert_int_equal(base64_decode(rows[i].text, strlen(rows[i].text), 64, &bytes, &n),
				 0);
		assert_int_equal(n, rows[i].n);
		assert_memory_equal(bytes, rows[i].bytes, n + 1);
	}
}

TEST(base64_that_is_none_is_refused)
{
	static const char *const rows[] = { "Z",    "Zg",   "Zg=",	"Zg===",      "Z===",
					    "====", "=AAA", "Zg==Zg==", "Zm9v\n",     "Zm9vZm9 ",
					    "Zm-_", "Zh==", "Zm9=",	"Zm\xff\xff", "Zm=v" };
	char *bytes = NULL;
	size_t n = 0;

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (base64_decode(rows[i], strlen(rows[i]), 64, &bytes, &n) != -EBADMSG)
			fail_msg("taken: %s", rows[i]);
	assert_int_equal(base64_decode("A\0AA", 4, 64, &bytes, &n), -EBADMSG);
	assert_null(bytes);
}

TEST(base64_is_bounded)
{
	_cleanup_free_ char *bytes = NULL;
	size_t n = 0;

	assert_int_equal(base64_decode("Zm9vYmFy", 8, 5, &bytes, &n), -EFBIG);
	assert_int_equal(base64_decode("Zm9vYmE=", 8, 5, &bytes, &n), 0);
	assert_int_equal(n, 5);
}

/* ---- replies ---- */

static int info(const char *reply)
{
	bool may_exec = false;
	int r = agent_parse_info(reply, &may_exec);

	return r < 0 ? r : may_exec;
}

#define COMMAND(name, enabled) "{\"name\":\"" name "\",\"enabled\":" enabled "}"
#define INFO(commands) "{\"return\":{\"version\":\"7.2\",\"supported_commands\":[" commands "]}}"
#define INFO_GOOD INFO(COMMAND("guest-exec", "true") "," COMMAND("guest-exec-status", "true"))

TEST(an_agent_that_may_not_run_programs_is_told)
{
	assert_int_equal(info(INFO_GOOD), 1);
	assert_int_equal(
		info(INFO(COMMAND("guest-exec", "false") "," COMMAND("guest-exec-status", "true"))),
		0);
	assert_int_equal(info(INFO(COMMAND("guest-exec", "true"))), 0);
	assert_int_equal(info(INFO("")), 0);
	assert_int_equal(info(INFO("1,null,{},{\"name\":7,\"enabled\":\"true\"}")), 0);
	assert_int_equal(info("{\"return\":{}}"), -EBADMSG);
	assert_int_equal(info("{\"return\":[]}"), -EBADMSG);
	assert_int_equal(info("{}"), -EBADMSG);
	assert_int_equal(info("[]"), -EBADMSG);
	assert_int_equal(info(""), -EBADMSG);
	assert_int_equal(info(INFO_GOOD "x"), -EBADMSG);
}

/* The numbers are libvirt's, which never change; our headers may lack the last two. */
TEST(an_agent_that_is_slow_for_a_newer_libvirt_refuses_nothing)
{
	assert_int_equal(guest_agent_outcome(86), GUEST_NO_AGENT);  /* AGENT_UNRESPONSIVE */
	assert_int_equal(guest_agent_outcome(112), GUEST_NO_AGENT); /* AGENT_COMMAND_TIMEOUT */
	assert_int_equal(guest_agent_outcome(113), GUEST_REFUSED);  /* AGENT_COMMAND_FAILED */
}

TEST(messages_have_no_shell_in_them)
{
	static const char *const argv[] = { "nvidia-smi", "topo", "\"; rm -rf /", NULL };
	_cleanup_free_ char *exec = agent_exec_message(argv), *status = agent_status_message(-7);

	assert_string_equal(exec, "{\"execute\":\"guest-exec\",\"arguments\":{\"path\":"
				  "\"nvidia-smi\",\"arg\":[\"topo\",\"\\\"; rm -rf /\"],"
				  "\"capture-output\":true}}");
	assert_string_equal(status, "{\"execute\":\"guest-exec-status\",\"arguments\":"
				    "{\"pid\":-7}}");
}

TEST(a_status_is_read)
{
	GuestRun run = { .exit_code = 99 };
	bool ended = true;

	assert_int_equal(agent_parse_status("{\"return\":{\"exited\":false}}", &ended, &run), 0);
	assert_false(ended);
	assert_int_equal(run.exit_code, 99);
	assert_int_equal(agent_parse_status("{\"return\":{\"exited\":true,\"exitcode\":3,"
					    "\"out-data\":\"Zm9v\",\"err-data\":\"Zg==\"}}",
					    &ended, &run),
			 0);
	assert_true(ended);
	assert_int_equal(run.outcome, GUEST_RAN);
	assert_int_equal(run.exit_code, 3);
	assert_false(run.signalled);
	assert_string_equal(run.out, "foo");
	assert_string_equal(run.err, "f");
	guest_run_clear(&run);
	assert_int_equal(
		agent_parse_status("{\"return\":{\"exited\":true,\"signal\":9}}", &ended, &run), 0);
	assert_true(run.signalled);
	assert_int_equal(run.exit_code, 9);
	assert_null(run.out);
}

#define EXITED(more) "{\"return\":{\"exited\":true" more "}}"

TEST(a_status_that_is_none_is_refused)
{
	static const char *const rows[] = {
		"{\"return\":{}}",
		"{\"return\":{\"exited\":1}}",
		EXITED(""),
		EXITED(",\"exitcode\":\"0\""),
		EXITED(",\"exitcode\":1e99"),
		EXITED(",\"exitcode\":99999999999999999999"),
		EXITED(",\"exitcode\":0,\"out-data\":7"),
		EXITED(",\"exitcode\":0,\"out-data\":\"Zg\""),
		EXITED(",\"exitcode\":0,\"out-data\":\"Zg==\",\"err-data\":\"!\""),
		EXITED(",\"exited\":true,\"exitcode\":0"),
		EXITED(",\"exitcode\":0,\"out-data\":\"\\u0000\""),
	};
	GuestRun run = { 0 };
	bool ended;
	int64_t pid;

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (agent_parse_status(rows[i], &ended, &run) != -EBADMSG)
			fail_msg("%s", rows[i]);
	assert_null(run.out);
	assert_int_equal(agent_parse_pid("{\"return\":{\"pid\":\"1\"}}", &pid), -EBADMSG);
	assert_int_equal(agent_parse_pid("{\"return\":{\"pid\":4294967296}}", &pid), 0);
	assert_int_equal(pid, 4294967296);
}

/* A status with `n` bytes of base64. */
static char *big_status(size_t n)
{
	_cleanup_free_ char *data = malloc(n + 1);

	assert_non_null(data);
	memset(data, 'A', n);
	data[n] = '\0';
	return strf("{\"return\":{\"exited\":true,\"exitcode\":0,\"out-data\":\"%s\"}}", data);
}

/* fault 54 */
/* promise G1 */
TEST(output_is_bounded)
{
	_cleanup_free_ char *fits = big_status(AGENT_STREAM_MAX / 3 * 4);
	_cleanup_free_ char *stream = big_status(AGENT_STREAM_MAX / 3 * 4 + 8);
	_cleanup_free_ char *reply = big_status(10 * 1024 * 1024);
	GuestRun run = { 0 };
	bool ended;

	assert_int_equal(agent_parse_status(fits, &ended, &run), 0);
	assert_int_equal(run.outcome, GUEST_RAN);
	assert_int_equal(run.out_size, AGENT_STREAM_MAX / 3 * 3);
	guest_run_clear(&run);
	/* Its begin may tell of a fault. */
	assert_int_equal(agent_parse_status(stream, &ended, &run), 0);
	assert_int_equal(run.outcome, GUEST_TOO_MUCH);
	assert_int_equal(run.out_size, AGENT_STREAM_MAX / 3 * 3);
	guest_run_clear(&run);
	assert_int_equal(agent_parse_status(reply, &ended, &run), -EFBIG);
}

/* ---- conversations ---- */

typedef struct Line {
	const char *expected; /* that the message has in it; NULL: any */
	const char *reply;    /* NULL: the outcome below */
	GuestOutcome outcome;
	unsigned takes_msec;
	bool repeats; /* is the answer to all that follow */
	int result;   /* of the transport; not 0: instead of all that */
} Line;

typedef struct Script {
	const Line *lines;
	size_t n_calls;
	unsigned last_timeout;
} Script;

static int play(void *userdata, const char *message, unsigned timeout_sec, char **ret_reply,
		GuestRun *ret_why, Problem **ret_problem)
{
	Script *script = userdata;
	const Line *line = script->lines;

	script->n_calls++;
	script->last_timeout = timeout_sec;
	if (!line->expected || !strstr(message, line->expected))
		fail_msg("\"%s\" instead of %s", message, str_or_empty(line->expected));
	usleep(line->takes_msec * 1000);
	if (!line->repeats)
		script->lines++;
	if (line->result == PROBLEM)
		return problem_set(ret_problem, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE, "gone");
	if (line->result < 0)
		return line->result;
	if (line->reply) {
		*ret_reply = strdup(line->reply);
		return 0;
	}
	ret_why->outcome = line->outcome;
	free(ret_why->detail);
	ret_why->detail = strdup("libvirt's words");
	return 0;
}

#define SAYS(of, text)                                                                             \
	{                                                                                          \
		.expected = (of), .reply = (text)                                                  \
	}
#define FAILS(of, why)                                                                             \
	{                                                                                          \
		.expected = (of), .outcome = (why)                                                 \
	}
#define PONG SAYS("guest-ping", "{\"return\":{}}")
#define GREETING PONG, SAYS("guest-info", INFO_GOOD)
#define STARTED SAYS("guest-exec\"", "{\"return\":{\"pid\":7}}")
#define RUNS SAYS("\"pid\":7", "{\"return\":{\"exited\":false}}")
#define DONE(more) "{\"return\":{\"exited\":true,\"exitcode\":0," more "}}"
#define ENDED SAYS("\"pid\":7", DONE("\"out-data\":\"Zm9v\""))

static int converse(const Line *lines, size_t n, uint64_t usec, GuestRun *runs, Script *ret,
		    Problem **ret_problem)
{
	static const char *const one[] = { "nvidia-smi", "topo", "-m", NULL };
	static const char *const *const commands[] = { one, one, one };
	Script script = { .lines = lines };
	const AgentTransport transport = { .call = play, .userdata = &script };
	int r = guest_agent_run(&transport, commands, n, now_monotonic() + usec, runs, ret_problem);

	if (ret)
		*ret = script;
	return r;
}

TEST(programs_run_one_after_another)
{
	static const Line lines[] = { GREETING, STARTED, RUNS, RUNS, ENDED, STARTED, ENDED };
	GuestRun runs[2] = { 0 };
	Script script;

	assert_int_equal(converse(lines, 2, 10 * USEC_PER_SEC, runs, &script, NULL), 0);
	assert_int_equal(script.n_calls, ELEMENTS(lines));
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(runs[i].outcome, GUEST_RAN);
		assert_string_equal(runs[i].out, "foo");
		guest_run_clear(&runs[i]);
	}
}

/* fault 54 */
TEST(what_stands_in_the_way_ends_it_and_is_named)
{
	static const struct {
		const char *what;
		Line lines[6];
		GuestOutcome outcome;
		size_t calls;
	} rows[] = {
		{ "shut off", { FAILS("ping", GUEST_NOT_RUNNING) }, GUEST_NOT_RUNNING, 1 },
		{ "no channel", { FAILS("ping", GUEST_NO_CHANNEL) }, GUEST_NO_CHANNEL, 1 },
		{ "no agent", { FAILS("ping", GUEST_NO_AGENT) }, GUEST_NO_AGENT, 1 },
		{ "refused", { FAILS("ping", GUEST_REFUSED) }, GUEST_REFUSED, 1 },
		ROW("silent after ping", { PONG, FAILS("guest-info", GUEST_NO_AGENT) },
		    GUEST_TIMEOUT, 2),
		ROW("disabled", { PONG, SAYS("guest-info", INFO("")) }, GUEST_EXEC_DISABLED, 2),
		ROW("garbled info", { PONG, SAYS("guest-info", "{\"return\":7}") }, GUEST_GARBLED,
		    2),
		ROW("no such program", { GREETING, FAILS("guest-exec\"", GUEST_REFUSED) },
		    GUEST_NOT_STARTED, 3),
		ROW("garbled pid", { GREETING, SAYS("guest-exec\"", "{\"return\":{}}") },
		    GUEST_GARBLED, 3),
		ROW("silent meanwhile",
		    { GREETING, STARTED, RUNS, FAILS("status", GUEST_NO_AGENT) }, GUEST_TIMEOUT, 5),
		ROW("garbled status", { GREETING, STARTED, SAYS("status", "{\"return\":{}}") },
		    GUEST_GARBLED, 4),
		ROW("too much",
		    { GREETING, STARTED, SAYS("status", DONE("\"err-truncated\":true")) },
		    GUEST_TOO_MUCH, 4),
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		GuestRun runs[2] = { 0 };
		Script script;

		print_message("%s\n", rows[i].what);
		assert_int_equal(converse(rows[i].lines, 2, 10 * USEC_PER_SEC, runs, &script, NULL),
				 0);
		assert_int_equal(runs[0].outcome, rows[i].outcome);
		assert_int_equal(runs[1].outcome, GUEST_NOT_ASKED);
		assert_int_equal(script.n_calls, rows[i].calls);
		assert_null(runs[0].out);
		guest_run_clear(&runs[0]);
	}
}

/* fault 53 */
TEST(a_program_that_hangs_ends_with_the_deadline)
{
	static const Line lines[] = {
		GREETING,
		STARTED,
		{ .expected = "\"pid\":7",
		  .reply = "{\"return\":{\"exited\":false}}",
		  .repeats = true },
	};
	uint64_t begin = now_monotonic();
	GuestRun runs[2] = { 0 };
	Script script;

	assert_int_equal(converse(lines, 2, 700 * USEC_PER_MSEC, runs, &script, NULL), 0);
	assert_int_equal(runs[0].outcome, GUEST_TIMEOUT);
	assert_int_equal(runs[1].outcome, GUEST_NOT_ASKED);
	assert_true(now_monotonic() - begin < 3 * USEC_PER_SEC);
	/*
	 * Polled ever more rarely, and never with the timeouts that mean "for ever" or "not at
	 * all".
	 */
	assert_in_range(script.n_calls, 4, 20);
	assert_in_range(script.last_timeout, 1, 5);
}

/* fault 53 */
TEST(slow_answers_do_not_add_up_beyond_the_deadline)
{
	static const Line lines[] = {
		{ "guest-ping", "{\"return\":{}}", .takes_msec = 300 },
		{ "guest-info", INFO_GOOD, .takes_msec = 300 },
	};
	GuestRun runs[2] = { 0 };
	Script script;

	assert_int_equal(converse(lines, 2, 400 * USEC_PER_MSEC, runs, &script, NULL), 0);
	assert_int_equal(runs[0].outcome, GUEST_TIMEOUT);
	assert_int_equal(script.n_calls, 2);
}

TEST(a_lost_libvirt_is_a_problem_and_no_word_of_the_guest)
{
	static const Line lost[] = { GREETING,
				     STARTED,
				     { .expected = "status", .result = PROBLEM } };
	_cleanup_(problem_freep) Problem *problem = NULL;
	GuestRun runs[1] = { 0 };

	assert_int_equal(converse(lost, 1, 10 * USEC_PER_SEC, runs, NULL, &problem), PROBLEM);
	assert_int_equal(problem->error, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE);
	guest_run_clear(&runs[0]);
}
