/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which domains a plan refuses, and groups of which somebody else has a part. */
#include "rig/test.h"

#include "plan-checks.h"

static void transient(PlanModel *m)
{
	model_domain(m, NULL, "q35-eight-ports-live");
}

static void live_while_shut_off(PlanModel *m)
{
	m->request.live = true;
}

static void malformed_hostdev(PlanModel *m)
{
	char *at;

	model_domain(m, "q35-other-tools", NULL);
	model_observe(m);
	at = strstr(m->config_xml, "bus='0xa1' slot='0x00'");
	assert_non_null(at);
	at[strlen("bus='0x")] = 'z';
}

static void no_ports(PlanModel *m)
{
	char *at;

	model_domain(m, "q35-eight-ports", "q35-eight-ports-live");
	at = strstr(m->live_xml, "index='8' model='pcie-root-port'");
	memcpy(strstr(at, "pcie-root-port'"), "pcie-root-porx'", strlen("pcie-root-porx'"));
}

static void no_acpi(PlanModel *m)
{
	model_domain(m, "q35-eight-ports", "q35-eight-ports-live");
	memcpy(strstr(m->live_xml, "<acpi/>"), "<apci/>", strlen("<apci/>"));
}

static void unsupported_machine(PlanModel *m)
{
	model_domain(m, "i440fx", NULL);
	memcpy(strstr(m->config_xml, "pc-i440fx"), "xx-i440fx", strlen("xx-i440fx"));
}

/* field: domains/08 */
static void no_hotplug(PlanModel *m)
{
	static const char root[] = "model='pci-root'";
	char *at, *text;

	model_domain(m, "i440fx", "i440fx");
	at = strstr(m->live_xml, root) + strlen(root);
	text = strf("%.*s><target hotplug='off'/></controller>%s", (int)(at - m->live_xml),
		    m->live_xml, at + strlen("/>"));
	free(m->live_xml);
	m->live_xml = text;
}

TEST(a_domain_must_be_able_to_take_it)
{
	static const Refusal rows[] = {
		{ "transient", transient, GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "vm42 is transient",
		  NULL, "define it first" },
		{ "live while shut off", live_while_shut_off, GPUPASS_ERROR_INVALID_ARGUMENT,
		  "vm42 is shut off", NULL, "--live" },
		{ "malformed hostdev", malformed_hostdev, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		  "domain vm42 has a PCI function of the host whose address cannot be read",
		  "bus='0xz1'", "virsh edit vm42" },
		{ "ports", no_ports, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		  "running vm42 has 3 free pcie-root-ports, and 4 are needed", NULL,
		  "shut it down and assign, or define 1 more pcie-root-ports" },
		{ "ACPI", no_acpi, GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "running vm42 has no ACPI",
		  NULL, "shut it down and assign" },
		{ "hotplug", no_hotplug, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		  "running vm42 has 0 free PCI slots", "pci-root has hotplug='off'",
		  "shut it down and assign" },
		{ "machine", unsupported_machine, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		  "its machine type is not supported", "xx-i440fx-7.2", "q35" },
	};

	check_refusals(rows, ELEMENTS(rows));
}

static void other_has_it(PlanModel *m)
{
	model_other_domain(m, "vm1", true, pair0_functions, "pair0");
}

/* field: host/05 */
static void other_has_it_by_argument(PlanModel *m)
{
	model_other_domain(m, "vm9", false, one_function, NULL)->hostdevs[0].argument = true;
}

static void has_it_by_argument(PlanModel *m)
{
	static const char tail[] =
		"<qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
		"<qemu:arg value='-device'/><qemu:arg value='vfio-pci,host=41:00.0'/>"
		"</qemu:commandline></domain>";
	char *before;

	model_domain(m, "q35", NULL);
	before = m->config_xml;
	*strstr(before, "</domain>") = '\0';
	m->config_xml = strf("%s%s", before, tail);
	free(before);
}

static void other_has_a_record(PlanModel *m)
{
	model_other_domain(m, "vm1", false, one_function + 1, NULL);
	host_assignment(&m->host, "pair0", "vm1", 1, pair0_functions);
}

static void gone_domain_has_a_record(PlanModel *m)
{
	host_assignment(&m->host, "pair0", "vm1", 1, pair0_functions);
}

/* Its boards were moved since, so that the name is another group's now. */
static void other_is_marked(PlanModel *m)
{
	static const char *const elsewhere[] = { "0000:e1:00.0", NULL };
	DomainUse *use = model_other_domain(m, "vm1", false, elsewhere, "pair0");

	use->hostdevs[0].alias = strdup("ua-gpupass-pair0-0");
}

static void another_is_not_read(PlanModel *m)
{
	DomainUse *use = model_other_domain(m, "vm1", false, one_function + 1, NULL);

	use->unread = strdup("it is longer than 33554432 bytes");
}

static void part_of_it_by_hand(PlanModel *m)
{
	put_by_hand(m, 2);
}

static void other_boards_than_recorded(PlanModel *m)
{
	model_record(m, "nvidia", NULL)->functions[2].device = 0x2231;
}

