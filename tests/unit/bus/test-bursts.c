/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bus/bursts.h"
#include "gpupass/cleanup.h"

#define SECOND UINT64_C(1000000)

static void the_first_of_a_burst_is_told_and_the_others_are_counted(_unused_ void **state)
{
	Bursts b = { 0 };
	Burst ended;

	assert_true(bursts_end_usec(&b) == UINT64_MAX);
	assert_true(bursts_note(&b, 1000, "jobs", 5 * SECOND));
	for (uint64_t i = 1; i < 1000; i++)
		assert_false(bursts_note(&b, 1000, "jobs", 5 * SECOND + i));
	assert_true(bursts_end_usec(&b) == 15 * SECOND + 999);
	assert_false(bursts_take_ended(&b, 15 * SECOND + 998, &ended));
	assert_true(bursts_take_ended(&b, 15 * SECOND + 999, &ended));
	assert_int_equal(ended.uid, 1000);
	assert_string_equal(ended.what, "jobs");
	assert_int_equal(ended.n, 1000);
	assert_false(ended.of_many);
	assert_true(ended.first_usec == 5 * SECOND && ended.last_usec == 5 * SECOND + 999);
	assert_false(bursts_take_ended(&b, UINT64_MAX, &ended));
	assert_true(bursts_note(&b, 1000, "jobs", 16 * SECOND));
}

static void each_user_and_each_kind_has_its_own_first(_unused_ void **state)
{
	Bursts b = { 0 };

	assert_true(bursts_note(&b, 1000, "jobs", 0));
	assert_true(bursts_note(&b, 1001, "jobs", 0));
	assert_true(bursts_note(&b, 1000, "looks", 0));
	assert_false(bursts_note(&b, 1000, (char[]){ "jobs" }, 1));
}

static void a_pause_is_counted_from_the_last_one(_unused_ void **state)
{
	Bursts b = { 0 };
	Burst ended;

	for (uint64_t i = 0; i < 20; i++) {
		assert_int_equal(bursts_note(&b, 1000, "jobs", i * 9 * SECOND), i == 0);
		assert_false(bursts_take_ended(&b, i * 9 * SECOND, &ended));
	}
}

/* Otherwise it would be told of once, and then never again. */
static void one_that_never_pauses_is_told_of_now_and_then(_unused_ void **state)
{
	Bursts b = { 0 };
	Burst ended;
	unsigned begins = 0, ends = 0;

	for (uint64_t now = 0; now < 3600 * SECOND; now += SECOND) {
		ends += bursts_take_ended(&b, now, &ended);
		begins += bursts_note(&b, 1000, "jobs", now);
	}
	assert_int_equal(begins, 6);
	assert_int_equal(ends, 5);
}

static void lines_stay_few_however_many_users_come(_unused_ void **state)
{
	Bursts b = { 0 };
	Burst ended;
	unsigned begins = 0, ends = 0, of_many = 0;
	uint64_t n = 0;

	for (uid_t uid = 100000; uid < 165536; uid++)
		begins += bursts_note(&b, uid, "jobs", 1);
	assert_int_equal(begins, BURSTS_MAX + 1);
	while (bursts_take_ended(&b, UINT64_MAX, &ended)) {
		ends++;
		of_many += ended.of_many;
		n += ended.n;
	}
	assert_int_equal(ends, BURSTS_MAX + 1);
	assert_int_equal(of_many, 1);
	assert_int_equal(n, 65536);
	assert_true(bursts_end_usec(&b) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_of_a_burst_is_told_and_the_others_are_counted),
		cmocka_unit_test(each_user_and_each_kind_has_its_own_first),
		cmocka_unit_test(a_pause_is_counted_from_the_last_one),
		cmocka_unit_test(one_that_never_pauses_is_told_of_now_and_then),
		cmocka_unit_test(lines_stay_few_however_many_users_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
