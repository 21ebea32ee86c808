/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of messages that never travel; see test-options.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "bus/call-size.h"
#include "gpupass/cleanup.h"

#define MOST 1000
#define _cleanup_message_ _cleanup_(sd_bus_message_unrefp)

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

static int size_of(sd_bus_message *m, size_t *ret)
{
	assert_true(sd_bus_message_seal(m, 1, 0) >= 0);
	assert_true(sd_bus_message_rewind(m, true) >= 0);
	return call_size(m, MOST, ret);
}

static void what_it_holds_is_counted_and_it_can_be_read_again(void **state)
{
	_cleanup_message_ sd_bus_message *m = message_new();
	const char *domain, *group;
	size_t size = 0;

	assert_true(sd_bus_message_append(m, "ssa{sv}", "vm42", "pair0", 2, "live", "b", 1, "model",
					  "s", "x") >= 0);
	assert_true(size_of(m, &size) >= 0);
	assert_in_range(size, 20, 200);
	assert_true(sd_bus_message_read(m, "ss", &domain, &group) >= 0);
	assert_string_equal(domain, "vm42");
	assert_string_equal(group, "pair0");
}

static void an_empty_call_is_small(void **state)
{
	_cleanup_message_ sd_bus_message *m = message_new();
	size_t size = MOST;

	assert_true(size_of(m, &size) >= 0);
	assert_in_range(size, 0, 10);
}

static void a_long_string_is_too_large_wherever_it_is(void **state)
{
	char text[MOST + 1];
	size_t size;

	memset(text, 'x', MOST);
	text[MOST] = '\0';
	for (unsigned i = 0; i < 3; i++) {
		_cleanup_message_ sd_bus_message *m = message_new();

		assert_true(
			(i == 0	  ? sd_bus_message_append(m, "s", text)
			 : i == 1 ? sd_bus_message_append(m, "ssa{sv}", "a", "b", 1, "k", "s", text)
				  : sd_bus_message_append(m, "as", 2, "a", text)) >= 0);
		assert_int_equal(size_of(m, &size), -EMSGSIZE);
	}
}

static void many_small_values_are_too_large(void **state)
{
	_cleanup_message_ sd_bus_message *strings = message_new();
	_cleanup_message_ sd_bus_message *bytes = message_new();
	uint8_t zeros[MOST] = { 0 };
	size_t size;

	assert_true(sd_bus_message_open_container(strings, 'a', "s") >= 0);
	for (unsigned i = 0; i < MOST / 4; i++)
		assert_true(sd_bus_message_append(strings, "s", "") >= 0);
	assert_true(sd_bus_message_close_container(strings) >= 0);
	assert_int_equal(size_of(strings, &size), -EMSGSIZE);
	assert_true(sd_bus_message_append_array(bytes, 'y', zeros, sizeof(zeros)) >= 0);
	assert_int_equal(size_of(bytes, &size), -EMSGSIZE);
}

static void what_is_nested_deeply_is_too_large(void **state)
{
	_cleanup_message_ sd_bus_message *m = message_new();
	size_t size;

	assert_true(sd_bus_message_append(m, "v", "v", "v", "v", "v", "v", "v", "v", "v", "v", "s",
					  "x") >= 0);
	assert_int_equal(size_of(m, &size), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_holds_is_counted_and_it_can_be_read_again),
		cmocka_unit_test(an_empty_call_is_small),
		cmocka_unit_test(a_long_string_is_too_large_wherever_it_is),
		cmocka_unit_test(many_small_values_are_too_large),
		cmocka_unit_test(what_is_nested_deeply_is_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
