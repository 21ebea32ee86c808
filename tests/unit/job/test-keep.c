/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups that stay on vfio-pci while no domain has them. */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/file.h"
#include "util/text.h"

#define KEPT_FILE "0000:41:00.0.json"

static bool is_bound(const Rig *rig)
{
	return rig_is_on(rig, "0000:41:00.0", "vfio-pci", "vfio-pci") &&
	       rig_is_on(rig, "0000:61:00.1", "vfio-pci", "vfio-pci");
}

static bool has_file(const Rig *rig)
{
	return faccessat(rig->kept.dir_fd, KEPT_FILE, F_OK, 0) == 0;
}

static char *steps_of(Rig *rig, const JobRequest *request)
{
	Outcome outcome = rig_run(rig, request);
	char *steps;

	if (outcome.state != JOB_DONE)
		fail_msg("%s", outcome.message);
	steps = outcome.steps ? strv_join(outcome.steps, ", ") : strdup("");
	outcome_clear(&outcome);
	return steps;
}

static void expect_steps(Rig *rig, const JobRequest *request, const char *expected)
{
	_cleanup_free_ char *steps = steps_of(rig, request);

	assert_string_equal(steps, expected);
}

ON_A_RIG(a_bind_that_lasts_writes_the_boards_and_an_unbind_ends_it)
{
	JobRequest keep = keep_request("pair0"), unbind = unbind_request("pair0");
	_cleanup_free_ char *before = NULL, *text = NULL;

	before = rig_world(rig);
	expect_steps(rig, &keep, "preflight: done, bind vfio-pci: done, verify: done, keep: done");
	assert_true(is_bound(rig));
	assert_int_equal(file_read_at(rig->kept.dir_fd, KEPT_FILE, 65536, &text, NULL), 0);
	assert_non_null(strstr(text, "\"bdf\": \"0000:61:00.1\""));
	assert_non_null(strstr(text, "\"subsystem_device\""));
	expect_steps(rig, &keep, "");
	expect_steps(rig, &unbind, "preflight: done, give back: done, verify: done, unkeep: done");
	rig_check_world(rig, before, "unbind");
}

ON_A_RIG(a_group_that_is_bound_already_is_only_written_down)
{
	JobRequest keep = keep_request("pair0");

	rig_bound(rig);
	expect_steps(rig, &keep, "keep: done");
	assert_true(has_file(rig));
}

ON_A_RIG(an_unbind_ends_it_where_a_driver_was_first)
{
	static const char *const functions[] = { PAIR0_FUNCTIONS };
	JobRequest unbind = unbind_request("pair0");

	rig_kept(rig);
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		fake_set_driver(&rig->fake, functions[i], i % 2 ? "snd_hda_intel" : "nvidia", NULL);
	expect_steps(rig, &unbind, "unkeep: done");
	assert_false(has_file(rig));
}

/* No driver of the host is in between: the functions are not moved at all. */
ON_A_RIG(a_release_leaves_a_kept_group_where_it_is)
{
	JobRequest release = release_request("vm42");

	rig_kept_and_assigned(rig);
	expect_steps(rig, &release,
		     "preflight: done, define: done, reset: done, verify: done, forget: done");
	assert_true(is_bound(rig));
	assert_true(has_file(rig));
}

ON_A_RIG(a_group_is_kept_while_a_domain_has_it)
{
	JobRequest keep = keep_request("pair0"), release = release_request("vm42");

	rig_assigned(rig);
	expect_steps(rig, &keep, "keep: done");
	rig_must(rig, &release);
	assert_true(is_bound(rig));
}

/* fault 60 */
ON_A_RIG(reconcile_binds_a_kept_group_again)
{
	JobRequest reconcile = reconcile_request("pair0");

	rig_kept(rig);
	fake_set_driver(&rig->fake, "0000:61:00.0", "nvidia", NULL);
	expect_steps(rig, &reconcile, "preflight: done, bind vfio-pci: done, verify: done");
	assert_true(is_bound(rig));
	expect_steps(rig, &reconcile, "");
}

TEST_WITH(a_group_that_nobody_keeps_is_not_bound_by_reconcile, rig_setup, rig_teardown)
{
	JobRequest reconcile = reconcile_request("pair0");

	expect_steps(*state, &reconcile, "");
	assert_false(is_bound(*state));
}

ON_A_RIG(what_cannot_be_stored_is_not_bound)
{
	JobRequest keep = keep_request("pair0");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	before = rig_world(rig);
	rig->store.kept = NULL;
	outcome = rig_run(rig, &keep);
	rig_expect_failure(&outcome, GPUPASS_ERROR_STATE_READ_ONLY, "kept.d/" KEPT_FILE);
	rig->store.kept = &rig->kept;
	rig_check_world(rig, before, "a failed bind");
}

/* Another version may say more of it than this one can. */
ON_A_RIG(a_file_of_another_version_is_not_overwritten)
{
	static const char text[] = "{\"schema\": \"org.gpupass1.kept/9\"}";
	JobRequest keep = keep_request("pair0");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	assert_int_equal(file_replace_at(rig->kept.dir_fd, KEPT_FILE, text, strlen(text), 0644), 0);
	before = rig_world(rig);
	outcome = rig_run(rig, &keep);
	rig_expect_failure(&outcome, GPUPASS_ERROR_GROUP_BUSY, "another version");
	rig_check_world(rig, before, "a failed bind");
}
