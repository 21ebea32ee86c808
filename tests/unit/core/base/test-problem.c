/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "core/base/problem.h"
#include "util/text.h"

static Problem *viable_problem(void)
{
	Problem *problem = NULL;

	assert_int_equal(problem_set(&problem, GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE,
				     "IOMMU group %d is not viable", 57),
			 PROBLEM);
	return problem;
}

TEST(problem_message_says_what_why_state_and_remedy)
{
	_cleanup_(problem_freep) Problem *problem = viable_problem();
	_cleanup_free_ char *message = NULL;

	problem->cause = strf("%s shares IOMMU group 57", "0000:a0:01.0");
	assert_int_equal(problem_remedy(problem, "use another slot"), PROBLEM);
	message = problem_message(problem, "cannot assign pair1 to vm42");
	assert_string_equal(message, "cannot assign pair1 to vm42: IOMMU group 57 is not viable\n"
				     "Cause:  0000:a0:01.0 shares IOMMU group 57\n"
				     "State:  nothing was changed\n"
				     "Remedy: use another slot");
}

TEST(problem_message_leaves_out_what_is_not_known)
{
	_cleanup_(problem_freep) Problem *problem = viable_problem();
	_cleanup_free_ char *message = problem_message(problem, NULL);

	assert_string_equal(message, "IOMMU group 57 is not viable\n"
				     "State:  nothing was changed");
}

TEST(problem_message_indents_further_lines_of_a_part)
{
	_cleanup_(problem_freep) Problem *problem = viable_problem();
	_cleanup_free_ char *message = NULL;

	problem->cause = strdup("one\ntwo\nthree\n");
	problem_state(problem, "pair1 is quarantined");
	message = problem_message(problem, NULL);
	assert_string_equal(message, "IOMMU group 57 is not viable\n"
				     "Cause:  one\n"
				     "        two\n"
				     "        three\n"
				     "State:  pair1 is quarantined");
}

TEST(a_refusal_says_all_parts_at_once)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(problem_refuse(&problem, GPUPASS_ERROR_GROUP_BUSY,
					.reason = strf("%s has group %s already", "vm42", "pair0"),
					.cause = strdup("its metadata says so"),
					.state = strdup("pair0 is quarantined"),
					.remedy = strf("gpupass release %s", "vm42")),
			 PROBLEM);
	assert_int_equal(problem->error, GPUPASS_ERROR_GROUP_BUSY);
	assert_string_equal(problem->reason, "vm42 has group pair0 already");
	assert_string_equal(problem->cause, "its metadata says so");
	assert_string_equal(problem->state, "pair0 is quarantined");
	assert_string_equal(problem->remedy, "gpupass release vm42");
}

TEST(a_refusal_stays_without_the_other_parts)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(problem_refuse(&problem, GPUPASS_ERROR_GROUP_BUSY,
					.reason = strdup("it is busy"), .cause = NULL),
			 PROBLEM);
	assert_string_equal(problem->reason, "it is busy");
	assert_null(problem->cause);
	assert_null(problem->state);
	assert_null(problem->remedy);
}

TEST(a_part_set_twice_is_the_second)
{
	_cleanup_(problem_freep) Problem *problem = viable_problem();

	problem_state(problem, "first");
	problem_state(problem, "second");
	assert_string_equal(problem->state, "second");
}

TEST(a_part_can_be_made_of_what_it_was)
{
	_cleanup_(problem_freep) Problem *problem = viable_problem();

	problem_state(problem, "pair1 is quarantined");
	problem_state(problem, "%s, and stays so", problem->state);
	assert_string_equal(problem->state, "pair1 is quarantined, and stays so");
}

TEST(every_error_has_a_bus_name_of_its_own)
{
	for (int i = 0; i < GPUPASS_ERROR_MAX_; i++) {
		const char *name = problem_dbus_name((GpupassError)i);

		assert_non_null(name);
		assert_int_equal(strncmp(name, GPUPASS_ERROR_PREFIX, strlen(GPUPASS_ERROR_PREFIX)),
				 0);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(name, problem_dbus_name((GpupassError)k));
	}
	assert_string_equal(problem_dbus_name(GPUPASS_ERROR_STALE_PLAN),
			    "org.gpupass1.Error.StalePlan");
	assert_string_equal(problem_dbus_name(GPUPASS_ERROR_MAX_), "org.gpupass1.Error.Internal");
}
