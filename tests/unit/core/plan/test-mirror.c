/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan gives a domain the host's tree, shows it, and a release takes all of it out again. */
#include "rig/test.h"

#include "plan-checks.h"

static const HostFacts one_node = { .n_nodes = 1, .libvirt_version = LIBVIRT_VERSION(9, 0) };
static const HostFacts no_nodes = { .libvirt_version = LIBVIRT_VERSION(9, 0) };
static const HostFacts no_version = { .n_nodes = 1 };
static const HostFacts too_old = { .n_nodes = 1, .libvirt_version = LIBVIRT_VERSION(1, 3) };

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
	m.request.asks_topology = true;
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

#define OWN_EXPANDERS                                                                              \
	"<controller type='pci' index='20' model='pcie-expander-bus'><target busNr='200'/>"        \
	"<address type='pci' domain='0' bus='0' slot='0x11' function='0'/></controller>"           \
	"<controller type='pci' index='21' model='pcie-root-port'>"                                \
	"<target chassis='21' port='0'/>"                                                          \
	"<address type='pci' domain='0' bus='20' slot='0' function='0'/></controller></devices>"
#define CELLS                                                                                      \
	"<cpu><numa><cell id='0' cpus='0' memory='512' unit='MiB'/>"                               \
	"<cell id='1' memory='512' unit='MiB'/></numa></cpu><numatune>"                            \
	"<memnode cellid='0' mode='strict' nodeset='0'/></numatune><devices>"

TEST(a_release_gives_the_definition_back_byte_for_byte)
{
	/* With what is put in place of what. */
	static const struct {
		const char *domain, *old, *new;
	} rows[] = {
		{ "q35", "<devices>", "<devices>" },
		{ "q35-eight-ports", "<devices>", "<devices>" },
		{ "q35-other-tools", "<devices>", "<devices>" },
		{ "q35-twelve-ports", "<devices>", "<devices>" },
		{ "q35", "</devices>", OWN_EXPANDERS },
		{ "q35-eight-ports", "</devices>", OWN_EXPANDERS },
		{ "q35-other-tools", "</devices>", OWN_EXPANDERS },
		{ "q35", "<devices>", CELLS },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *before = NULL, *after = NULL;
		PlanModel m = mirrored();

		model_domain(&m, rows[i].domain, NULL);
		model_edit(&m.config_xml, NULL, rows[i].old, rows[i].new);
		check_planned(&m, rows[i].domain);
		assert_int_equal(m.plan->mirror->n_nodes, 7);
		assert_int_equal(m.plan->assignment->topology, TOPOLOGY_MIRROR);
		before = as_written(m.plan->xml_before);
		after = xstrdup(m.plan->xml_after);
		assert_non_null(strstr(after, "pcie-switch-upstream-port"));
		model_done(&m);

		m = mirrored();
		m.request.operation = OPERATION_RELEASE;
		m.config_xml = xstrdup(after);
		model_record(&m, "nvidia", NULL);
		model_bind_pair0(&m);
		check_planned(&m, rows[i].domain);
		assert_string_equal(before, m.plan->xml_after);
		assert_null(m.plan->mirror);
		model_done(&m);
	}
}

/* vm42 has pair1, too, whose boards hang below that root port, or elsewhere. */
static void with_pair1(PlanModel *m, bool near)
{
	static const char *const pair1[] = { "0000:a1:00.0", "0000:c1:00.0" };

	for (size_t i = 0; i < ELEMENTS(pair1); i++) {
		PciFunction *f = model_function(m, pair1[i]);
		_cleanup_free_ char *hostdev = strf(
			"<hostdev mode='subsystem' type='pci' managed='no'><source><address "
			"domain='0' bus='%u' slot='0' function='0'/></source></hostdev></devices>",
			f->bdf.bus);

		model_edit(&m->config_xml, NULL, "</devices>", hostdev);
		free(f->upstream);
		f->n_upstream = near ? 2 : 1;
		f->upstream = xcalloc(2, sizeof(Bdf));
		f->upstream[0] = bdf_of(near ? "0000:40:01.0" : "0000:a0:01.0");
		f->upstream[1] = bdf_of("0000:42:00.0");
		f->numa_node = 0;
	}
}

#define MIRRORED(...)                                                                              \
	(put_below_a_switch(m), m->facts = &one_node, m->request.topology = TOPOLOGY_MIRROR,       \
	 m->request.asks_topology = true, __VA_ARGS__)

TEST(what_is_near_to_another_groups_is_told_for_the_guest_sees_it_far)
{
	static const char steps[] = "preflight, bind vfio-pci, define, verify, record";

	PLANNED("below one switch", steps,
		"0000:41:00.0 is near to 0000:a1:00.0 on the host, and not in the guest",
		MIRRORED(model_domain(m, "q35", NULL), with_pair1(m, true)));
	PLANNED("below another host bridge", steps, NULL,
		MIRRORED(model_domain(m, "q35", NULL), with_pair1(m, false)));
}

TEST(what_cannot_be_mirrored_is_refused)
{
	REFUSED("a running domain", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"running vm42 cannot get the host's topology", "cannot be hotplugged", "--config",
		MIRRORED(m->request.live = true,
			 model_domain(m, "q35-eight-ports", "q35-eight-ports-live")));
	REFUSED("a running domain that was assigned so", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"running vm42 cannot get the host's topology", "cannot be hotplugged", "--config",
		MIRRORED(m->request.asks_topology = false,
			 model_record(m, "nvidia", NULL)->topology = TOPOLOGY_MIRROR,
			 model_domain(m, "q35-eight-ports", "q35-eight-ports-live")));
	REFUSED("--live --topology=flat of one that was assigned so",
		GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "running vm42 cannot get the host's topology",
		"--live alone changes no topology that is assigned", "--config",
		MIRRORED(m->request.topology = TOPOLOGY_FLAT, m->request.live = true,
			 model_record(m, "nvidia", NULL)->topology = TOPOLOGY_MIRROR,
			 model_domain(m, "q35-eight-ports", "q35-eight-ports-live")));
	REFUSED("the same where the guest has it", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"running vm42 cannot get the host's topology",
		"--live alone changes no topology that is assigned", "--config",
		MIRRORED(m->request.topology = TOPOLOGY_FLAT, m->request.live = true,
			 model_record(m, "nvidia", NULL)->topology = TOPOLOGY_MIRROR,
			 model_domain(m, "q35-assigned", "q35-assigned")));
	REFUSED("an old libvirt", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"its guest cannot have the host's topology",
		"libvirt is 1.3.0, and pcie-expander-bus needs 1.3.4", "--topology=flat",
		MIRRORED(m->facts = &too_old));
	REFUSED("libvirt of no version", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"its guest cannot have the host's topology", "is not known", "--topology=flat",
		MIRRORED(m->facts = &no_version));
	REFUSED("i440fx", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"its guest cannot have the host's topology", "for q35 only", "--topology=flat",
		MIRRORED(model_domain(m, "i440fx", NULL)));
	REFUSED("nodes that are not known", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"its guest cannot have the host's topology", "does not tell the NUMA node",
		"--topology=flat",
		MIRRORED(m->facts = &no_nodes, model_function(m, "0000:61:00.0")->numa_node = -1,
			 model_function(m, "0000:61:00.0")->n_upstream = 0));
}
