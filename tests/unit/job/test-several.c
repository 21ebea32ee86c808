/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs for a domain that has two groups: each comes, goes, fails and is mended alone. */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/text.h"

static void assign(Rig *rig, const char *group)
{
	const JobRequest request = assign_request("vm42", group);

	rig_must(rig, &request);
	fake_watch(&rig->fake);
}

static void release(Rig *rig, const char *target)
{
	const JobRequest request = release_request(target);

	rig_must(rig, &request);
	fake_watch(&rig->fake);
}

/* The groups that records say, joined by ' '. */
static char *recorded(Rig *rig)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;
	_cleanup_strv_ char **names = NULL;

	all = assignment_store_load(&rig->store);
	for (size_t i = 0; i < all->n_items; i++)
		strv_append(&names, all->items[i]->group_name);
	return strv_join(names, " ");
}

static void expect_recorded(Rig *rig, const char *groups)
{
	_cleanup_free_ char *found = recorded(rig);

	if (!str_equal(found, groups))
		fail_msg("%s instead of %s", found, groups);
}

/* Both arrangements: shut off, and running with free ports for both. */
static void (*const arrange[])(Rig *) = { rig_shut_off, rig_running_with_room };

TEST(two_groups_come_and_go_in_any_order)
{
	static const struct {
		const char *out[2], *left;
	} orders[] = {
		{ { "pair0", "vm42" }, "pair1" },
		{ { "pair1", "vm42" }, "pair0" },
		{ { "pair0", "pair1" }, "pair1" },
	};

	for (size_t i = 0; i < ELEMENTS(orders) * ELEMENTS(arrange); i++) {
		const char *const *out = orders[i / ELEMENTS(arrange)].out;
		const char *left = orders[i / ELEMENTS(arrange)].left;
		_cleanup_free_ char *before = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		arrange[i % ELEMENTS(arrange)](rig);
		before = rig_world(rig);
		assign(rig, "pair0");
		assign(rig, "pair1");
		expect_recorded(rig, "pair0 pair1");
		release(rig, out[0]);
		expect_recorded(rig, left);
		release(rig, out[1]);
		expect_recorded(rig, "");
		rig_check_world(rig, before, left);
	}
}

ON_A_RIG(a_release_of_the_domain_asks_which_group_is_meant)
{
	const JobRequest request = release_request("vm42");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	rig_shut_off(rig);
	assign(rig, "pair0");
	assign(rig, "pair1");
	before = rig_world(rig);
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_FAILED);
	assert_int_equal(outcome.error, GPUPASS_ERROR_INVALID_ARGUMENT);
	assert_non_null(strstr(outcome.message, "vm42 has several groups: pair0, pair1"));
	outcome_clear(&outcome);
	rig_check_world(rig, before, "asked");
}

/* fault 61: whatever fails of the second, and when: the first stays whole. */
TEST(a_second_that_fails_leaves_the_first_as_it_was)
{
	static const FakeFault faults[] = {
		{ .op = FAKE_DEFINE, .nth = 1, .problem = GPUPASS_ERROR_DEFINE_FAILED },
		{ .op = FAKE_DEFINE,
		  .nth = 1,
		  .problem = GPUPASS_ERROR_DEFINE_FAILED,
		  .late = true },
		{ .op = FAKE_ATTACH, .nth = 3, .problem = GPUPASS_ERROR_ATTACH_FAILED },
		{ .op = FAKE_ATTACH,
		  .nth = 4,
		  .problem = GPUPASS_ERROR_ATTACH_FAILED,
		  .late = true },
	};

	for (size_t i = 0; i < ELEMENTS(faults) * ELEMENTS(arrange); i++) {
		const JobRequest second = assign_request("vm42", "pair1");
		const FakeFault *fault = &faults[i / ELEMENTS(arrange)];
		bool runs = i % ELEMENTS(arrange);
		_cleanup_free_ char *before = NULL;
		Rig *rig = rig_new();
		Outcome outcome;

		if (fault->op == FAKE_ATTACH && !runs) {
			rig_free(rig);
			continue;
		}
		arrange[runs](rig);
		assign(rig, "pair0");
		before = rig_world(rig);
		fake_fail(&rig->fake, fault);
		outcome = rig_run(rig, &second);
		rig_expect_failure(&outcome, fault->problem, "it fails as it was told to");
		fake_watch(&rig->fake);
		rig_check_world(rig, before, "undone");
		rig_free(rig);
	}
}

static bool is_placed(Rig *rig, const char *nodeset)
{
	_cleanup_free_ char *attribute = strf("nodeset=\"%s\"", nodeset);
	const char *xml = fake_domain(&rig->fake, "vm42")->config_xml;

	return strstr(xml, "<numatune>") && strstr(xml, attribute);
}

/*
 * The pairs are on two nodes, which are all of the host. What was written for one is written anew
 * for both, then for the one that stays, and goes with that.
 */
ON_A_RIG(what_is_applied_fits_the_groups_that_the_domain_has)
{
	JobRequest first = assign_request("vm42", "pair0");
	_cleanup_free_ char *before = NULL;

	rig->fake.two_nodes = true;
	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	before = rig_world(rig);
	first.numa = FIT_APPLY;
	rig_must(rig, &first);
	fake_watch(&rig->fake);
	assert_true(is_placed(rig, "0"));
	assign(rig, "pair1");
	assert_null(strstr(fake_domain(&rig->fake, "vm42")->config_xml, "<numatune>"));
	release(rig, "pair0");
	assert_true(is_placed(rig, "1"));
	release(rig, "pair1");
	rig_check_world(rig, before, "all released");
}
