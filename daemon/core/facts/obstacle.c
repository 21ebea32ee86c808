/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/obstacle.h"

#include <stdlib.h>
#include <string.h>

#include "core/pci/driver-name.h"
#include "util/grow.h"
#include "util/text.h"

#define CLASS_DISPLAY 0x03
#define MIB (UINT64_C(1) << 20)
/*
 * Every GPU of NVIDIA has its registers in BAR 0, of 16 MiB or more, and its memory in BAR 1, or
 * in BAR 2 where BAR 0 has 64 bits. No other BAR has more than 32 MiB.
 */
#define BAR_REGISTERS_MIN (16 * MIB)
#define BAR_OTHER_MAX (32 * MIB)

/* Takes both texts. */
static void add(Obstacles *into, ObstacleKind kind, ObstacleWeight weight, const Bdf *bdf,
		char *what, char *remedy)
{
	*GROW(into->items, into->n_items) = (Obstacle){
		.kind = kind,
		.weight = weight,
		.bdf = bdf ? *bdf : (Bdf){ 0 },
		.what = what,
		.remedy = remedy,
	};
}

#include "obstacle.inc"

/*
 * Without remapping, a guest's device can raise any interrupt of the host. So vfio refuses
 * (vfio_iommu_type1: "No interrupt remapping support"), unless allow_unsafe_interrupts is set.
 */
static void find_interrupts(const Inspection *inspection, Obstacles *into)
{
	bool unsafe = inspection->unsafe_interrupts;

	into->unknown[OBSTACLE_INTERRUPTS] = !inspection->interrupts_known;
	if (unsafe)
		add(into, OBSTACLE_INTERRUPTS, OBSTACLE_WARNS, NULL,
		    xstrdup("vfio_iommu_type1 allows unsafe interrupts"),
		    xstrdup("take allow_unsafe_interrupts out of modprobe.d and of the kernel "
			    "command line, and reboot"));
	if (inspection->interrupts_known && !inspection->interrupts_remapped)
		add(into, OBSTACLE_INTERRUPTS, OBSTACLE_FAILS, NULL,
		    strf("interrupts are not remapped: %s",
			 unsafe ? "a guest can raise interrupts of the host"
				: "vfio refuses to give a device to a guest"),
		    xstrdup("enable interrupt remapping in the firmware (VT-d, x2APIC), and "
			    "boot without intremap=off; for details: dmesg | grep -i "
			    "remapping"));
}

/* ---- BARs without an address ---- */

/*
 * Kernels clear a BAR for which they find no address in the end (drivers/pci/setup-bus.c,
 * reset_resource()), and then it looks like one that the board does not have.
 */
static bool lacks_memory(const PciFunction *function)
{
	if (function->vendor != PCI_VENDOR_NVIDIA || function->virtual_function ||
	    function->class_code >> 16 != CLASS_DISPLAY ||
	    function->bar_size[0] < BAR_REGISTERS_MIN)
		return false;
	for (size_t bar = 1; bar < PCI_BARS - 1; bar++)
		if (function->bar_size[bar] > BAR_OTHER_MAX)
			return false;
	return true;
}

/* "BAR 1 has", "BARs 1, 3 have" */
static char *bars_text(unsigned bars)
{
	_cleanup_strv_ char **numbers = NULL;
	_cleanup_free_ char *joined = NULL;

	for (int bar = 0; bar < PCI_BARS; bar++)
		if (bars >> bar & 1)
			strv_appendf(&numbers, "%d", bar);
	joined = strv_join(numbers, ", ");
	return strv_length(numbers) > 1 ? strf("BARs %s have", joined) : strf("BAR %s has", joined);
}

static void find_bars(const PciFunction *function, const FunctionFacts *facts, Obstacles *into)
{
	bool display = function->class_code >> 16 == CLASS_DISPLAY;
	_cleanup_free_ char *bars = NULL;

	if (facts->bars_unset > 0)
		bars = bars_text(facts->bars_unset);
	else if (lacks_memory(function))
		bars = xstrdup("the BAR of the memory (BAR 1, or 2 on newer boards) has");
	else
		return;
	add(into, OBSTACLE_BAR, display ? OBSTACLE_REFUSES : OBSTACLE_WARNS, &function->bdf,
	    strf("%s: %s no address on this host: no guest can use the %s",
		 BDF_TEXT(&function->bdf), bars, display ? "board" : "function"),
	    xstrdup("turn on \"Above 4G decoding\" in the firmware, with room for all boards "
		    "(MMIO High Size, where it is offered), and reboot; if it is on, boot "
		    "with pci=realloc; for details: dmesg | grep BAR"));
}

