/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs for a domain that has two groups: each comes, goes, fails and is mended alone. */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/text.h"

#define SECOND assign_request("vm42", "pair1")

/* The groups that records say, joined by ' '. */
static void expect_recorded(Rig *rig, const char *groups)
{
	_cleanup_(assignments_freep) Assignments *all = assignment_store_load(&rig->store);
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *found = NULL;

	for (size_t i = 0; i < all->n_items; i++)
		strv_append(&names, all->items[i]->group_name);
	found = strv_join(names, " ");
	assert_string_equal(found, groups);
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
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig->row = orders[i / 2].left;
		arrange[i % 2](rig);
		rig_note_world(rig);
		rig_must(rig, &ASSIGN);
		rig_must(rig, &SECOND);
		expect_recorded(rig, "pair0 pair1");
		rig_must(rig, &release_request(orders[i / 2].out[0]));
		expect_recorded(rig, orders[i / 2].left);
		rig_must(rig, &release_request(orders[i / 2].out[1]));
		expect_recorded(rig, "");
		rig_check_noted(rig);
	}
}

ON_A_RIG(a_release_of_the_domain_asks_which_group_is_meant)
{
	rig_assigned(rig);
	rig_must(rig, &SECOND);
	rig_fails(rig, &RELEASE, GPUPASS_ERROR_INVALID_ARGUMENT,
		  "vm42 has several groups: pair0, pair1");
}

#define VM77 "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f7777"
#define RELEASE_OF(of_domain, of_group, ...)                                                       \
	job_request(OPERATION_RELEASE, .domain = (char *)(of_domain), .group = (char *)(of_group), \
		    ##__VA_ARGS__)

ON_A_RIG(a_release_of_one_of_the_domains_groups_takes_that_one)
{
	rig_assigned(rig);
	rig_must(rig, &SECOND);
	rig_must(rig, &RELEASE_OF("vm42", "pair0"));
	expect_recorded(rig, "pair1");
	rig_must(rig, &RELEASE_OF(VM42, "pair1"));
	expect_recorded(rig, "");
}

/* Nor does it take it from another domain which has it by now. */
ON_A_RIG(a_release_takes_no_group_that_the_domain_does_not_have)
{
	rig_assigned(rig);
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	rig_must(rig, &assign_request(VM77, "pair1"));
	for (size_t i = 0; i < 2; i++) {
		const char *word = i == 0 ? "vm77" : VM77;

		rig_fails(rig, &RELEASE_OF(word, "pair0"), GPUPASS_ERROR_NOT_ASSIGNED,
			  "vm77 does not have group pair0");
		rig_fails(rig, &RELEASE_OF("vm42", "pair1"), GPUPASS_ERROR_NOT_ASSIGNED,
			  "vm42 does not have group pair1");
	}
	rig_fails(rig, &RELEASE_OF("vm42", "pair7"), GPUPASS_ERROR_NO_SUCH_GROUP, "pair7");
	rig_fails(rig, &RELEASE_OF("pair0", "pair0"), GPUPASS_ERROR_NO_SUCH_DOMAIN, "pair0");
	rig_fails(rig,
		  &RELEASE_OF(VM42, "pair0", .permitted = true, .permitted_uuid = (char *)VM77),
		  GPUPASS_ERROR_STALE_PLAN, "is not the domain that was permitted");
	expect_recorded(rig, "pair0 pair1");
	/* One that libvirt no longer has still gives back what its record says. */
	fake_undefine(&rig->fake, "vm77");
	rig_must(rig, &RELEASE_OF(VM77, "pair1"));
	expect_recorded(rig, "pair0");
}

/* fault 61: whatever fails of the second, and when: the first stays whole. */
TEST(a_second_that_fails_leaves_the_first_as_it_was)
{
	static const struct {
		bool runs;
		FakeFault fault;
	} rows[] = {
		{ false, { FAKE_DEFINE, 1, .problem = GPUPASS_ERROR_DEFINE_FAILED } },
		{ false, { FAKE_DEFINE, 1, .problem = GPUPASS_ERROR_DEFINE_FAILED, .late = true } },
		{ true, { FAKE_DEFINE, 1, .problem = GPUPASS_ERROR_DEFINE_FAILED } },
		{ true, { FAKE_DEFINE, 1, .problem = GPUPASS_ERROR_DEFINE_FAILED, .late = true } },
		{ true, { FAKE_ATTACH, 3, .problem = GPUPASS_ERROR_ATTACH_FAILED } },
		{ true, { FAKE_ATTACH, 4, .problem = GPUPASS_ERROR_ATTACH_FAILED, .late = true } },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		arrange[rows[i].runs](rig);
		rig_must(rig, &ASSIGN);
		fake_watch(&rig->fake);
		fake_fail(&rig->fake, &rows[i].fault);
		rig_fails(rig, &SECOND, rows[i].fault.problem, "it fails as it was told to");
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
	rig->fake.two_nodes = true;
	rig_shut_off(rig);
	rig_note_world(rig);
	rig_must(rig, &assign_request("vm42", "pair0", .plan.numa = FIT_APPLY));
	assert_true(is_placed(rig, "0"));
	rig_must(rig, &SECOND);
	assert_null(strstr(fake_domain(&rig->fake, "vm42")->config_xml, "<numatune>"));
	rig_must(rig, &release_request("pair0"));
	assert_true(is_placed(rig, "1"));
	rig_must(rig, &release_request("pair1"));
	rig_check_noted(rig);
}
