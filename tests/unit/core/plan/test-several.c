/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans for a domain that has several groups: vm42 has pair0, and pair1 comes or goes. */
#include "rig/test.h"

#include "core/group/record.h"
#include "plan-checks.h"

static const char *const pair1_functions[] = { "0000:a1:00.0", "0000:a1:00.1", "0000:c1:00.0",
					       "0000:c1:00.1", NULL };

/* vm42 is shut off and has pair0, by record and definition; the plan is about pair1. */
static void has_pair0(PlanModel *m)
{
	model_bind_pair0(m);
	model_domain(m, "q35-assigned", NULL);
	model_record(m, "nvidia", NULL);
	m->group = "pair1";
}

/* What the definition has after the plan: the groups by name, and how many hostdevs. */
static void expect_after(const PlanModel *m, const char *groups, size_t n_hostdevs)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *names = NULL;
	_cleanup_(domain_use_clear) DomainUse use = { 0 };

	assert_non_null(m->plan->xml_after);
	assert_int_equal(domain_use_from_xml(NULL, m->plan->xml_after, &use, &problem), 0);
	names = strv_join(use.gpupass_groups, "+");
	assert_string_equal(names, groups);
	assert_int_equal(use.n_hostdevs, n_hostdevs);
}

TEST(a_second_group_comes_beside_the_first)
{
	_cleanup_(model_done) PlanModel m = model_new();

	has_pair0(&m);
	check_planned(&m, "assign beside pair0");
	assert_int_equal(m.plan->n_functions, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(BDF_TEXT(&m.plan->functions[i].bdf), pair1_functions[i]);
	assert_string_equal(m.plan->assignment->group_name, "pair1");
	expect_after(&m, "pair0+pair1", 8);
}

/* The definition with both, as the plan above leaves it. */
static void has_both(PlanModel *m)
{
	Assignment *second;
	PlanModel before = model_new();

	has_pair0(&before);
	check_planned(&before, "assign beside pair0");
	has_pair0(m);
	free(m->config_xml);
	m->config_xml = strdup(before.plan->xml_after);
	model_done(&before);
	for (size_t i = 0; pair1_functions[i]; i++)
		model_drive(m, pair1_functions[i], "vfio-pci", "vfio-pci");
	second = host_assignment(&m->host, "pair1", "vm42", 1, pair1_functions);
	model_set(&second->domain_uuid, VM42);
}

static const char *const names[] = { "pair0", "pair1" };

TEST(each_is_released_alone)
{
	for (size_t i = 0; i < ELEMENTS(names); i++)
		ON_MODEL((check_planned(m, names[i]),
			  assert_string_equal(m->plan->assignment->group_name, names[i]),
			  expect_after(m, names[1 - i], 4)),
			 asks(m, OPERATION_RELEASE), has_both(m), m->group = names[i]);
}

TEST(both_are_as_they_should_be)
{
	for (size_t i = 0; i < 2 * ELEMENTS(names); i++)
		ON_MODEL((expect_plan(m, names[i / 2], "", NULL),
			  assert_int_equal(host_group(&m->host, m->group)->state, GROUP_ASSIGNED)),
			 asks(m, i % 2 ? OPERATION_RECONCILE : OPERATION_ASSIGN), has_both(m),
			 m->group = names[i / 2]);
}

/* Somebody edited one of them; reconcile mends that one and leaves the other as it is. */
TEST(reconcile_mends_one_and_leaves_the_other)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	DomainXml *xml = NULL;
	bool changed;
	const Bdf lost[] = { bdf_of(pair1_functions[0]), bdf_of(pair1_functions[1]) };
	_cleanup_(model_done) PlanModel m = model_new();

	has_both(&m);
	assert_int_equal(domain_xml_parse(m.config_xml, &xml, &problem), 0);
	domain_xml_remove_devices(xml, "no-such", lost, 2, &changed);
	assert_true(changed);
	free(m.config_xml);
	m.config_xml = domain_xml_to_text(xml);
	domain_xml_free(xml);
	m.request.operation = OPERATION_RECONCILE;
	check_planned(&m, "reconcile pair1");
	expect_after(&m, "pair0+pair1", 8);
}

/* A tenant who may write metadata adds a name: that gives its domain nothing of the other group. */
TEST(a_name_in_the_mark_alone_is_no_group)
{
	/* Only the name goes, and pair0 stays as it is. */
	ON_MODEL((check_planned(m, "release"), expect_after(m, "pair0", 4),
		  assert_null(m->plan->assignment)),
		 asks(m, OPERATION_RELEASE), has_pair0(m),
		 model_edit(&m->config_xml, "<gpupass:assignment", "/>",
			    "><gpupass:also group=\"pair1\"/></gpupass:assignment>"));
}

/* Notes beside no name, or beside names that nothing backs, take nothing of the operator's away. */
TEST(notes_that_nobody_vouches_for_remove_nothing)
{
	static const char *const marks[] = {
		"<g:assignment xmlns:g='urn:gpupass:domain:1'>"
		"<g:added what='numatune' value='strict 0'/></g:assignment>",
		"<g:assignment xmlns:g='urn:gpupass:domain:1' group='pair0'>"
		"<g:also group='pair1'/><g:added what='numatune' value='strict 0'/></g:assignment>",
	};

	for (size_t i = 0; i < ELEMENTS(marks); i++) {
		_cleanup_free_ char *added = strf(
			"<metadata>%s</metadata><numatune><memory mode='strict' nodeset='0'/></numatune><vcpu",
			marks[i]);
		_cleanup_(model_done) PlanModel m = model_new();

		model_domain(&m, "q35", NULL);
		model_edit(&m.config_xml, NULL, "<vcpu", added);
		check_planned(&m, "assign");
		if (!strstr(m.plan->xml_after, "<numatune>"))
			fail_msg("row %zu: the operator's numatune is gone", i);
		assert_null(strstr(m.plan->xml_after, "strict 0"));
	}
}
