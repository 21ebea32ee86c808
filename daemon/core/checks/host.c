/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the host's setup: IOMMU, vfio, drivers and services. */

#include "core/checks/checks.h"
#include "core/setup/kernel-words.h"
#include "core/setup/modprobe.h"
#include "util/xalloc.h"

static bool cmdline_has(const Checks *c, const char *prefix, const char **ret)
{
	const Examination *host = c->facts->host;

	for (char *const *word = host ? host->cmdline : NULL; word && *word; word++)
		if (kernel_word_begins(*word, prefix)) {
			*ret = *word;
			return true;
		}
	return false;
}

/* ---- the IOMMU is off ---- */

/* Whether one of the options of "intel_iommu=on,sm_on" is this one. */
static bool has_option(const char *word, const char *name, const char *option)
{
	size_t n = strlen(option);
	const char *at;

	if (!str_starts_with(word, name))
		return false;
	for (at = word + strlen(name); at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, option, n) == 0 && (at[n] == '\0' || at[n] == ','))
			return true;
	return false;
}

typedef struct Wish {
	const char *off;   /* the word that turns the IOMMU off; NULL: none */
	const char *intel; /* the word that asks for Intel's */
} Wish;

/*
 * The kernel takes one word after the other. Of intel_iommu= the last one counts (intel/iommu.c,
 * intel_iommu_setup()); nothing takes back iommu=off (arch/x86/kernel/pci-dma.c, iommu_setup()) or
 * amd_iommu=off (amd/init.c, parse_amd_iommu_options()).
 */
static Wish wish_of(const HostFacts *host)
{
	const char *off = NULL, *intel_off = NULL, *amd_off = NULL;
	Wish wish = { 0 };

	for (char *const *word = host ? host->iommu_words : NULL; word && *word; word++) {
		if (has_option(*word, "iommu=", "off"))
			off = *word;
		if (has_option(*word, "amd_iommu=", "off"))
			amd_off = *word;
		if (has_option(*word, "intel_iommu=", "off")) {
			intel_off = *word;
			wish.intel = NULL;
		}
		if (has_option(*word, "intel_iommu=", "on")) {
			intel_off = NULL;
			wish.intel = *word;
		}
	}
	wish.off = off;
	if (!wish.off && host && host->cpu_vendor != CPU_VENDOR_AMD)
		wish.off = intel_off;
	if (!wish.off && host && host->cpu_vendor != CPU_VENDOR_INTEL)
		wish.off = amd_off;
	return wish;
}

static char *intel_remedy(const HostFacts *host, const char *asked)
{
	if (host->iommu_table == IOMMU_TABLE_THERE)
		return asked ? strf("the firmware describes an IOMMU and the command line has %s: "
				    "dmesg | grep -i -e DMAR -e IOMMU tells why the kernel does "
				    "not use it",
				    asked)
			     : xstrdup("boot with intel_iommu=on");
	if (asked)
		return strf("enable VT-d in the firmware%s: the kernel command line has %s already",
			    host->iommu_table == IOMMU_TABLE_NONE ? ", which describes no IOMMU"
								  : "",
			    asked);
	return xstrdup("enable VT-d in the firmware and boot with intel_iommu=on; see gpupassd(8)");
}

