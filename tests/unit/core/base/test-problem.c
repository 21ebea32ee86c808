/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "core/base/problem.h"
#include "util/text.h"

/* What a refusal of these parts says. */
static void check(const char *cause, const char *state, const char *remedy, const char *prefix,
		  const char *message)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *found = NULL;

	assert_int_equal(problem_refuse(&problem, GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE,
					.reason = strf("IOMMU group %d is not viable", 57),
					.cause = cause ? strdup(cause) : NULL,
					.state = state ? strdup(state) : NULL,
					.remedy = remedy ? strdup(remedy) : NULL),
			 PROBLEM);
	assert_int_equal(problem->error, GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE);
	found = problem_message(problem, prefix);
	assert_string_equal(found, message);
}

TEST(a_message_says_what_why_state_and_remedy)
{
	check("0000:a0:01.0 shares it", NULL, "use another slot", "cannot assign pair1 to vm42",
	      "cannot assign pair1 to vm42: IOMMU group 57 is not viable\n"
	      "Cause:  0000:a0:01.0 shares it\n"
	      "State:  nothing was changed\n"
	      "Remedy: use another slot");
	/* It leaves out what is not known. */
	check(NULL, NULL, NULL, NULL,
	      "IOMMU group 57 is not viable\n"
	      "State:  nothing was changed");
	/* Further lines of a part are indented. */
	check("one\ntwo\nthree\n", "pair1 is quarantined", NULL, NULL,
	      "IOMMU group 57 is not viable\n"
	      "Cause:  one\n"
	      "        two\n"
	      "        three\n"
	      "State:  pair1 is quarantined");
}

TEST(a_part_set_twice_is_the_second_which_can_be_made_of_the_first)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(problem_set(&problem, GPUPASS_ERROR_GROUP_BUSY, "job %d", 7), PROBLEM);
	assert_string_equal(problem->reason, "job 7");
	problem_state(problem, "first");
	problem_state(problem, "second");
	problem_state(problem, "%s, and stays so", problem->state);
	assert_string_equal(problem->state, "second, and stays so");
	assert_int_equal(problem_remedy(problem, "wait"), PROBLEM);
	assert_string_equal(problem->remedy, "wait");
	assert_null(problem->cause);
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
