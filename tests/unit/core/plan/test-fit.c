/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a plan does with a domain that does not fit: warn, write, or refuse. */
#include "rig/test.h"

#include "plan-checks.h"

static HostNode nodes[] = {
	{ .node = 0, .cpus = (char *)"0-31", .memory_bytes = 128ULL << 30 },
	{ .node = 1, .cpus = (char *)"32-63", .memory_bytes = 128ULL << 30 },
};
static const HostFacts host = {
	.physical_bits = 46,
	.nodes = nodes,
	.n_nodes = ELEMENTS(nodes),
	.memory_bytes = 256ULL << 30,
};

/* pair0 on node 0 of two; vm42 is bound to none. */
static PlanModel make(FitMode numa, FitMode fit)
{
	PlanModel m = model_new();

	for (size_t i = 0; i < m.host.snapshot->n_functions; i++)
		m.host.snapshot->functions[i]->numa_node = 0;
	m.facts = &host;
	m.request.numa = numa;
	m.request.fit = fit;
	return m;
}

TEST(findings_are_warnings_and_members_of_the_plan)
{
	_cleanup_(model_done) PlanModel m = make(FIT_ADVISE, FIT_ADVISE);

	expect_shown(&m, "fit");
	assert_null(strstr(m.plan->xml_after, "numatune"));
}

TEST(what_is_not_known_changes_nothing)
{
	_cleanup_(model_done) PlanModel m = make(FIT_STRICT, FIT_STRICT);

	m.facts = NULL;
	check_planned(&m, "strict");
	check_warning(&m, "strict", NULL);
}

TEST(strict_refuses_with_the_finding_and_its_remedy)
{
	PlanModel m = make(FIT_STRICT, FIT_ADVISE);

	expect_refusal(&m, "strict", GPUPASS_ERROR_DOES_NOT_FIT, "vm42 does not fit it",
		       "may be on any NUMA node", "--numa=advise");
	model_done(&m);
	m = make(FIT_ADVISE, FIT_STRICT);
	check_planned(&m, "advise");
	model_done(&m);
}

TEST(a_running_domain_alone_is_told_that_nothing_is_written)
{
	_cleanup_(model_done) PlanModel m = make(FIT_APPLY, FIT_ADVISE);

	m.request.live = true;
	model_domain(&m, "q35-eight-ports", "q35-eight-ports-live");
	check_planned(&m, "live");
	assert_false(m.plan->config);
	check_warning(&m, "live",
		      "nothing is written so that vm42 fits: its definition is not changed");
}

TEST(apply_writes_into_the_one_definition_and_release_takes_it_out)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	_cleanup_free_ char *before = NULL, *after = NULL;
	PlanModel m = make(FIT_APPLY, FIT_APPLY);

	assert_int_equal(model_plan(&m), 0);
	assert_null(m.plan->warnings);
	assert_non_null(strstr(m.plan->xml_after, "<memory mode=\"preferred\" nodeset=\"0\"/>"));
	assert_non_null(strstr(m.plan->xml_after, "cpuset=\"0-31\""));
	assert_int_equal(m.plan->fit->n_items, 2);
	assert_int_equal(m.plan->fit->items[0].id, FIT_APPLIED);
	assert_int_equal(domain_xml_parse(m.plan->xml_before, &xml, NULL), 0);
	before = domain_xml_to_text(xml); /* with the quotes that libxml2 writes */
	after = strdup(m.plan->xml_after);
	model_done(&m);

	m = make(FIT_ADVISE, FIT_ADVISE);
	m.request.operation = OPERATION_RELEASE;
	m.config_xml = strdup(after);
	model_record(&m, "nvidia", NULL);
	model_bind_pair0(&m);
	assert_int_equal(model_plan(&m), 0);
	assert_string_equal(before, m.plan->xml_after);
	model_done(&m);
}