static char *iommu_remedy(const HostFacts *host)
{
	const Wish wish = wish_of(host);

	if (wish.off)
		return strf("take %s off the kernel command line, and reboot", wish.off);
	if (host && host->virtual_machine && host->iommu_table == IOMMU_TABLE_NONE)
		return xstrdup("this host is itself a virtual machine: give it an IOMMU (libvirt: "
			       "<iommu model='intel'/>), and boot it with intel_iommu=on (Intel)");
	if (host && host->cpu_vendor == CPU_VENDOR_INTEL)
		return intel_remedy(host, wish.intel);
	if (host && host->cpu_vendor == CPU_VENDOR_AMD)
		return xstrdup(host->iommu_table == IOMMU_TABLE_THERE
				       ? "the firmware describes an IOMMU: dmesg | grep -i -e "
					 "AMD-Vi -e IVRS tells why the kernel does not use it"
				       : "enable AMD-Vi (IOMMU) in the firmware; the kernel needs "
					 "no word for it on its command line");
	if (host && host->cpu_vendor == CPU_VENDOR_ARM)
		return xstrdup("enable the SMMU in the firmware: dmesg | grep -i -e SMMU -e IORT "
			       "tells what the kernel finds of it");
	if (wish.intel)
		return strf("enable VT-d or AMD-Vi in the firmware: the kernel command line has %s "
			    "already",
			    wish.intel);
	return xstrdup(
		"enable VT-d or AMD-Vi in the firmware and boot with intel_iommu=on (Intel); "
		"see gpupassd(8)");
}

static void check_iommu(const Checks *c, Finding *f)
{
	_cleanup_free_ char *remedy = NULL;

	if (c->facts->snapshot->iommu) {
		finding_pass(f, "the kernel has IOMMU groups");
		return;
	}
	remedy = iommu_remedy(c->facts->machine);
	finding_fail(f, NULL, "the IOMMU is off: the kernel has no IOMMU groups");
	finding_remedy(f, "%s", remedy);
	finding_bars(f, GPUPASS_ERROR_IOMMU_DISABLED, NULL);
}

static void check_noiommu(const Checks *c, Finding *f)
{
	if (!c->facts->inspection->noiommu)
		return;
	finding_fail(f, NULL,
		     "vfio runs without the protection of an IOMMU: a guest can reach all memory");
	finding_remedy(f, "set vfio.enable_unsafe_noiommu_mode=0");
	finding_bars(f, GPUPASS_ERROR_IOMMU_DISABLED, NULL);
}

/*
 * Without remapping, a guest's device can raise any interrupt of the host. So vfio refuses
 * (vfio_iommu_type1: "No interrupt remapping support"), unless allow_unsafe_interrupts is set.
 */
static void check_interrupt_remapping(const Checks *c, Finding *f)
{
	const Inspection *inspection = c->facts->inspection;
	bool unsafe = inspection->unsafe_interrupts;

	if (unsafe) {
		finding_warn(f, NULL, "vfio_iommu_type1 allows unsafe interrupts");
		finding_remedy(f, "take allow_unsafe_interrupts out of modprobe.d and of the "
				  "kernel command line, and reboot");
	}
	if (!inspection->interrupts_known) {
		finding_unknown(f, NULL,
				"this host does not report whether interrupts are remapped");
	} else if (!inspection->interrupts_remapped) {
		finding_fail(f, NULL, "interrupts are not remapped: %s",
			     unsafe ? "a guest can raise interrupts of the host"
				    : "vfio refuses to give a device to a guest");
		finding_remedy(f, "enable interrupt remapping in the firmware (VT-d, x2APIC), and "
				  "boot without intremap=off; for details: dmesg | grep -i "
				  "remapping");
	}
}

/*
 * At boot the kernel turns ACS on and derives the IOMMU groups from it. If ACS is turned off later
 * (scripts do so for peer-to-peer over PCIe), the groups still look separate. A port that has no
 * ACS is no fault: the kernel puts everything behind it into one IOMMU group.
 */
static void tell_acs(const Bdf *bdf, const PcieConfig *config, const char *above, const char *who,
		     Finding *f)
{
	if (pcie_acs_is_off(config))
		finding_fail(f, BDF_TEXT(bdf),
			     "%s%s has ACS turned off (0x%x of 0x%x): %s can reach each other past "
			     "the IOMMU",
			     BDF_TEXT(bdf), above, config->acs_control & PCIE_ACS_NEEDED,
			     config->acs_capability & PCIE_ACS_NEEDED, who);
}