static void part_of_it_runs(PlanModel *m)
{
	model_record(m, "nvidia", NULL);
	model_bind_pair0(m);
	model_domain(m, "q35-eight-ports-assigned", "q35-eight-ports-live");
	add_devices(&m->live_xml, "<hostdev mode='subsystem' type='pci'><source><address "
				  "bus='0x41' slot='0'/></source></hostdev>");
}

TEST(a_group_goes_to_one_domain_or_none)
{
	static const Refusal rows[] = {
		{ "other domain", other_has_it, GPUPASS_ERROR_GROUP_BUSY, "vm1 has it",
		  "domain vm1 (00000000-0000-0000-0000-000000000001, running) is running with it "
		  "and defined with it: 0000:41:00.0",
		  "gpupass release vm1" },
		{ "foreign, shut off", other_has_one_function_by_hand, GPUPASS_ERROR_FOREIGN_OWNER,
		  "vm9 has 0000:61:00.1, without gpupass", "shut off) is defined with it",
		  "virsh edit vm9" },
		{ "foreign, running", other_runs_with_one_function_by_hand,
		  GPUPASS_ERROR_FOREIGN_OWNER, "vm9 has 0000:61:00.1, without gpupass",
		  "running) is running with it: 0000:61:00.1", "virsh edit vm9" },
		{ "foreign, by an argument", other_has_it_by_argument, GPUPASS_ERROR_FOREIGN_OWNER,
		  "vm9 has 0000:61:00.1, without gpupass", "is defined with it",
		  "take the QEMU argument out of that domain: virsh edit vm9" },
		{ "by its own argument", has_it_by_argument, GPUPASS_ERROR_FOREIGN_OWNER,
		  "vm42 has 0000:41:00.0 by a QEMU argument", "<qemu:commandline>",
		  "virsh edit vm42" },
		{ "record", other_has_a_record, GPUPASS_ERROR_GROUP_BUSY, "it is assigned to vm1",
		  "the record of domain 0000", "gpupass release vm1" },
		{ "orphaned record", gone_domain_has_a_record, GPUPASS_ERROR_GROUP_BUSY,
		  "it is assigned to vm1", "which libvirt no longer has", "gpupass release pair0" },
		{ "mark", other_is_marked, GPUPASS_ERROR_GROUP_BUSY, "vm1 is marked as having it",
		  NULL, "gpupass release vm1" },
		{ "not read", another_is_not_read, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		  "whether domain vm1 (00000000-0000-0000-0000-000000000001) has a part of it",
		  "the XML of vm1: it is longer than",
		  "virsh desc 00000000-0000-0000-0000-000000000001" },
		{ "part by hand", part_of_it_by_hand, GPUPASS_ERROR_SPLIT_GROUP,
		  "vm42 has only a part of it", "vm42 has 0000:41:00.0 and lacks 0000:61:00.0",
		  "virsh edit vm42" },
		{ "all by hand", all_of_it_by_hand, GPUPASS_ERROR_FOREIGN_OWNER,
		  "vm42 has it already, put there without gpupass", "0000:41:00.0",
		  "virsh edit vm42" },
		{ "other boards", other_boards_than_recorded, GPUPASS_ERROR_GROUP_BUSY,
		  "its boards are not those that were assigned",
		  "0000:61:00.0 was 10de:2231 (subsystem 10de:1459), now it is another board",
		  "gpupass release vm42" },
		{ "part runs", part_of_it_runs, GPUPASS_ERROR_SPLIT_GROUP,
		  "running vm42 has only 1 of its 4 functions", NULL, "gpupass release vm42" },
	};

	check_refusals(rows, ELEMENTS(rows));
}

static void make_plan(PlanModel *m, Operation operation)
{
	m->request.operation = operation;
	if (model_plan(m) != 0)
		fail_msg("%s: %s", operation_to_string(operation),
			 m->problem ? m->problem->reason : "errno");
	model_done(m);
}

TEST(a_domain_that_is_not_read_keeps_from_assign_only)
{
	static const Operation without_domain[] = { OPERATION_BIND, OPERATION_UNBIND };
	PlanModel m;

	for (size_t i = 0; i < ELEMENTS(without_domain); i++) {
		m = model_new();
		m.without_domain = true;
		another_is_not_read(&m);
		make_plan(&m, without_domain[i]);
	}
	m = model_new();
	model_record(&m, "nvidia", NULL);
	model_bind_pair0(&m);
	model_domain(&m, "q35-assigned", NULL);
	another_is_not_read(&m);
	make_plan(&m, OPERATION_RELEASE);
	m = model_new();
	model_record(&m, "nvidia", NULL);
	model_domain(&m, "q35-assigned", NULL);
	another_is_not_read(&m);
	make_plan(&m, OPERATION_RECONCILE);
}

TEST(a_mark_alone_keeps_nobody_from_anything)
{
	PlanModel m = model_new();

	model_other_domain(&m, "vm1", false, one_function + 1, "pair0");
	make_plan(&m, OPERATION_ASSIGN);
	m = model_new();
	m.without_domain = true;
	model_other_domain(&m, "vm1", false, one_function + 1, "pair0");
	make_plan(&m, OPERATION_UNBIND);
}
