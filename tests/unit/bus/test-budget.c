/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bus/budget.h"

#define NOW 1000000000ULL

static const Rate rate = { .usec_per_token = 5000, .burst = 10 };

static void a_full_bucket_gives_its_burst_and_then_its_rate(void **state)
{
	Bucket bucket = 0;

	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(bucket_wait(bucket, &rate, 1, NOW), 0);
		bucket_take(&bucket, &rate, 1, NOW);
	}
	assert_int_equal(bucket_wait(bucket, &rate, 1, NOW), 5000);
	assert_int_equal(bucket_wait(bucket, &rate, 4, NOW), 20000);
	assert_int_equal(bucket_wait(bucket, &rate, 1, NOW + 4999), 1);
	assert_int_equal(bucket_wait(bucket, &rate, 1, NOW + 5000), 0);
}

static void a_bucket_that_nobody_uses_holds_no_more_than_its_burst(void **state)
{
	Bucket bucket = 0;

	bucket_take(&bucket, &rate, 10, NOW);
	assert_int_equal(bucket_wait(bucket, &rate, 10, NOW + 3600000000ULL), 0);
	assert_true(bucket_wait(bucket, &rate, 11, NOW + 3600000000ULL) > 0);
}

static void a_user_keeps_his_place_until_his_bucket_is_full_again(void **state)
{
	static Users users;
	User *first = users_get(&users, 1, NOW);

	bucket_take(&first->calls, &rate, 1, NOW);
	assert_ptr_not_equal(users_get(&users, 2, NOW), first);
	assert_ptr_equal(users_get(&users, 1, NOW), first);
	assert_int_equal(users_get(&users, 1, NOW)->calls, NOW + 5000);
	/* 2 has used nothing, and 3 gets his place. */
	assert_int_equal(users_get(&users, 3, NOW)->uid, 3);
	assert_int_equal(users.n, 2);
}

static void users_without_a_place_share_one(void **state)
{
	static Users users;
	User *user;

	for (uid_t uid = 1; uid <= USERS_MAX; uid++) {
		user = users_get(&users, uid, NOW);
		bucket_take(&user->calls, &rate, 1, NOW);
	}
	user = users_get(&users, 5000, NOW);
	assert_ptr_equal(user, &users.others);
	assert_ptr_equal(users_get(&users, 5001, NOW), user);
	/* Later there is room. */
	assert_ptr_not_equal(users_get(&users, 5001, NOW + 5000), user);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_bucket_gives_its_burst_and_then_its_rate),
		cmocka_unit_test(a_bucket_that_nobody_uses_holds_no_more_than_its_burst),
		cmocka_unit_test(a_user_keeps_his_place_until_his_bucket_is_full_again),
		cmocka_unit_test(users_without_a_place_share_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
