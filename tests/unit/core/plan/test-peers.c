/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peer access over PCIe is planned where it is known to work, kept, and taken out again. */
#include "rig/test.h"

#include "plan-checks.h"

static const HostFacts new_host = {
	.libvirt_version = LIBVIRT_VERSION(8, 2),
	.hypervisor_version = LIBVIRT_VERSION(8, 1),
	.kernel_major = 6,
	.kernel_minor = 19,
};

#define CLIQUE "x-nv-gpudirect-clique"

static void on_kvm(PlanModel *m, const char *config, const char *live)
{
	model_domain(m, config, live);
	model_edit(&m->config_xml, NULL, "type='qemu'", "type='kvm'");
	if (live)
		model_edit(&m->live_xml, NULL, "type='qemu'", "type='kvm'");
}

static void peers_of(PlanModel *m)
{
	on_kvm(m, "q35", NULL);
	m->facts = &new_host;
	m->request.peer_access = PEER_ACCESS_ON;
}

static void device(PlanModel *m, uint16_t id)
{
	for (size_t i = 0; pair0_functions[i]; i++)
		model_function(m, pair0_functions[i])->device = id;
	gpu_set_free(m->host.set);
	host_seal(&m->host);
}

#define PEERS(...) (peers_of(m), __VA_ARGS__)
#define WITHOUT(name, words, ...)                                                                  \
	REFUSED(name, GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "vm42 cannot have peer access over PCIe",  \
		words, "assign without --peer-access", PEERS(__VA_ARGS__))
#define ON_HOST(...) (facts = new_host, __VA_ARGS__, m->facts = &facts)

TEST(what_may_not_work_is_refused)
{
	HostFacts facts;

	WITHOUT("an old libvirt", "libvirt is 8.1.0, and that needs 8.2.0",
		ON_HOST(facts.libvirt_version = LIBVIRT_VERSION(8, 1)));
	WITHOUT("a libvirt that is not known", "the version of libvirt is not known",
		ON_HOST(facts.libvirt_version = 0));
	WITHOUT("nothing is known of the host", "the version of libvirt is not known",
		m->facts = NULL);
	WITHOUT("an old QEMU", "QEMU is 8.0.0, and boards from Turing on need 8.1.0",
		ON_HOST(facts.hypervisor_version = LIBVIRT_VERSION(8, 0)));
	WITHOUT("a QEMU that is not known",
		"the version of QEMU is not known, and boards from Turing on need 8.1.0",
		ON_HOST(facts.hypervisor_version = 0));
	WITHOUT("hidden KVM", "hides KVM from its guest",
		model_edit(&m->config_xml, NULL, "<acpi/>",
			   "<acpi/><kvm><hidden state='on'/></kvm>"));
	WITHOUT("no KVM", "its hypervisor is not KVM", model_domain(m, "q35", NULL));
	REFUSED("GeForce boards", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"vm42 cannot have peer access over PCIe", "0000:41:00.0 is a GeForce board",
		"--peer-access=unsafe", PEERS(device(m, 0x2204)));
	REFUSED("boards that are not known", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"vm42 cannot have peer access over PCIe", "or not known", "--peer-access=unsafe",
		PEERS(device(m, 0x3fff)));
	WITHOUT("a hidden hypervisor past libvirt", "<qemu:commandline> has -cpu",
		model_edit(&m->config_xml, NULL, "</devices>",
			   "</devices><commandline xmlns='" QEMU_NAMESPACE "'><arg value='-cpu'/>"
			   "<arg value='host,kvm=off'/></commandline>"));
	WITHOUT("a QEMU of its own", "the version of its own <emulator> is not known",
		model_edit(&m->config_xml, NULL, "/usr/bin/qemu-system-x86_64", "/opt/bin/qemu"));
	REFUSED("iommufd", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"vm42 cannot have peer access over PCIe",
		"whether this QEMU maps the boards' memory by iommufd is not known", "<iommufd",
		PEERS(model_edit(&m->config_xml, NULL, "<os>", "<iommufd enabled='yes'/><os>")));
	WITHOUT("one board", "pair0 is one board",
		host_declare(&m->host, "[Group]\nName=pair0\n"
				       "Gpu=41:00.0\n"));
	REFUSED("a running domain", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"vm42 cannot have peer access over PCIe", "hotplugged", "--config",
		PEERS(on_kvm(m, "q35-eight-ports", "q35-eight-ports-live"),
		      m->request.live = true));
	REFUSED("a running domain that was assigned so", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"vm42 cannot have peer access over PCIe", "hotplugged", "--config",
		PEERS(on_kvm(m, "q35-eight-ports", "q35-eight-ports-live"), m->request.live = true,
		      m->request.peer_access = PEER_ACCESS_OFF,
		      model_record(m, "nvidia", NULL)->peer_access = PEER_ACCESS_ON));
}

