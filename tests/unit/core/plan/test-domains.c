/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which domains a plan refuses, and groups of which somebody else has a part. */
#include "rig/test.h"

#include "plan-checks.h"

TEST(a_domain_must_be_able_to_take_it)
{
	REFUSED("transient", GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "vm42 is transient", NULL,
		"define it first", model_domain(m, NULL, "q35-eight-ports-live"));
	REFUSED("live while shut off", GPUPASS_ERROR_INVALID_ARGUMENT, "vm42 is shut off", NULL,
		"--live", m->request.live = true);
	REFUSED("malformed hostdev", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"domain vm42 has a PCI function of the host whose address cannot be read",
		"bus='0xz1'", "virsh edit vm42", model_domain(m, "q35-other-tools", NULL),
		model_observe(m),
		model_edit(&m->config_xml, NULL, "bus='0xa1' slot='0x00'",
			   "bus='0xz1' slot='0x00'"));
	REFUSED("ports", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"running vm42 has 3 free pcie-root-ports, and 4 are needed", NULL,
		"shut it down and assign, or define 1 more pcie-root-ports",
		model_domain(m, "q35-eight-ports", "q35-eight-ports-live"),
		model_edit(&m->live_xml, "index='8'", "pcie-root-port'", "pcie-root-porx'"));
	REFUSED("ACPI", GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "running vm42 has no ACPI", NULL,
		"shut it down and assign",
		model_domain(m, "q35-eight-ports", "q35-eight-ports-live"),
		model_edit(&m->live_xml, NULL, "<acpi/>", "<apci/>"));
	/* field: domains/08 */
	REFUSED("hotplug", GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "running vm42 has 0 free PCI slots",
		"pci-root has hotplug='off'", "shut it down and assign",
		model_domain(m, "i440fx", "i440fx"),
		model_edit(&m->live_xml, NULL, "model='pci-root'/>",
			   "model='pci-root'><target hotplug='off'/></controller>"));
	REFUSED("machine", GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "its machine type is not supported",
		"xx-i440fx-7.2", "q35", model_domain(m, "i440fx", NULL),
		model_edit(&m->config_xml, NULL, "pc-i440fx", "xx-i440fx"));
}

static void another_is_not_read(PlanModel *m)
{
	model_other_domain(m, "vm1", false, one_function + 1, NULL)->unread =
		strdup("it is longer than 33554432 bytes");
}