/* Whether it is one of several functions, which then have ACS between them, or one IOMMU group. */
static bool has_siblings(const Checks *c, const Bdf *bdf)
{
	for (size_t i = 0; i < c->facts->snapshot->n_functions; i++) {
		const Bdf *other = &c->facts->snapshot->functions[i]->bdf;

		if (other->function != bdf->function && bdf_same_slot(other, bdf))
			return true;
	}
	return false;
}

static size_t check_acs_of(const Checks *c, const GpuHealth *health, Finding *f)
{
	_cleanup_free_ char *above = strf(", above %s,", BDF_TEXT(&health->bdf));
	size_t seen = 0;

	EACH (const HealthPort, port, health->ports, health->n_ports) {
		if (!port->config.read || port->config.all_ones) {
			finding_unknown(f, BDF_TEXT(&port->bdf), "%s%s sleeps or could not be read",
					BDF_TEXT(&port->bdf), above);
			continue;
		}
		seen++;
		tell_acs(&port->bdf, &port->config, above, "devices behind it", f);
	}
	if (has_siblings(c, &health->bdf))
		tell_acs(&health->bdf, &health->config, "", "its functions", f);
	return seen;
}

static void check_acs(const Checks *c, Finding *f)
{
	size_t seen = 0;

	for (size_t i = 0; i < c->n_gpus; i++) {
		const GpuHealth *health = checks_health(c, c->gpus[i]);
		const char *bdf = BDF_TEXT(&c->gpus[i]->lead->bdf);

		if (!health || health->n_ports == 0)
			finding_unknown(f, bdf, "the ports above %s were not read", bdf);
		else
			seen += check_acs_of(c, health, f);
	}
	/* Besides GPUs there are only groups' NICs. */
	EACH (const GpuHealth, health, c->facts->health, c->facts->n_health)
		if (health->error == 0 && !gpu_set_find(c->facts->gpus, &health->bdf))
			seen += check_acs_of(c, health, f);
	if (f->status == FINDING_FAIL)
		finding_remedy(f, "find what turned it off after boot (a script with setpci, for "
				  "example), remove that, and reboot");
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "on, or reflected in the IOMMU groups, at %zu ports", seen);
}

static void check_acs_override(const Checks *c, Finding *f)
{
	const char *word;

	if (!cmdline_has(c, "pcie_acs_override", &word)) {
		checks_need_read(c, "cmdline", f);
		return;
	}
	finding_warn(f, NULL, "the kernel runs with %s: IOMMU groups may look separate and not be",
		     word);
	finding_remedy(f, "do not use it with several tenants: use other slots, or enable ACS in "
			  "the firmware");
}

/* The domain of another group that a function is assigned to; NULL: none. */
static const char *tenant(const Checks *c, const PciFunction *function, const Group *group)
{
	const Assignment *record = assignments_find_function(c->facts->assignments, &function->bdf);

	return record && !str_equal(record->group_name, group->name) ? record->domain_name : NULL;
}

/*
 * The kernel's own rule (vfio_group_viable): an IOMMU group may have only bridges, and functions
 * that have no driver, a vfio driver or pci-stub. And there is no second tenant, because an IOMMU
 * group has one owner.
 */
static void check_neighbour(const Checks *c, const Group *group, const PciFunction *ours,
			    const PciFunction *other, Finding *f)
{
	const Group *others = group_set_find_gpu(c->facts->groups, &other->bdf);
	bool used = other->driver && !pci_function_on_vfio(other) &&
		    !str_equal(other->driver, "pci-stub");
	const char *address = BDF_TEXT(&other->bdf), *domain;
	_cleanup_free_ char *reason = NULL;

	if (other->bridge || other->iommu_group != ours->iommu_group || others == group)
		return;
	domain = tenant(c, other, group);
	if (domain)
		finding_warn(f, address, "%s in IOMMU group %d is assigned to %s", address,
			     ours->iommu_group, domain);
	else if (others)
		finding_warn(f, address,
			     "%s of %s shares IOMMU group %d with %s of %s: only one of the two "
			     "groups can be assigned at a time",
			     address, others->name, ours->iommu_group, BDF_TEXT(&ours->bdf),
			     group->name);
	else if (used)
		finding_fail(f, address, "%s (%s) shares IOMMU group %d with %s of %s", address,
			     other->driver, ours->iommu_group, BDF_TEXT(&ours->bdf), group->name);
	else
		return;
	finding_remedy(f, "use another slot or enable ACS; see gpupassd(8), IOMMU GROUPS");
	reason = strf("IOMMU group %d is not viable", ours->iommu_group);
	if (domain || used)
		finding_bars(f, GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE, reason);
}