#define STEPS "preflight, bind vfio-pci, define, verify, record"

TEST(what_is_known_to_work_is_planned)
{
	HostFacts facts;

	PLANNED("two boards", STEPS, "counts as tainted", peers_of(m));
	PLANNED("unsafe, of GeForce boards", STEPS, "counts as tainted",
		PEERS(device(m, 0x2204), m->request.peer_access = PEER_ACCESS_UNSAFE));
	PLANNED("boards before Turing on an old QEMU", STEPS, "counts as tainted",
		PEERS(device(m, 0x1dba),
		      ON_HOST(facts.hypervisor_version = LIBVIRT_VERSION(7, 2))));
	PLANNED("a QEMU of its own, of boards before Turing", STEPS, "counts as tainted",
		PEERS(device(m, 0x1dba), model_edit(&m->config_xml, NULL,
						    "/usr/bin/qemu-system-x86_64", "/opt/qemu")));
	PLANNED("the definition of one that runs", STEPS, "at its next start",
		PEERS(on_kvm(m, "q35-eight-ports", "q35-eight-ports-live"),
		      m->request.config = true));
}

/* As it is after an assign with peer access. */
static void assigned_with_it(PlanModel *m)
{
	PlanModel first = model_new();

	peers_of(&first);
	check_planned(&first, "assign");
	assert_non_null(strstr(first.plan->xml_after, CLIQUE));
	peers_of(m);
	free(m->config_xml);
	m->config_xml = TAKE_PTR(first.plan->xml_after);
	model_done(&first);
	model_record(m, "nvidia", NULL)->peer_access = PEER_ACCESS_ON;
	model_bind_pair0(m);
}

static void lose_a_clique(PlanModel *m)
{
	assigned_with_it(m);
	model_edit(&m->config_xml, NULL, CLIQUE, "x-other");
	m->request.peer_access = PEER_ACCESS_OFF;
}

TEST(it_is_kept_until_the_release)
{
	PLANNED("of one that runs with it", "define, verify, record", "next start",
		PEERS(assigned_up(m),
		      model_edit(&m->config_xml, NULL, "type='qemu'", "type='kvm'")));
	PLANNED("the same again", "", NULL, assigned_with_it(m));
	PLANNED("without the option", "", NULL,
		(assigned_with_it(m), m->request.peer_access = PEER_ACCESS_OFF));
	PLANNED("the record lacks it", "preflight, verify, record", NULL,
		(assigned_with_it(m), m->host.assignments->items[0]->peer_access = 0));
	PLANNED("nothing to reconcile", "", NULL,
		(assigned_with_it(m), asks(m, OPERATION_RECONCILE)));
	REFUSED("an override of somebody's is in its place", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"has a <qemu:override> of its own", "peer access", "virsh edit",
		(lose_a_clique(m), asks(m, OPERATION_RECONCILE)));
	REFUSED("the domain hides KVM by now", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"vm42 cannot have peer access over PCIe", "hides KVM",
		"if it is assigned with it, gpupass release first",
		(lose_a_clique(m), model_edit(&m->config_xml, NULL, "<acpi/>",
					      "<acpi/><kvm><hidden state='on'/></kvm>")));
}

