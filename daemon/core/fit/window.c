/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address space for BARs. A data centre board has a BAR of 64 to 256 GiB. Firmware whose 64-bit
 * window is too small leaves the BAR unassigned, and the guest cannot use that GPU.
 */
#include "core/fit/checks.h"
#include "util/text.h"

#define GIB (UINT64_C(1) << 30)
/* OVMF's window when it does not size it by the processor: PcdPciMmio64Size. */
#define OVMF_CLASSIC (32 * GIB)
/*
 * OVMF trusts an address width from 41 bits on (edk2, PlatformAddressWidthFromCpuid), because 40 is
 * QEMU's default; on an AMD processor it trusts 40 bits, too. It counts no more than 46 bits.
 */
#define OVMF_BITS_MIN 41
#define OVMF_BITS_MIN_AMD 40
#define OVMF_BITS_MAX 46
#define ADDRESS_BITS_MAX 63
/* Each PCIe port of a running guest has its own window, sized when the guest started. */
#define HOTPLUG_BAR_MAX GIB
/*
 * A guest's start maps its BARs page by page, until vfio does so by huge pages ("vfio/type1: Use
 * mapping page mask for pfnmaps", Linux 6.15; Launchpad 2111861): half a minute for 128 GiB.
 */
#define MAPPING_GIB_A_MINUTE 256
#define MAPPING_LONG_SECONDS 15
#define KERNEL_MAPS_HUGE_MAJOR 6
#define KERNEL_MAPS_HUGE_MINOR 15

static uint64_t power_of_two(uint64_t value)
{
	uint64_t power = 1;

	while (power < value && power < UINT64_C(1) << ADDRESS_BITS_MAX)
		power <<= 1;
	return power;
}

/* The expansion ROM does not count: guests map it on demand. */
static uint64_t bars_of(const FitFacts *facts)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < facts->n_functions; i++)
		for (size_t bar = 0; bar < PCI_BARS - 1; bar++) {
			uint64_t size = facts->functions[i]->bar_size[bar];

			sum += size > 0 ? power_of_two(size) : 0;
			if (sum > UINT64_C(1) << (ADDRESS_BITS_MAX - 2))
				return 0; /* no board is that large: the sizes in sysfs are wrong */
		}
	return sum;
}

static uint64_t largest_bar(const FitFacts *facts)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < facts->n_functions; i++)
		for (size_t bar = 0; bar < PCI_BARS - 1; bar++)
			if (facts->functions[i]->bar_size[bar] > largest)
				largest = facts->functions[i]->bar_size[bar];
	return largest;
}

uint64_t fit_window_wanted(const FitFacts *facts)
{
	uint64_t sum = bars_of(facts);

	return sum == 0 ? 0 : 2 * power_of_two(sum);
}