/* A function that shares an earlier one's IOMMU group has the same neighbours. */
static bool is_first_of_iommu_group(const Checks *c, size_t i)
{
	return !SOME_OF(
		c->functions, i,
		it->iommu_group == c->functions[i]->iommu_group &&
			group_set_find_gpu(c->facts->groups, &it->bdf) ==
				group_set_find_gpu(c->facts->groups, &c->functions[i]->bdf));
}

static void check_iommu_group(const Checks *c, Finding *f)
{
	const PciSnapshot *snapshot = c->facts->snapshot;

	for (size_t i = 0; i < c->n_functions; i++) {
		const PciFunction *ours = c->functions[i];
		const Group *group = group_set_find_gpu(c->facts->groups, &ours->bdf);
		const char *address = BDF_TEXT(&ours->bdf);

		if (ours->iommu_group == IOMMU_GROUP_NONE) {
			finding_fail(f, address, "%s is in no IOMMU group", address);
			finding_remedy(f, "for what the IOMMU covers: dmesg | grep -i -e DMAR "
					  "-e AMD-Vi");
			finding_bars(f, GPUPASS_ERROR_IOMMU_DISABLED, NULL);
			continue;
		}
		for (size_t k = 0; is_first_of_iommu_group(c, i) && k < snapshot->n_functions; k++)
			check_neighbour(c, group, ours, snapshot->functions[k], f);
	}
}

/* ---- memory that the firmware wants mapped ---- */

/*
 * Intel's driver refuses a domain for such a device (intel/iommu.c, "Device is ineligible for IOMMU
 * domain attach due to platform RMRR requirement"); of display and USB functions, where it does
 * not, the region is direct-relaxable since Linux 5.3. Since 6.6 all drivers refuse (iommu.c,
 * require_direct).
 */
static bool region_refuses(const HostFacts *host)
{
	bool amd = host && host->cpu_vendor == CPU_VENDOR_AMD;

	return !host_facts_kernel_before(host, 5, 3) &&
	       !(amd && host_facts_kernel_before(host, 6, 6));
}

static void check_reserved_regions(const Checks *c, Finding *f)
{
	bool unknown = false;

	for (size_t i = 0; i < c->n_functions; i++) {
		const PciFunction *function = c->functions[i];
		const FunctionFacts *facts = checks_function(c, &function->bdf);
		const char *address = BDF_TEXT(&function->bdf);

		unknown |= !facts || !facts->regions_read;
		/* The region is the IOMMU group's, and told once. */
		if (!facts || !facts->direct_region || !region_refuses(c->facts->machine) ||
		    !is_first_of_iommu_group(c, i))
			continue;
		finding_fail(f, address,
			     "%s: the firmware reserves memory of the host (%s) for IOMMU group "
			     "%d: the kernel gives it to no guest (\"platform RMRR requirement\")",
			     address, facts->direct_region, function->iommu_group);
		finding_remedy(f, "turn off what reserves it, in the firmware: shared memory of "
				  "the slot (HPE), remote management or health monitoring of the "
				  "board; or use another slot; for details: dmesg | grep -i -e "
				  "RMRR -e IVMD");
		finding_bars(f, GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE, NULL);
	}
	if (unknown)
		finding_unknown(f, NULL, "this kernel does not report it");
}

