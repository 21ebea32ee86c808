/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's checks of one domain: its group, and whether it fits, in the words of fit_check(). */
#include "rig/test.h"

#include "checks-rig.h"
#include "core/fit/fit.h"

static void domain_rig(Rig *rig)
{
	rig_init(rig);
	rig->with_domain = true;
	assign_pair0(rig);
}

static void replace(char **xml, const char *old, const char *new)
{
	char *at = strstr(*xml, old), *text;

	if (!at)
		fail_msg("the XML has no %s", old);
	text = strf("%.*s%s%s", (int)(at - *xml), *xml, new, at + strlen(old));
	free(*xml);
	*xml = text;
}

TEST(a_domain_with_its_group_is_in_order)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_(rig_done) Rig rig;

	domain_rig(&rig);
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(rig.report, "domain"), "group")),
		"pair0");
}

/* Faults of another group are not in the report about this domain. */
TEST(only_its_own_group_is_looked_at)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_(rig_done) Rig rig;

	domain_rig(&rig);
	rig.health[2].fatal = 1;
	add(&rig.quarantined, "pair1: why");
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
}

/* ---- faults ---- */

static void not_its_group(Rig *rig)
{
	static const char *const none[] = { NULL };

	/* The record names another domain: a person wrote the hostdevs into this one's XML. */
	set(&rig->m.host.assignments->items[0]->domain_uuid,
	    "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4243");
	set(&rig->m.host.assignments->items[0]->domain_name, "vm43");
	set(&host_domain(&rig->m.host, "vm43", false, none)->uuid,
	    "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4243");
}

static void without_a_hostdev(Rig *rig)
{
	replace(&rig->m.config_xml, "bus='0x61' slot='0x00' function='0x0'",
		"bus='0x99' slot='0x00' function='0x0'");
}

static void i440fx(Rig *rig)
{
	model_domain(&rig->m, "i440fx-assigned", NULL);
}

static void no_acpi(Rig *rig)
{
	replace(&rig->m.config_xml, "<acpi/>", "");
}

/* Two GPUs of 64 GiB, for SeaBIOS with the 40 address bits of a CPU model. */
static void large_bars(Rig *rig)
{
	model_function(&rig->m, GPU)->bar_size[1] = 512 * GIB;
	model_function(&rig->m, "0000:61:00.0")->bar_size[1] = 512 * GIB;
}

static void limit(Rig *rig, const char *size)
{
	_cleanup_free_ char *text = strf("<memtune><hard_limit unit='MiB'>%s</hard_limit></memtune>"
					 "<memory ",
					 size);

	replace(&rig->m.config_xml, "<memory ", text);
}

static void low_hard_limit(Rig *rig)
{
	limit(rig, "65536");
}

static void tight_hard_limit(Rig *rig)
{
	limit(rig, "66000");
}

static void more_than_the_host_has(Rig *rig)
{
	replace(&rig->m.config_xml, ">67108864<", ">367108864<");
}

static void too_few_hugepages(Rig *rig)
{
	replace(&rig->m.config_xml, "<memory ",
		"<memoryBacking><hugepages><page size='2048' unit='KiB'/></hugepages>"
		"</memoryBacking><memory ");
	rig->pool.total = rig->pool.free = 1000;
}

static void two_nodes(Rig *rig)
{
	rig->machine.n_nodes = 2;
	for (size_t i = 0; i < rig->m.host.snapshot->n_functions; i++)
		rig->m.host.snapshot->functions[i]->numa_node = 0;
}

static void applied_and_gone(Rig *rig)
{
	two_nodes(rig);
	rig->m.host.assignments->items[0]->apply_numa = true;
}

static void clique(Rig *rig)
{
	replace(&rig->m.config_xml, "</domain>",
		"<qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
		"<qemu:arg value='-set'/>"
		"<qemu:arg value='device.hostdev0.x-nv-gpudirect-clique=0'/></qemu:commandline>"
		"</domain>");
}

/* field: domains/11 */
static void encrypted(Rig *rig)
{
	replace(&rig->m.config_xml, "</domain>", "<launchSecurity type='sev-snp'/></domain>");
}