/* The firmware's version is not known, and its window depends on it. */
typedef struct Window {
	uint64_t sure;	 /* every version has that much */
	uint64_t likely; /* edk2 from November 2022 on */
	uint64_t most;	 /* no version has more */
} Window;

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * edk2 before stable202211 has what fw_cfg says, or 32 GiB. From then on that is the least, and
 * OVMF takes an eighth of the address space (PlatformDynamicMmioWindow); a quarter since August
 * 2026 (tianocore/edk2 #12997). Whether fw_cfg can make it smaller differs (#10856).
 */
static Window ovmf_window(const FitDomain *d, unsigned bits, const HostFacts *host)
{
	uint64_t fixed = d->mmio_mb > 0 ? d->mmio_mb << 20 : OVMF_CLASSIC;
	CpuVendor vendor = d->kvm && host ? host->cpu_vendor : CPU_VENDOR_UNKNOWN;
	Window window = { fixed, fixed, fixed };
	uint64_t space = UINT64_C(1) << (bits < OVMF_BITS_MAX ? bits : OVMF_BITS_MAX);

	if (bits < OVMF_BITS_MIN_AMD || (bits < OVMF_BITS_MIN && vendor == CPU_VENDOR_INTEL))
		return window;
	window.most = larger(fixed, space / 4);
	if (bits >= OVMF_BITS_MIN || vendor == CPU_VENDOR_AMD)
		window.likely = larger(fixed, space / 8);
	return window;
}

/* SeaBIOS puts BARs that do not fit below 4 GiB after the RAM, up to the address width. */
static uint64_t seabios_window(const FitDomain *d, unsigned bits)
{
	uint64_t space = UINT64_C(1) << (bits < ADDRESS_BITS_MAX ? bits : ADDRESS_BITS_MAX);

	return space > d->memory_max_bytes + 4 * GIB ? space - d->memory_max_bytes - 4 * GIB : 0;
}

static bool can_have(const FitDomain *d, unsigned bits, uint64_t window)
{
	uint64_t space = UINT64_C(1) << (bits < ADDRESS_BITS_MAX ? bits : ADDRESS_BITS_MAX);

	/* The window comes after the RAM, aligned to its own size. */
	return power_of_two(d->memory_max_bytes + 4 * GIB) + 2 * window <= space ||
	       (window >= d->memory_max_bytes + 4 * GIB && 2 * window <= space);
}

/*
 * Wider addresses come first, where libvirt knows them: they need no argument to QEMU that libvirt
 * does not know, and make room for the next GPU as well.
 */
void fit_tune_window(const FitFacts *facts, const FitDomain *d, FitTune *tune)
{
	unsigned bits = fit_domain_bits(d, facts->host);
	unsigned host = facts->host ? facts->host->physical_bits : 0;
	uint64_t wanted = fit_window_wanted(facts);
	FitDomain wide = *d;

	if (d->firmware != FIRMWARE_OVMF || wanted == 0 || bits == 0 || d->mmio_mb > 0 ||
	    ovmf_window(d, bits, facts->host).likely >= wanted)
		return;
	wide.bits_of_host = wide.has_maxphysaddr = true;
	if (host_facts_libvirt_has(facts->host, LIBVIRT_MAXPHYSADDR) && !d->has_maxphysaddr &&
	    d->has_cpu && !d->cpu_host && host >= OVMF_BITS_MIN) {
		tune->passthrough = true;
		d = &wide;
		bits = host;
	}
	if (ovmf_window(d, bits, facts->host).likely < wanted && can_have(d, bits, wanted))
		tune->mmio_mb = wanted >> 20;
}

/* What is known of a window that may be too small. Caller frees. */
static char *describe(const FitDomain *d, const Window *window, uint64_t bars, uint64_t wanted)
{
	const char *firmware = d->firmware == FIRMWARE_OVMF ? "OVMF" : "SeaBIOS";
	_cleanup_free_ char *sure = fit_size_text(window->sure),
			    *most = fit_size_text(window->most);
	_cleanup_free_ char *likely = fit_size_text(window->likely), *need = fit_size_text(bars);
	_cleanup_free_ char *better = fit_size_text(wanted);

	if (window->most < bars)
		return strf("the BARs take %s, and %s of %s has room for %s: the guest will lack "
			    "GPUs",
			    need, firmware, d->name, most);
	if (d->mmio_mb > 0 && window->sure < bars)
		return strf(
			"the BARs take %s, and X-PciMmio64Mb of %s says %s, which some versions "
			"of OVMF take for the least, up to %s, and others as it is",
			need, d->name, sure, most);
	if (window->likely < bars)
		return strf("the BARs take %s, and OVMF of %s has room for %s, or for %s %s", need,
			    d->name, likely, most,
			    window->likely > window->sure ? "since edk2 of August 2026"
							  : "on a processor by AMD");
	return strf("the BARs take %s, and %s of %s has room for %s; %s would be enough with "
		    "alignment and other devices",
		    need, firmware, d->name, likely, better);
}

/* An older libvirt takes the element for a fault of the XML, and refuses the definition. */
static char *window_remedy(const Fit *f)
{
	const HostFacts *host = f->facts->host;
	bool ovmf = f->domain.firmware == FIRMWARE_OVMF;
	_cleanup_free_ char *version = NULL;

	if (host_facts_libvirt_has(host, LIBVIRT_MAXPHYSADDR))
		return strf("use %s, or give its <cpu> a <maxphysaddr mode='passthrough'/>",
			    ovmf ? "--fit=apply" : "UEFI firmware");
	version = libvirt_version_text(host->libvirt_version);
	return strf("%suse <cpu mode='host-passthrough'/>, or libvirt 8.7: libvirt %s of this "
		    "host does not know <maxphysaddr>",
		    ovmf ? "use --fit=apply, which writes X-PciMmio64Mb where it helps, or "
			 : "use UEFI firmware, or ",
		    version);
}

static void tell_window(Fit *f, const Window *window, uint64_t bars, uint64_t wanted)
{
	_cleanup_free_ char *remedy = window_remedy(f);

	fit_add(f->report, FIT_BAR_WINDOW, window->most < bars ? FIT_ERROR : FIT_WARNING,
		describe(&f->domain, window, bars, wanted), remedy);
}

/* fw_cfg's size is the whole truth for some versions. */
static uint64_t counted(const FitDomain *d, const Window *window)
{
	return d->mmio_mb > 0 ? window->sure : window->likely;
}

static bool maps_huge(const HostFacts *host)
{
	return host->kernel_major != KERNEL_MAPS_HUGE_MAJOR
		       ? host->kernel_major > KERNEL_MAPS_HUGE_MAJOR
		       : host->kernel_minor >= KERNEL_MAPS_HUGE_MINOR;
}

/* BARs that are in the guest's window are mapped at its start. */
static void check_mapping(Fit *f, uint64_t bars)
{
	const HostFacts *host = f->facts->host;
	uint64_t seconds = bars / GIB * 60 / MAPPING_GIB_A_MINUTE;

	if (!host || host->kernel_major == 0 || maps_huge(host) || f->facts->running ||
	    f->facts->started || seconds < MAPPING_LONG_SECONDS)
		return;
	fit_add(f->report, FIT_SLOW_START, FIT_INFO,
		strf("%s may take some %llu s longer to start: Linux %u.%u of the host maps "
		     "large BARs page by page (an estimate; some distributions have the "
		     "change of 6.15)",
		     f->domain.name, (unsigned long long)seconds, host->kernel_major,
		     host->kernel_minor),
		NULL);
}

void fit_check_window(Fit *f)
{
	const FitDomain *d = &f->domain;
	unsigned bits = fit_domain_bits(d, f->facts->host);
	uint64_t bars = bars_of(f->facts), wanted = fit_window_wanted(f->facts), room;
	Window window;

	if (bars > 0 && d->firmware == FIRMWARE_OTHER)
		f->report->not_known[FIT_BAR_WINDOW] =
			"its firmware is not one whose window for BARs is known";
	if (bars == 0 || d->firmware == FIRMWARE_OTHER)
		return;
	if (f->facts->running && largest_bar(f->facts) > HOTPLUG_BAR_MAX)
		fit_add(f->report, FIT_HOTPLUG_WINDOW, FIT_WARNING,
			strf("%s sized the windows of its PCIe ports when it started: they "
			     "may have no room for BARs of this size",
			     d->name),
			"shut it down, then assign");
	check_mapping(f, bars);
	if (bits == 0 && d->mmio_mb == 0)
		f->report->not_known[FIT_BAR_WINDOW] = FIT_NO_HOST ": its address bits";
	if (bits == 0 && d->mmio_mb == 0)
		return;
	room = seabios_window(d, bits);
	window = d->firmware == FIRMWARE_OVMF ? ovmf_window(d, bits, f->facts->host)
					      : (Window){ room, room, room };
	if (counted(d, &window) < wanted)
		tell_window(f, &window, bars, wanted);
}