/* Somebody wrote it who is not us; what else is to be written would take it away. */
static void given_by_hand(PlanModel *m)
{
	assigned_with_it(m);
	m->host.assignments->items[0]->peer_access = PEER_ACCESS_OFF;
	m->request.peer_access = PEER_ACCESS_OFF;
	model_edit(&m->config_xml, "61", "managed=\"no\"", "managed=\"yes\"");
}

TEST(peer_access_that_no_assignment_has_is_not_taken_away)
{
	static const char reason[] = "vm42 cannot have peer access over PCIe",
			  cause[] = "it gives 0000:41:00.0 what no assignment has";

	PLANNED("nothing else is to be written", "", NULL,
		(given_by_hand(m), model_edit(&m->config_xml, NULL, "\"yes\"", "\"no\"")));
	REFUSED("assign", GPUPASS_ERROR_UNSUPPORTED_DOMAIN, reason, cause, "virsh edit",
		(given_by_hand(m),
		 model_edit(&m->config_xml, "0x61", "function=\"0x1\"", "function=\"0x2\"")));
	REFUSED("reconcile", GPUPASS_ERROR_UNSUPPORTED_DOMAIN, reason, cause, "--peer-access",
		(given_by_hand(m), asks(m, OPERATION_RECONCILE)));
	PLANNED("release", "preflight, define, reset, give back, verify, forget", NULL,
		(given_by_hand(m), asks(m, OPERATION_RELEASE)));
}

TEST(a_release_gives_the_definition_back_byte_for_byte)
{
	PlanModel m = model_new();
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	_cleanup_free_ char *before = NULL;

	peers_of(&m);
	assert_int_equal(domain_xml_parse(m.config_xml, &xml, NULL), 0);
	before = domain_xml_to_text(xml);
	assigned_with_it(&m);
	asks(&m, OPERATION_RELEASE);
	check_planned(&m, "release");
	assert_string_equal(before, m.plan->xml_after);
	model_done(&m);
}

TEST(a_lost_record_is_written_with_it)
{
	PlanModel m = model_new();

	assigned_with_it(&m);
	asks(&m, OPERATION_RECONCILE);
	m.host.assignments->n_items = 0;
	m.request.peer_access = PEER_ACCESS_OFF;
	check_planned(&m, "reconcile");
	assert_int_equal(m.plan->assignment->peer_access, PEER_ACCESS_ON);
	m.host.assignments->n_items = 1;
	model_done(&m);
}

/* What is sold for games; a new row of the catalogue is judged by its name. */
TEST(geforce_boards_are_known_by_their_names)
{
	static const char games[] =
		"Titan V,CMP 100,Titan RTX,RTX 2080 Ti 12GB,RTX 2080 Ti,RTX 2080 Ti,CMP 50HX,"
		"RTX 2080 Super,RTX 2080,RTX 2070 Super,RTX 2080,RTX 2080 Mobile,"
		"RTX 2080 Super Mobile,RTX 2070 Super,RTX 2070 Super,RTX 2080 Mobile,"
		"RTX 2080 Super Mobile,CMP 170HX,RTX 3090 Ti,RTX 3090,RTX 3080 Ti 20GB,RTX 3080,"
		"RTX 3080 Ti,RTX 3080 12GB,CMP 90HX,RTX 3080 LHR,RTX 4090,RTX 5090,RTX 5090 D";
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *all = NULL;
	const Board *boards;
	size_t n;

	boards = board_table(&n);
	for (size_t i = 0; i < n; i++)
		if (!board_is_professional(&boards[i]))
			strv_append(&names, boards[i].name);
	all = strv_join(names, ",");
	assert_string_equal(all, games);
	assert_false(board_is_professional(NULL));
	assert_false(board_is_professional(board_find(0x10de, 0x1b80, 0)));
	assert_true(board_before_turing(0x1df6) && !board_before_turing(0x1e02));
}