static const Case cases[] = {
	{ "another's group", not_its_group, "groups domain-group", "domain-group", "fail",
	  "not assigned to it", "gpupass status pair0" },
	{ "a hostdev is missing", without_a_hostdev, "groups domain-hostdevs", "domain-hostdevs",
	  "fail", "0000:61:00.0 is not in the definition", "gpupass release pair0" },
	{ "i440fx", i440fx, "domain-machine", "domain-machine", "warn", "conventional PCI", "q35" },
	{ "no ACPI", no_acpi, "domain-acpi", "domain-acpi", "warn", "no ACPI", "<acpi/>" },
	{ "BARs that do not fit", large_bars, "domain-window", "domain-window", "fail",
	  "the guest will lack GPUs", "maxphysaddr" },
	{ "a limit of all its memory", low_hard_limit, "domain-memlock", "domain-memlock", "fail",
	  "it will not start", "make it 65 GiB" },
	{ "a limit of little more", tight_hard_limit, "domain-memlock", "domain-memlock", "warn",
	  "it may not start", "make it 65 GiB" },
	{ "more memory than there is", more_than_the_host_has, "domain-memlock", "domain-memlock",
	  "fail", "this host has 256 GiB", "less memory" },
	{ "too few huge pages", too_few_hugepages, "domain-hugepages", "domain-hugepages", "fail",
	  "32768 huge pages of 2 MiB, and 1000 are free", "vm.nr_hugepages" },
	{ "on any NUMA node", two_nodes, "domain-numa", "domain-numa", "warn", "on any NUMA node",
	  "--numa=apply" },
	/* fault 57 */
	{ "what --numa=apply wrote is gone", applied_and_gone, "domain-numa domain-applied",
	  "domain-applied", "warn", "memory may come from other NUMA nodes than 0",
	  "gpupass assign vm42 pair0 --numa=apply" },
	{ "an encrypted guest", encrypted, "domain-security", "domain-security", "warn",
	  "launchSecurity (sev-snp): a board without confidential computing cannot reach its",
	  "--set-cc-mode=on" },
	{ "a clique", clique, "domain-clique", "domain-clique", "warn", "x-nv-gpudirect-clique",
	  "take it out" },
};

TEST(each_fault_of_the_domain_is_found_by_its_check_and_by_no_other)
{
	run_cases(cases, ELEMENTS(cases), checks_of_domain, true);
}

/* fault 57 */
/* An operator's own setting is neither an error nor drift. */
TEST(what_was_applied_and_then_changed_by_hand_is_in_order)
{
	_cleanup_(rig_done) Rig rig;

	domain_rig(&rig);
	applied_and_gone(&rig);
	replace(&rig.m.config_xml, "<vcpu placement='static'>",
		"<numatune><memory mode='strict' nodeset='1'/></numatune>"
		"<vcpu placement='static' cpuset='40'>");
	rig_report(&rig);
	assert_string_equal(status_of(&rig, "domain-applied"), "pass");
	assert_true(says(find_check(&rig, "domain-applied"), "own setting in its place"));
}

TEST(what_a_running_guest_has_is_not_asked_for_again)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_(rig_done) Rig rig;

	domain_rig(&rig);
	too_few_hugepages(&rig);
	rig.m.live_xml = strdup(rig.m.config_xml);
	rig.nodes[0].memory_bytes = 0;
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
}

TEST(a_machine_that_is_not_known_is_no_fault)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_(rig_done) Rig rig;

	domain_rig(&rig);
	too_few_hugepages(&rig);
	two_nodes(&rig);
	rig.no_machine = true;
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
}

TEST(xml_that_is_not_understood_is_told)
{
	static const char *const ids[] = { "domain-machine",   "domain-acpi",	 "domain-window",
					   "domain-hugepages", "domain-memlock", "domain-numa",
					   "domain-clique" };
	_cleanup_(rig_done) Rig rig;

	domain_rig(&rig);
	rig.bad_xml = true;
	rig_report(&rig);
	for (size_t i = 0; i < ELEMENTS(ids); i++) {
		assert_string_equal(status_of(&rig, ids[i]), "unknown");
		assert_true(says(find_check(&rig, ids[i]), "its XML is not understood"));
	}
}

TEST(a_domain_without_a_group_is_told_so)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	rig.with_domain = true;
	model_domain(&rig.m, "i440fx", NULL);
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "domain-group domain-machine");
	assert_string_equal(status_of(&rig, "domain-hostdevs"), "skipped");
}

/* ---- facts that are missing ---- */

static void no_nodes(Rig *r)
{
	r->machine.n_nodes = 0;
}

static void bad_xml(Rig *r)
{
	r->bad_xml = true;
}

static void applied(Rig *r)
{
	r->m.host.assignments->items[0]->apply_fit = true;
	r->no_machine = true;
}

static const Lack lacks[] = {
	{ "domain-group", no_libvirt, "libvirt does not answer", true },
	{ "domain-hostdevs", no_libvirt, "libvirt does not answer", true },
	{ "domain-machine", bad_xml, "not understood", true },
	{ "domain-acpi", bad_xml, "not understood", true },
	{ "domain-window", bad_xml, "not understood", true },
	{ "domain-hugepages", bad_xml, "not understood", true },
	{ "domain-memlock", bad_xml, "not understood", true },
	{ "domain-memlock", no_machine, "its memory", true },
	{ "domain-numa", bad_xml, "not understood", true },
	{ "domain-numa", no_nodes, "its NUMA nodes", true },
	{ "domain-clique", bad_xml, "not understood", true },
	{ "domain-security", bad_xml, "not understood", true },
	{ "domain-applied", applied, "what this host has could not be read", true },
};

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	run_lacks(lacks, ELEMENTS(lacks), checks_of_domain, "");
}
