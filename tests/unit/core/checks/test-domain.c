/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's checks of one domain: its group, and whether it fits, in the words of fit_check(). */
#include "rig/test.h"

#define RIG_BEGIN of_vm42(r)
#include "checks-rig.h"
#include "core/fit/fit.h"

static void limit(Rig *r, const char *size)
{
	_cleanup_free_ char *text =
		strf("<memtune><hard_limit unit='MiB'>%s</hard_limit></memtune><memory ", size);

	model_edit(&r->m.config_xml, NULL, "<memory ", text);
}

static void too_few_hugepages(Rig *r)
{
	model_edit(&r->m.config_xml, NULL, "<memory ",
		   "<memoryBacking><hugepages><page size='2048' unit='KiB'/></hugepages>"
		   "</memoryBacking><memory ");
	r->pool.total = r->pool.free = 1000;
}

static void two_nodes(Rig *r)
{
	r->machine.n_nodes = 2;
	for (size_t i = 0; i < r->m.host.snapshot->n_functions; i++)
		r->m.host.snapshot->functions[i]->numa_node = 0;
}

static void applied_and_gone(Rig *r)
{
	two_nodes(r);
	r->m.host.assignments->items[0]->apply_numa = true;
}

TEST(each_fault_of_the_domain_is_found_by_its_check_and_by_no_other)
{
	_cleanup_strv_ char **cases = NULL;

	TOLD("another's group", "groups domain-group", "fail", "not assigned to it",
	     "gpupass status pair0", {
		     static const char *const none[] = { NULL };

		     /* The record names another domain: a person wrote the hostdevs into this one's XML. */
		     set(&r->m.host.assignments->items[0]->domain_uuid,
			 "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4243");
		     set(&r->m.host.assignments->items[0]->domain_name, "vm43");
		     set(&host_domain(&r->m.host, "vm43", false, none)->uuid,
			 "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4243");
	     });
	TOLD("a hostdev is missing", "groups domain-hostdevs", "fail",
	     "0000:61:00.0 is not in the definition", "gpupass release pair0",
	     model_edit(&r->m.config_xml, NULL, "bus='0x61' slot='0x00' function='0x0'",
			"bus='0x99' slot='0x00' function='0x0'"));
	TOLD("i440fx", "domain-machine", "warn", "conventional PCI", "q35",
	     model_domain(&r->m, "i440fx-assigned", NULL));
	TOLD("no ACPI", "domain-acpi", "warn", "no ACPI", "<acpi/>",
	     model_edit(&r->m.config_xml, NULL, "<acpi/>", ""));
	/* Two GPUs of 64 GiB, for SeaBIOS with the 40 address bits of a CPU model. */
	TOLD("BARs that do not fit", "domain-window", "fail", "the guest will lack GPUs",
	     "maxphysaddr", model_function(&r->m, GPU)->bar_size[1] = 512 * GIB,
	     model_function(&r->m, "0000:61:00.0")->bar_size[1] = 512 * GIB);
	TOLD("a limit of all its memory", "domain-memlock", "fail", "it will not start",
	     "make it 65 GiB", limit(r, "65536"));
	TOLD("a limit of little more", "domain-memlock", "warn", "it may not start",
	     "make it 65 GiB", limit(r, "66000"));
	TOLD("more memory than there is", "domain-memlock", "fail", "this host has 256 GiB",
	     "less memory", model_edit(&r->m.config_xml, NULL, ">67108864<", ">367108864<"));
	TOLD("too few huge pages", "domain-hugepages", "fail",
	     "32768 huge pages of 2 MiB, and 1000 are free", "vm.nr_hugepages",
	     too_few_hugepages(r));
	TOLD("on any NUMA node", "domain-numa", "warn", "on any NUMA node", "--numa=apply",
	     two_nodes(r));
	/* fault 57 */
	TOLD("what --numa=apply wrote is gone", "domain-numa domain-applied", "warn",
	     "memory may come from other NUMA nodes than 0",
	     "gpupass assign vm42 pair0 --numa=apply", applied_and_gone(r));
	/* field: domains/11 */
	TOLD("an encrypted guest", "domain-security", "warn",
	     "launchSecurity (sev-snp): a board without confidential computing cannot reach its",
	     "--set-cc-mode=on",
	     model_edit(&r->m.config_xml, NULL, "</domain>",
			"<launchSecurity type='sev-snp'/></domain>"));
	TOLD("a clique", "domain-clique", "warn", "x-nv-gpudirect-clique", "take it out",
	     model_edit(
		     &r->m.config_xml, NULL, "</domain>",
		     "<qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
		     "<qemu:arg value='-set'/>"
		     "<qemu:arg value='device.hostdev0.x-nv-gpudirect-clique=0'/></qemu:commandline>"
		     "</domain>"));
	all_had_cases(cases, checks_of_domain, "");
}

TEST(what_is_usual_of_a_domain_is_no_fault)
{
	ON_RIG(assert_string_equal(json_string_value(json_object_get(
					   json_object_get(r->report, "domain"), "group")),
				   "pair0"),
	       (void)0);
	SPEAKS("with its group", "", (void)0);
	/* Faults of another group are not in the report about this domain. */
	SPEAKS("another group", "", r->health[2].fatal = 1, add(&r->quarantined, "pair1: why"));
	/* What a running guest has is not asked for again. */
	SPEAKS("running", "", too_few_hugepages(r), r->m.live_xml = strdup(r->m.config_xml),
	       r->nodes[0].memory_bytes = 0);
	SPEAKS("on a machine that is not known", "", too_few_hugepages(r), two_nodes(r),
	       r->no_machine = true);
}

/* fault 57 */
/* An operator's own setting is neither an error nor drift. */
TEST(what_was_applied_and_then_changed_by_hand_is_in_order)
{
	STANDS("domain-applied", "pass", "own setting in its place", applied_and_gone(r),
	       model_edit(&r->m.config_xml, NULL, "<vcpu placement='static'>",
			  "<numatune><memory mode='strict' nodeset='1'/></numatune>"
			  "<vcpu placement='static' cpuset='40'>"));
}

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	_cleanup_strv_ char **cases = NULL;

	LACKS("domain-group", "libvirt does not answer", r->no_libvirt = true);
	LACKS("domain-hostdevs", "libvirt does not answer", r->no_libvirt = true);
	LACKS("domain-machine", "its XML is not understood", r->bad_xml = true);
	LACKS("domain-acpi", "its XML is not understood", r->bad_xml = true);
	LACKS("domain-window", "its XML is not understood", r->bad_xml = true);
	LACKS("domain-hugepages", "its XML is not understood", r->bad_xml = true);
	LACKS("domain-memlock", "its XML is not understood", r->bad_xml = true);
	LACKS("domain-memlock", "its memory", r->no_machine = true);
	LACKS("domain-numa", "its XML is not understood", r->bad_xml = true);
	LACKS("domain-numa", "its NUMA nodes", r->machine.n_nodes = 0);
	LACKS("domain-clique", "its XML is not understood", r->bad_xml = true);
	LACKS("domain-security", "its XML is not understood", r->bad_xml = true);
	LACKS("domain-applied", "what this host has could not be read",
	      r->m.host.assignments->items[0]->apply_fit = true, r->no_machine = true);
	all_had_cases(cases, checks_of_domain, "");
}
