/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Option dictionaries, read from messages that never travel: the bus that makes them has no one
 * at its other end, and sealing turns them into received ones. */
#include "rig/test.h"

#include <string.h>
#include <sys/socket.h>

#include "bus/options.h"
#include "gpupass/cleanup.h"
#include "util/text.h"

#define ASKED (TAKES(LIVE) | TAKES(CONFIG) | TAKES(TIMEOUT) | TAKES(MODEL))

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

/* A message with these options, "key type value" each: "live b 1". */
static sd_bus_message *message_of(const char *const *options)
{
	sd_bus_message *m = message_new();

	assert_true(sd_bus_message_open_container(m, 'a', "{sv}") >= 0);
	for (; *options; options++) {
		_cleanup_strv_ char **words = NULL;
		uint64_t number;
		int r, flag;

		strv_split(*options, " ", &words);
		flag = (int)(number = strtoull(words[2], NULL, 0));
		if (*words[1] == 's')
			r = sd_bus_message_append(m, "{sv}", words[0], "s", words[2]);
		else if (*words[1] == 't')
			r = sd_bus_message_append(m, "{sv}", words[0], "t", number);
		else
			r = sd_bus_message_append(m, "{sv}", words[0], "b", flag);
		assert_true(r >= 0);
	}
	assert_true(sd_bus_message_close_container(m) >= 0);
	return m;
}

/* Reads the message's dictionary, then that there is nothing else in it. */
static int read_options(sd_bus_message *m, uint32_t takes, CallOptions *ret, sd_bus_error *error)
{
	int r;

	assert_true(sd_bus_message_seal(m, 1, 0) >= 0);
	assert_true(sd_bus_message_rewind(m, true) >= 0);
	r = call_options_read(m, takes, ret, error);
	if (r >= 0)
		assert_int_equal(sd_bus_message_at_end(m, true), 1);
	return r;
}

TEST(every_option_arrives_where_it_belongs_and_what_is_not_given_stays_as_it_is)
{
	static const char *const all[] = { "model s A6000", "live b 1", "config b 0",
					   "timeout t 0xffffffffffffffff", NULL };
	static const char *const none[] = { NULL };
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_of(all),
							*no = message_of(none);
	_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	_cleanup_(call_options_clear) CallOptions target = { .config = true };

	for (unsigned i = 0; i < 2; i++) {
		assert_true(read_options(i ? no : m, ASKED, &target, &error) >= 0);
		assert_int_equal(target.given, ASKED);
		assert_true(target.live);
		assert_false(target.config);
		assert_int_equal(target.timeout_usec, UINT64_MAX);
		assert_string_equal(target.model, "A6000");
	}
}

TEST(what_the_call_does_not_take_is_refused_with_what_it_takes)
{
	static const struct {
		const char *options[3];
		uint32_t takes;
		const char *what, *remedy;
	} rows[] = {
		{ { "live b 1", "colour s red" },
		  ASKED,
		  "\"colour\" is unknown",
		  "the options of this call are live, config, model, timeout" },
		{ { "Live b 1" }, 0, "\"Live\" is unknown", "this call has no options" },
		{ { "model s a", "model s b" }, ASKED, "\"model\" is there twice", "give it once" },
		{ { "live s x" }, ASKED, "\"live\" has the wrong type", "give a boolean (b)" },
		{ { "live t 1" }, ASKED, "\"live\" has the wrong type", "give a boolean (b)" },
		{ { "timeout b 1" }, ASKED, "\"timeout\" has the wrong type", "give a number (t)" },
		{ { "timeout s x" }, ASKED, "\"timeout\" has the wrong type", "give a number (t)" },
		{ { "model t 1" }, ASKED, "\"model\" has the wrong type", "give a string (s)" },
		{ { "model b 1" }, ASKED, "\"model\" has the wrong type", "give a string (s)" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_of(rows[i].options);
		_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
		_cleanup_(call_options_clear) CallOptions target = { 0 };
		_cleanup_free_ char *message =
			strf("option %s\nState:  nothing was changed\nRemedy: %s", rows[i].what,
			     rows[i].remedy);

		assert_true(read_options(m, rows[i].takes, &target, &error) < 0);
		assert_string_equal(error.name, "org.gpupass1.Error.InvalidArgument");
		assert_string_equal(error.message, message);
	}
}

TEST(what_is_no_dictionary_is_an_error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
	_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	CallOptions target = { 0 };

	assert_true(sd_bus_message_append(m, "s", "live") >= 0);
	assert_true(read_options(m, ASKED, &target, &error) < 0);
}