TEST(a_group_goes_to_one_domain_or_none)
{
	REFUSED("other domain", GPUPASS_ERROR_GROUP_BUSY, "vm1 has it",
		"domain vm1 (00000000-0000-0000-0000-000000000001, running) is running with it "
		"and defined with it: 0000:41:00.0",
		"gpupass release vm1",
		model_other_domain(m, "vm1", true, pair0_functions, "pair0"));
	REFUSED("foreign, shut off", GPUPASS_ERROR_FOREIGN_OWNER,
		"vm9 has 0000:61:00.1, without gpupass", "shut off) is defined with it",
		"virsh edit vm9", other_has_one_function_by_hand(m));
	REFUSED("foreign, running", GPUPASS_ERROR_FOREIGN_OWNER,
		"vm9 has 0000:61:00.1, without gpupass",
		"running) is running with it: 0000:61:00.1", "virsh edit vm9",
		other_runs_with_one_function_by_hand(m));
	/* field: host/05 */
	REFUSED("foreign, by an argument", GPUPASS_ERROR_FOREIGN_OWNER,
		"vm9 has 0000:61:00.1, without gpupass", "is defined with it",
		"take the QEMU argument out of that domain: virsh edit vm9",
		model_other_domain(m, "vm9", false, one_function, NULL)->hostdevs[0].argument =
			true);
	REFUSED("by its own argument", GPUPASS_ERROR_FOREIGN_OWNER,
		"vm42 has 0000:41:00.0 by a QEMU argument", "<qemu:commandline>", "virsh edit vm42",
		model_domain(m, "q35", NULL),
		model_edit(
			&m->config_xml, NULL, "</domain>",
			"<qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
			"<qemu:arg value='-device'/><qemu:arg value='vfio-pci,host=41:00.0'/>"
			"</qemu:commandline></domain>"));
	REFUSED("record", GPUPASS_ERROR_GROUP_BUSY, "it is assigned to vm1",
		"the record of domain 0000", "gpupass release vm1",
		model_other_domain(m, "vm1", false, one_function + 1, NULL),
		host_assignment(&m->host, "pair0", "vm1", 1, pair0_functions));
	REFUSED("orphaned record", GPUPASS_ERROR_GROUP_BUSY, "it is assigned to vm1",
		"which libvirt no longer has", "gpupass release pair0",
		host_assignment(&m->host, "pair0", "vm1", 1, pair0_functions));
	/* Its boards were moved since, so that the name is another group's now. */
	REFUSED("mark", GPUPASS_ERROR_GROUP_BUSY, "vm1 is marked as having it", NULL,
		"gpupass release vm1", {
			static const char *const elsewhere[] = { "0000:e1:00.0", NULL };
			DomainUse *use = model_other_domain(m, "vm1", false, elsewhere, "pair0");

			use->hostdevs[0].alias = strdup("ua-gpupass-pair0-0");
		});
	REFUSED("not read", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"whether domain vm1 (00000000-0000-0000-0000-000000000001) has a part of it",
		"the XML of vm1: it is longer than",
		"virsh desc 00000000-0000-0000-0000-000000000001", another_is_not_read(m));
	REFUSED("part by hand", GPUPASS_ERROR_SPLIT_GROUP, "vm42 has only a part of it",
		"vm42 has 0000:41:00.0 and lacks 0000:61:00.0", "virsh edit vm42",
		put_by_hand(m, 2));
	REFUSED("all by hand", GPUPASS_ERROR_FOREIGN_OWNER,
		"vm42 has it already, put there without gpupass", "0000:41:00.0", "virsh edit vm42",
		put_by_hand(m, 4));
	REFUSED("other boards", GPUPASS_ERROR_GROUP_BUSY,
		"its boards are not those that were assigned",
		"0000:61:00.0 is 10de:2230 (subsystem 10de:1459) now and was 10de:2231 (subsystem "
		"10de:1459) when it was recorded",
		"gpupass release vm42",
		model_record(m, "nvidia", NULL)->functions[2].device = 0x2231);
	REFUSED("part runs", GPUPASS_ERROR_SPLIT_GROUP,
		"running vm42 has only 1 of its 4 functions", NULL, "gpupass release vm42", {
			model_record(m, "nvidia", NULL);
			model_bind_pair0(m);
			model_domain(m, "q35-eight-ports-assigned", "q35-eight-ports-live");
			model_edit(&m->live_xml, NULL, "</devices>",
				   "<hostdev mode='subsystem' type='pci'><source><address "
				   "bus='0x41' slot='0'/></source></hostdev></devices>");
		});
}

TEST(a_domain_that_is_not_read_keeps_from_assign_only)
{
	ON_MODEL(check_planned(m, "bind"), asks(m, OPERATION_BIND), another_is_not_read(m));
	ON_MODEL(check_planned(m, "unbind"), asks(m, OPERATION_UNBIND), another_is_not_read(m));
	ON_MODEL(check_planned(m, "release"), asks(m, OPERATION_RELEASE), assigned_cold(m),
		 another_is_not_read(m));
	ON_MODEL(check_planned(m, "reconcile"), asks(m, OPERATION_RECONCILE),
		 model_record(m, "nvidia", NULL), model_domain(m, "q35-assigned", NULL),
		 another_is_not_read(m));
}

TEST(a_mark_alone_keeps_nobody_from_anything)
{
	ON_MODEL(check_planned(m, "assign"),
		 model_other_domain(m, "vm1", false, one_function + 1, "pair0"));
	ON_MODEL(check_planned(m, "unbind"), asks(m, OPERATION_UNBIND),
		 model_other_domain(m, "vm1", false, one_function + 1, "pair0"));
}