static void check_vfio(const Checks *c, Finding *f)
{
	const Inspection *inspection = c->facts->inspection;
	const Examination *host = c->facts->host;

	if (inspection->vfio_pci && host && !strv_contains(host->builtin, "vfio_pci") &&
	    modprobe_blocks(host->modprobe, "vfio_pci")) {
		finding_warn(f, NULL,
			     "it is loaded, but modprobe.d keeps it from being loaded at the next "
			     "boot: no assigned board will be bound then");
		finding_remedy(f, "take out blacklist or install of vfio-pci: grep -r vfio "
				  "/etc/modprobe.d /usr/lib/modprobe.d");
	} else if (inspection->vfio_pci ||
		   (c->n_functions > 0 &&
		    EVERY_OF(c->functions, c->n_functions, pci_function_on_vfio(it)))) {
		return;
	} else if (host && (modprobe_blocks(host->modprobe, "vfio_pci") ||
			    kernel_words_block(host->cmdline, "vfio_pci"))) {
		finding_fail(
			f, NULL,
			"vfio-pci is not loaded, and modprobe.d or the kernel command line keeps it "
			"from being loaded: no group can be assigned");
		finding_remedy(f, "take out blacklist or install of vfio-pci: grep -r vfio "
				  "/etc/modprobe.d /usr/lib/modprobe.d /proc/cmdline; then: "
				  "modprobe vfio-pci");
	} else if (inspection->vfio_loadable) {
		finding_warn(f, NULL, "vfio-pci is not loaded: no group can be assigned");
		finding_remedy(f,
			       "modprobe vfio-pci; to load it at each boot, name it in a file of "
			       "/etc/modules-load.d");
	} else {
		finding_fail(f, NULL, "this kernel has no vfio-pci");
		finding_remedy(f, "install the kernel's full set of modules (CONFIG_VFIO_PCI)");
	}
	if (!inspection->vfio_pci)
		finding_bars(f, GPUPASS_ERROR_VFIO_MISSING, NULL);
}

const Check checks_of_host[] = {
	CHECK("iommu", "IOMMU", 0, check_iommu, NULL, SEE_TABLE,
	      "IOMMU groups in sysfs, listed by the scan", .plans = REFUSES_TAKING),
	CHECK("noiommu", "No-IOMMU mode of vfio", NEEDS_INSPECTION, check_noiommu, "it is off",
	      SEE_TABLE, "vfio's parameter in sysfs, read by the inspector",
	      .plans = REFUSES_TAKING),
	CHECK("interrupt-remapping", "Interrupt remapping", NEEDS_IOMMU | NEEDS_INSPECTION,
	      check_interrupt_remapping, "interrupts are remapped", SEE_TABLE,
	      "/proc/interrupts and vfio's parameter, read by the inspector",
	      .plans = WARNS_TAKING),
	CHECK("acs", "ACS on the way to GPUs and NICs", NEEDS_IOMMU | NEEDS_GPUS, check_acs, NULL,
	      "iommu-groups",
	      "the ACS registers of every port above a GPU or a group's NIC, read by the config part"),
	CHECK("acs-override", "ACS override", NEEDS_HOST, check_acs_override, "it is not in use",
	      "iommu-groups", "the kernel command line, read by the examiner"),
	CHECK("iommu-group", "IOMMU groups", NEEDS_IOMMU | NEEDS_GPUS, check_iommu_group,
	      "viable: they hold no device that the host uses", "iommu-groups",
	      "IOMMU group and driver of every function in sysfs, read by the scan",
	      .plans = REFUSES_TAKING),
	CHECK("reserved-regions", "Memory that the firmware reserves",
	      NEEDS_IOMMU | NEEDS_INSPECTION | NEEDS_GPUS, check_reserved_regions,
	      "none keeps these GPUs from a guest", "reserved-memory",
	      "reserved_regions of the IOMMU groups, read by the inspector",
	      .plans = REFUSES_TAKING),
	CHECK("vfio", "vfio-pci", NEEDS_INSPECTION, check_vfio, "loaded", "vfiomissing",
	      "PCI drivers in sysfs and the kernel's list of modules, read by the inspector",
	      .plans = REFUSES_TAKING),
	{ 0 },
};
