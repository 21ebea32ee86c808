/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "bus/quota.h"
#include "gpupass/cleanup.h"

#define ROOT 0
#define DAEMON 900

static Quota quota(void)
{
	return (Quota){ .all_max = 16, .user_max = 4, .own_uid = DAEMON };
}

static size_t take_all(Quota *q, uid_t uid)
{
	size_t n = 0;

	while (quota_take(q, uid) == 0)
		n++;
	return n;
}

static void users_take_nothing_from_root(_unused_ void **state)
{
	Quota q = quota();

	for (uid_t uid = 1000; uid < 1100; uid++)
		take_all(&q, uid);
	assert_int_equal(quota_take(&q, 2000), -EAGAIN);
	assert_int_equal(take_all(&q, ROOT), 16);
}

static void root_takes_nothing_from_users(_unused_ void **state)
{
	Quota q = quota();

	assert_int_equal(take_all(&q, ROOT), 16);
	assert_int_equal(quota_take(&q, ROOT), -EAGAIN);
	assert_int_equal(take_all(&q, 1000), 4);
}

static void two_users_leave_a_third_his_share(_unused_ void **state)
{
	Quota q = quota();

	assert_int_equal(take_all(&q, 1000), 4);
	assert_int_equal(quota_take(&q, 1000), -EDQUOT);
	assert_int_equal(take_all(&q, 1001), 4);
	assert_int_equal(take_all(&q, 1002), 4);
}

static void the_daemons_own_user_counts_as_root(_unused_ void **state)
{
	Quota q = quota();

	assert_true(quota_is_privileged(&q, DAEMON));
	assert_false(quota_is_privileged(&q, 1000));
	assert_false(quota_is_privileged(&q, (uid_t)-1));
	assert_int_equal(take_all(&q, DAEMON), 16);
	assert_int_equal(quota_take(&q, ROOT), -EAGAIN);
}

static void what_is_given_back_can_be_taken_again(_unused_ void **state)
{
	static const uid_t uids[] = { ROOT, 1000 };

	for (size_t i = 0; i < 2; i++) {
		Quota q = quota();
		size_t n = take_all(&q, uids[i]);

		/* What another has is not given back by it. */
		assert_int_equal(quota_take(&q, 1001), 0);
		for (size_t k = 0; k < n; k++)
			quota_give(&q, uids[i]);
		quota_give(&q, uids[i]);
		assert_int_equal(take_all(&q, uids[i]), n);
		assert_int_equal(take_all(&q, 1001), 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_take_nothing_from_root),
		cmocka_unit_test(root_takes_nothing_from_users),
		cmocka_unit_test(two_users_leave_a_third_his_share),
		cmocka_unit_test(the_daemons_own_user_counts_as_root),
		cmocka_unit_test(what_is_given_back_can_be_taken_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
