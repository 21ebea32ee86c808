/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Option dictionaries, read from messages that never travel: the bus that makes them has no one
 * at its other end, and sealing turns them into received ones. */
#include "rig/test.h"

#include <string.h>
#include <sys/socket.h>

#include "bus/options.h"
#include "gpupass/cleanup.h"
#include "util/text.h"

#define SOME (TAKES(LIVE) | TAKES(CONFIG) | TAKES(TIMEOUT) | TAKES(MODEL))

static sd_bus_message *message_new(void)
{
	_cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
	sd_bus_message *m = NULL;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_true(sd_bus_new(&bus) >= 0);
	assert_true(sd_bus_set_fd(bus, ends[0], ends[0]) >= 0);
	assert_true(sd_bus_start(bus) >= 0);
	close(ends[1]);
	assert_true(sd_bus_message_new_method_call(bus, &m, "org.test", "/", "org.test", "Call") >=
		    0);
	return m;
}

static void seal(sd_bus_message *m)
{
	assert_true(sd_bus_message_seal(m, 1, 0) >= 0);
	assert_true(sd_bus_message_rewind(m, true) >= 0);
}

/* Reads the message's dictionary, then that there is nothing else in it. */
static int read_options(sd_bus_message *m, uint32_t takes, CallOptions *ret, sd_bus_error *error)
{
	int r;

	seal(m);
	r = call_options_read(m, takes, ret, error);
	if (r >= 0)
		assert_int_equal(sd_bus_message_at_end(m, true), 1);
	return r;
}

TEST(every_option_arrives_where_it_belongs)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
	_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	CallOptions target = { .config = true };

	assert_true(sd_bus_message_append(m, "a{sv}", 4, "model", "s", "RTX A6000", "live", "b", 1,
					  "config", "b", 0, "timeout", "t", UINT64_MAX) >= 0);
	assert_true(read_options(m, SOME, &target, &error) >= 0);
	assert_int_equal(target.given, SOME);
	assert_true(target.live);
	assert_false(target.config);
	assert_int_equal(target.timeout_usec, UINT64_MAX);
	assert_string_equal(target.model, "RTX A6000");
	call_options_clear(&target);
}

TEST(what_is_not_given_stays_as_it_is)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
	_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	CallOptions target = { .live = true, .timeout_usec = 7 };

	assert_true(sd_bus_message_append(m, "a{sv}", 0) >= 0);
	assert_true(read_options(m, SOME, &target, &error) >= 0);
	assert_true(target.live);
	assert_int_equal(target.timeout_usec, 7);
	assert_null(target.model);
}

static void expect_refusal(sd_bus_message *m, uint32_t takes, const char *message)
{
	_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	CallOptions target = { 0 };

	assert_true(read_options(m, takes, &target, &error) < 0);
	assert_string_equal(error.name, "org.gpupass1.Error.InvalidArgument");
	if (!str_equal(error.message, message))
		fail_msg("%s", error.message);
	call_options_clear(&target);
}

TEST(an_unknown_key_is_refused_with_those_there_are)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new(), *other = message_new();

	assert_true(sd_bus_message_append(m, "a{sv}", 2, "live", "b", 1, "colour", "s", "red") >=
		    0);
	expect_refusal(m, SOME,
		       "option \"colour\" is unknown\nState:  nothing was changed\n"
		       "Remedy: the options of this call are live, config, model, timeout");
	assert_true(sd_bus_message_append(other, "a{sv}", 1, "Live", "b", 1) >= 0);
	expect_refusal(other, 0,
		       "option \"Live\" is unknown\nState:  nothing was changed\n"
		       "Remedy: this call has no options");
}

TEST(a_wrong_type_is_refused_with_the_right_one)
{
	static const struct {
		const char *key, *type, *remedy;
	} rows[] = {
		{ "live", "s", "give a boolean (b)" },	 { "live", "t", "give a boolean (b)" },
		{ "timeout", "b", "give a number (t)" }, { "timeout", "s", "give a number (t)" },
		{ "model", "t", "give a string (s)" },	 { "model", "b", "give a string (s)" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
		_cleanup_free_ char *message = strf("option \"%s\" has the wrong type\n"
						    "State:  nothing was changed\nRemedy: %s",
						    rows[i].key, rows[i].remedy);
		int r;

		if (*rows[i].type == 's')
			r = sd_bus_message_append(m, "a{sv}", 1, rows[i].key, "s", "x");
		else if (*rows[i].type == 't')
			r = sd_bus_message_append(m, "a{sv}", 1, rows[i].key, "t", (uint64_t)1);
		else
			r = sd_bus_message_append(m, "a{sv}", 1, rows[i].key, "b", 1);
		assert_true(r >= 0);
		expect_refusal(m, SOME, message);
	}
}

TEST(an_option_given_twice_is_refused)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();

	assert_true(sd_bus_message_append(m, "a{sv}", 2, "model", "s", "a", "model", "s", "b") >=
		    0);
	expect_refusal(m, SOME,
		       "option \"model\" is there twice\nState:  nothing was changed\n"
		       "Remedy: give it once");
}

TEST(what_is_no_dictionary_is_an_error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
	_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	CallOptions target = { 0 };

	assert_true(sd_bus_message_append(m, "s", "live") >= 0);
	assert_true(read_options(m, SOME, &target, &error) < 0);
}
