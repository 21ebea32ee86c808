/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address space for BARs. A data centre board has a BAR of 64 to 256 GiB. Firmware whose 64-bit
 * window is too small leaves the BAR unassigned, and the guest cannot use that GPU.
 */
#include "core/fit/checks.h"
#include "util/text.h"

#define GIB (UINT64_C(1) << 30)
/* OVMF's window when it does not trust the CPU's address width: PcdPciMmio64Size. */
#define OVMF_CLASSIC (32 * GIB)
/*
 * OVMF trusts an address width from 41 bits on (edk2, PlatformAddressWidthFromCpuid), because 40 is
 * QEMU's default. (On an AMD processor OVMF trusts 40 bits, too, but the vendor of the guest's
 * processor is not known here.) The window gets an eighth of the address space, of which OVMF
 * counts no more than 46 bits.
 */
#define OVMF_BITS_MIN 41
#define OVMF_BITS_MAX 46
#define ADDRESS_BITS_MAX 63
/* Each PCIe port of a running guest has its own window, sized when the guest started. */
#define HOTPLUG_BAR_MAX GIB

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

static uint64_t ovmf_window(const FitDomain *d, unsigned bits)
{
	if (d->mmio_mb > 0)
		return d->mmio_mb << 20;
	if (bits < OVMF_BITS_MIN)
		return OVMF_CLASSIC;
	return UINT64_C(1) << ((bits < OVMF_BITS_MAX ? bits : OVMF_BITS_MAX) - 3);
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
 * Wider addresses come first: they need no argument to QEMU that libvirt does not know, and make
 * room for the next GPU as well.
 */
void fit_tune_window(const FitFacts *facts, const FitDomain *d, FitTune *tune)
{
	unsigned bits = fit_domain_bits(d, facts->host);
	unsigned host = facts->host ? facts->host->physical_bits : 0;
	uint64_t wanted = fit_window_wanted(facts);
	FitDomain wide = *d;

	if (d->firmware != FIRMWARE_OVMF || wanted == 0 || bits == 0 || d->mmio_mb > 0 ||
	    ovmf_window(d, bits) >= wanted)
		return;
	wide.bits_of_host = wide.has_maxphysaddr = true;
	if (!d->has_maxphysaddr && d->has_cpu && !d->cpu_host && host >= OVMF_BITS_MIN) {
		tune->passthrough = true;
		d = &wide;
		bits = host;
	}
	if (ovmf_window(d, bits) < wanted && can_have(d, bits, wanted))
		tune->mmio_mb = wanted >> 20;
}

static int tell_window(Fit *f, uint64_t window, uint64_t bars, uint64_t wanted)
{
	const FitDomain *d = &f->domain;
	const char *firmware = d->firmware == FIRMWARE_OVMF ? "OVMF" : "SeaBIOS";
	_cleanup_free_ char *has = fit_size_text(window), *need = fit_size_text(bars);
	_cleanup_free_ char *better = fit_size_text(wanted);
	bool ovmf = d->firmware == FIRMWARE_OVMF;
	const char *remedy = ovmf ? "use --fit=apply, or give its <cpu> a "
				    "<maxphysaddr mode='passthrough'/>"
				  : "use UEFI firmware, or give its <cpu> a "
				    "<maxphysaddr mode='passthrough'/>";

	if (!has || !need || !better)
		return -ENOMEM;
	if (window < bars)
		return fit_add(f->report, FIT_BAR_WINDOW, FIT_ERROR,
			       strf("the BARs of the group take %s, and %s of %s has room for %s: "
				    "the guest will lack GPUs",
				    need, firmware, d->name, has),
			       remedy);
	return fit_add(f->report, FIT_BAR_WINDOW, FIT_WARNING,
		       strf("the BARs of the group take %s, and %s of %s has room for %s; %s "
			    "would be enough with alignment and other devices",
			    need, firmware, d->name, has, better),
		       remedy);
}

int fit_check_window(Fit *f)
{
	const FitDomain *d = &f->domain;
	unsigned bits = fit_domain_bits(d, f->facts->host);
	uint64_t bars = bars_of(f->facts), wanted = fit_window_wanted(f->facts), window;
	int r = 0;

	if (bars == 0 || d->firmware == FIRMWARE_OTHER)
		return 0;
	if (f->facts->running && largest_bar(f->facts) > HOTPLUG_BAR_MAX)
		r = fit_add(f->report, FIT_HOTPLUG_WINDOW, FIT_WARNING,
			    strf("%s sized the windows of its PCIe ports when it started: they "
				 "may have no room for BARs of this size",
				 d->name),
			    "shut it down, then assign");
	if (r < 0 || (bits == 0 && d->mmio_mb == 0))
		return r;
	window = d->firmware == FIRMWARE_OVMF ? ovmf_window(d, bits) : seabios_window(d, bits);
	return window >= wanted ? 0 : tell_window(f, window, bars, wanted);
}