/* ---- framebuffers of what the firmware drew ---- */

/* What helps depends on who holds it. */
static char *framebuffer_remedy(const char *names)
{
	const char *driver = strstr(names, "efifb")    ? " video=efifb:off"
			     : strstr(names, "vesafb") ? " video=vesafb:off"
						       : "";

	return strf(
		"boot with initcall_blacklist=sysfb_init%s%s make another display the primary one "
		"in the firmware",
		driver,
		strstr(names, "drm") ? "; if it is still there then (seen of simpledrm built into "
				       "Linux 6.18),"
				     : ", or");
}

static void find_framebuffer(const PciFunction *function, const FunctionFacts *facts,
			     Obstacles *into)
{
	bool bound = driver_is_vfio(function->driver);

	for (size_t i = 0; i < facts->n_bar_holders; i++) {
		const BarHolder *holder = &facts->bar_holders[i];
		const char *names = str_or_empty(holder->name);
		_cleanup_free_ char *bar =
			holder->bar < 0 ? xstrdup("a BAR") : strf("BAR %d", holder->bar);

		add(into, OBSTACLE_FRAMEBUFFER, OBSTACLE_WARNS, &function->bdf,
		    strf("%s: the firmware framebuffer (%s) holds %s: %s \"%s%scan't "
			 "reserve\", and the guest cannot use the board",
			 BDF_TEXT(&function->bdf), names, bar,
			 bound ? "a guest's start gives"
			       : "where vfio-pci does not end it (since Linux 6.0 it does for "
				 "the boot display), a guest's start gives",
			 holder->bar < 0 ? "" : bar, holder->bar < 0 ? "" : ": "),
		    framebuffer_remedy(names));
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

static void find_region(const PciFunction *function, const FunctionFacts *facts,
			const HostFacts *host, Obstacles *into)
{
	if (!facts->direct_region || !region_refuses(host))
		return;
	add(into, OBSTACLE_REGION, OBSTACLE_REFUSES, &function->bdf,
	    strf("%s: the firmware reserves memory of the host (%s) for IOMMU group %d: the "
		 "kernel gives it to no guest (\"platform RMRR requirement\")",
		 BDF_TEXT(&function->bdf), facts->direct_region, function->iommu_group),
	    xstrdup("turn off what reserves it, in the firmware: shared memory of the slot "
		    "(HPE), remote management or health monitoring of the board; or use "
		    "another slot; for details: dmesg | grep -i -e RMRR -e IVMD"));
}

/* The region is the IOMMU group's, and told once. */
static bool is_first_of_group(const PciFunction *const *functions, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (functions[k]->iommu_group == functions[i]->iommu_group)
			return false;
	return true;
}

Obstacles obstacles_find(const PciFunction *const *functions, size_t n,
			 const Inspection *inspection, const HostFacts *host)
{
	Obstacles found = { 0 };

	find_interrupts(inspection, &found);
	for (size_t i = 0; i < n; i++) {
		const FunctionFacts *facts = inspection_find(inspection, &functions[i]->bdf);

		found.unknown[OBSTACLE_BAR] |= !facts || !facts->resource_read;
		found.unknown[OBSTACLE_FRAMEBUFFER] |= !facts || !inspection->iomem_read;
		found.unknown[OBSTACLE_REGION] |= !facts || !facts->regions_read;
		if (!facts)
			continue;
		find_bars(functions[i], facts, &found);
		find_framebuffer(functions[i], facts, &found);
		if (is_first_of_group(functions, i))
			find_region(functions[i], facts, host, &found);
	}
	return found;
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

char *obstacle_iommu_remedy(const HostFacts *host)
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
	if (wish.intel)
		return strf("enable VT-d or AMD-Vi in the firmware: the kernel command line has %s "
			    "already",
			    wish.intel);
	return xstrdup(
		"enable VT-d or AMD-Vi in the firmware and boot with intel_iommu=on (Intel); "
		"see gpupassd(8)");
}
