/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan gives a domain the host's tree, shows it, and a release takes all of it out again. */
#include "rig/test.h"

#include "plan-checks.h"

static const HostFacts one_node = { .n_nodes = 1 };

/* Both boards of pair0 below one switch. */
static void put_below_a_switch(PlanModel *m)
{
	for (size_t i = 0; i < 4; i++) {
		PciFunction *f = model_function(m, pair0_functions[i]);
		const char *path[] = { "0000:40:01.0", "0000:42:00.0",
				       i < 2 ? "0000:43:00.0" : "0000:43:01.0" };

		free(f->upstream);
		f->n_upstream = ELEMENTS(path);
		f->upstream = xcalloc(ELEMENTS(path), sizeof(Bdf));
		for (size_t k = 0; k < ELEMENTS(path); k++)
			f->upstream[k] = bdf_of(path[k]);
		f->numa_node = 0;
	}
}

static PlanModel mirrored(void)
{
	PlanModel m = model_new();

	put_below_a_switch(&m);
	m.facts = &one_node;
	m.request.topology = TOPOLOGY_MIRROR;
	return m;
}

TEST(a_mirrored_tree_is_shown_beside_the_hosts)
{
	_cleanup_(model_done) PlanModel m = mirrored();

	expect_shown(&m, "mirror");
}

TEST(a_flat_plan_has_no_tree)
{
	_cleanup_(model_done) PlanModel m = mirrored();

	m.request.topology = TOPOLOGY_FLAT;
	check_planned(&m, "flat");
	assert_null(m.plan->mirror);
	assert_null(strstr(m.plan->xml_after, "pcie-expander-bus"));
}

/* The text with the quotes that libxml2 writes. */
static char *as_written(const char *text)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;

	assert_int_equal(domain_xml_parse(text, &xml, NULL), 0);
	return domain_xml_to_text(xml);
}

TEST(a_release_gives_the_definition_back_byte_for_byte)
{
	static const char *const domains[] = { "q35", "q35-eight-ports", "q35-other-tools",
					       "q35-twelve-ports" };

	for (size_t i = 0; i < ELEMENTS(domains); i++) {
		_cleanup_free_ char *before = NULL, *after = NULL;
		PlanModel m = mirrored();

		model_domain(&m, domains[i], NULL);
		check_planned(&m, domains[i]);
		assert_int_equal(m.plan->mirror->n_nodes, 7);
		before = as_written(m.plan->xml_before);
		after = xstrdup(m.plan->xml_after);
		assert_non_null(strstr(after, "pcie-switch-upstream-port"));
		model_done(&m);

		m = mirrored();
		m.request.operation = OPERATION_RELEASE;
		m.config_xml = xstrdup(after);
		model_record(&m, "nvidia", NULL);
		model_bind_pair0(&m);
		check_planned(&m, domains[i]);
		assert_string_equal(before, m.plan->xml_after);
		assert_null(m.plan->mirror);
		model_done(&m);
	}
}

#define MIRRORED(...)                                                                              \
	(put_below_a_switch(m), m->facts = &one_node, m->request.topology = TOPOLOGY_MIRROR,       \
	 __VA_ARGS__)

TEST(what_cannot_be_mirrored_is_refused)
{
	REFUSED("a running domain", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"running vm42 cannot get the host's topology", "cannot be hotplugged", "--config",
		MIRRORED(m->request.live = true,
			 model_domain(m, "q35-eight-ports", "q35-eight-ports-live")));
	REFUSED("i440fx", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"its guest cannot have the host's topology", "for q35 only", "--topology=flat",
		MIRRORED(model_domain(m, "i440fx", NULL)));
	REFUSED("nodes that are not known", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"its guest cannot have the host's topology", "is not known", "--topology=flat",
		MIRRORED(m->facts = NULL, model_function(m, "0000:61:00.0")->numa_node = -1,
			 model_function(m, "0000:61:00.0")->n_upstream = 0));
}
