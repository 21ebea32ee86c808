/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the GPUs, their links, drivers and holders. */
#include <inttypes.h>

#include "core/checks/checks.h"
#include "core/domain/vgpu.h"
#include "core/pci/driver-name.h"
#include "util/xalloc.h"

#define CLASS_DISPLAY 0x03
#define MIB (UINT64_C(1) << 20)
/*
 * Every GPU of NVIDIA has its registers in BAR 0, of 16 MiB or more, and its memory in BAR 1, or
 * in BAR 2 where BAR 0 has 64 bits. No other BAR has more than 32 MiB.
 */
#define BAR_REGISTERS_MIN (16 * MIB)
#define BAR_OTHER_MAX (32 * MIB)

/* A good link corrects an error now and then; a bad link corrects thousands. */
#define CORRECTABLE_MANY 1000

static void tell_silent(const Checks *c, const Bdf *bdf, Finding *f)
{
	finding_fail(f, BDF_TEXT(bdf), "%s does not answer: its config space reads all ones",
		     BDF_TEXT(bdf));
	finding_remedy(f, c->facts->gives_back
				  ? "leave it on vfio-pci (--keep-vfio), then power-cycle the host"
				  : "power-cycle the host; see dmesg for Xid or AER messages");
	finding_bars(f, GPUPASS_ERROR_BIND_FAILED, NULL);
}

/* If a GPU cannot be read, that is the finding, and no reason to skip the check. */
static void check_answers(const Checks *c, Finding *f)
{
	EACH_OF (const PciFunction, function, c->functions, c->n_functions) {
		const FunctionFacts *facts = checks_function(c, &function->bdf);
		const GpuHealth *health =
			gpu_healths_find(c->facts->health, c->facts->n_health, &function->bdf);
		const Gpu *gpu = checks_gpu_of(c, &function->bdf);
		bool lead = gpu && gpu->functions[0] == function;

		if (health && health->error == -ETIMEDOUT) {
			finding_fail(f, BDF_TEXT(&function->bdf), "%s: reading it does not end",
				     BDF_TEXT(&function->bdf));
			finding_remedy(f,
				       "the driver or the device hangs: see dmesg; usually only a "
				       "reboot helps");
		} else if ((health && health->error == 0 && health->config.read &&
			    health->config.all_ones) ||
			   (facts && facts->config_all_ones)) {
			tell_silent(c, &function->bdf, f);
		} else if (health && health->why) {
			finding_unknown(f, BDF_TEXT(&function->bdf),
					"%s could not be looked at: %s", BDF_TEXT(&function->bdf),
					health->why);
		} else if (lead && (!health || health->error != 0 || !health->config.read)) {
			finding_unknown(f, BDF_TEXT(&function->bdf),
					"%s sleeps or could not be read; this check wakes none",
					BDF_TEXT(&function->bdf));
		}
	}
}

static void check_power(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->n_gpus; i++) {
		const PciFunction *lead = c->gpus[i]->lead;

		if (str_equal(lead->power_state, "D3cold")) {
			finding_warn(f, BDF_TEXT(&lead->bdf),
				     "%s is powered off (D3cold) and has to wake up before use",
				     BDF_TEXT(&lead->bdf));
			finding_remedy(
				f, "keep it on: echo 0 > /sys/bus/pci/devices/%s/d3cold_allowed",
				BDF_TEXT(&lead->bdf));
		} else if (str_equal(lead->power_state, "error")) {
			finding_fail(f, BDF_TEXT(&lead->bdf),
				     "the kernel could not set the power state of %s",
				     BDF_TEXT(&lead->bdf));
			finding_remedy(f, "see dmesg; power-cycle the host");
		} else if (lead->power_state && !str_equal(lead->power_state, "unknown")) {
			finding_pass(f, "%s: %s", BDF_TEXT(&lead->bdf), lead->power_state);
		} else {
			finding_unknown(f, BDF_TEXT(&lead->bdf),
					"%s: the kernel does not report its power state",
					BDF_TEXT(&lead->bdf));
		}
	}
}

/* False: the finding says so. */
static bool has_link(const GpuHealth *health, const Bdf *bdf, Finding *f)
{
	if (health && health->config.width > 0 && health->config.width_max > 0 &&
	    health->config.speed_max > 0)
		return true;
	finding_unknown(f, BDF_TEXT(bdf), "%s: no link was read: the GPU sleeps, or reports none",
			BDF_TEXT(bdf));
	return false;
}

static void check_link_width(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->n_gpus; i++) {
		const GpuHealth *health = checks_health(c, c->gpus[i]);
		const Bdf *bdf = &c->gpus[i]->lead->bdf;
		unsigned expected;

		if (!has_link(health, bdf, f))
			continue;
		expected = gpu_health_width_expected(health);
		if (health->config.width < expected) {
			finding_fail(f, BDF_TEXT(bdf), "%s has x%u of x%u lanes", BDF_TEXT(bdf),
				     health->config.width, expected);
			finding_remedy(f, "reseat the board and its riser, and clean the contacts; "
					  "then look at the slot");
		} else if (health->config.width < health->config.width_max) {
			finding_warn(f, BDF_TEXT(bdf),
				     "%s has x%u lanes, as many as its slot; the board can use x%u",
				     BDF_TEXT(bdf), health->config.width, health->config.width_max);
			finding_remedy(f, "use a wider slot; many boards split lanes among slots");
		} else {
			finding_pass(f, "%s: x%u", BDF_TEXT(bdf), health->config.width);
		}
	}
}

/* Who has the GPU open. A service that only monitors GPUs does not count. */
typedef enum GpuUser { USED_BY_NOBODY, USED_BY_HOST, USED_BY_GUEST, USED_NOT_KNOWN } GpuUser;

static GpuUser used_by(const Checks *c, const Bdf *bdf)
{
	const Inspection *inspection = c->facts->inspection;
	GpuUser user = checks_function(c, bdf) ? USED_BY_NOBODY : USED_NOT_KNOWN;

	EACH_IN (const Holder, holder, inspection, holders) {
		if (!bdf_equal(&holder->bdf, bdf) || checks_is_service(holder))
			continue;
		if (!holder->vfio)
			return USED_BY_HOST;
		user = USED_BY_GUEST;
	}
	return user;
}

/*
 * An idle GPU lowers the speed of its link to save power. Whether a GPU in a guest is idle cannot
 * be seen from the host. What can be seen is a process of the host that has the GPU open.
 */
static void check_link_speed(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->n_gpus; i++) {
		const GpuHealth *health = checks_health(c, c->gpus[i]);
		const Bdf *bdf = &c->gpus[i]->lead->bdf;
		GpuUser user = used_by(c, bdf);
		unsigned expected;

		if (!has_link(health, bdf, f))
			continue;
		expected = gpu_health_speed_expected(health);
		if (health->config.speed >= expected) {
			finding_pass(f, "%s: %s", BDF_TEXT(bdf),
				     pcie_speed_text(health->config.speed));
		} else if (user == USED_BY_HOST) {
			finding_warn(f, BDF_TEXT(bdf),
				     "%s is in use, and its link runs at %s of %s", BDF_TEXT(bdf),
				     pcie_speed_text(health->config.speed),
				     pcie_speed_text(expected));
			finding_remedy(
				f, "look again under load; if it stays, try another slot or riser, "
				   "or the slot's speed in the firmware setup");
		} else if (user != USED_BY_NOBODY) {
			finding_unknown(f, BDF_TEXT(bdf),
					"%s: %s of %s, which is normal for an idle GPU; whether it "
					"is idle %s",
					BDF_TEXT(bdf), pcie_speed_text(health->config.speed),
					pcie_speed_text(expected),
					user == USED_BY_GUEST ? "only its guest can tell"
							      : "is not known");
		} else {
			finding_pass(f, "%s: %s of %s, which is normal for an idle GPU",
				     BDF_TEXT(bdf), pcie_speed_text(health->config.speed),
				     pcie_speed_text(expected));
		}
	}
}

static void check_aer(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->n_gpus; i++) {
		const GpuHealth *health = checks_health(c, c->gpus[i]);
		const char *bdf = BDF_TEXT(&c->gpus[i]->lead->bdf);

		if (!health || !health->aer) {
			finding_unknown(f, bdf,
					"%s: the kernel counts no errors: there is no AER, or the "
					"firmware handles it",
					bdf);
			continue;
		}
		if (health->fatal > 0)
			finding_fail(f, bdf, "%s: %" PRIu64 " fatal errors since boot", bdf,
				     health->fatal);
		if (health->nonfatal > 0)
			finding_warn(f, bdf, "%s: %" PRIu64 " non-fatal errors since boot", bdf,
				     health->nonfatal);
		if (health->correctable >= CORRECTABLE_MANY)
			finding_warn(f, bdf, "%s: %" PRIu64 " corrected errors since boot", bdf,
				     health->correctable);
	}
	if (f->status >= FINDING_WARN)
		finding_remedy(f, "see dmesg for AER messages; reseat the board, try another slot "
				  "or riser");
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "none that matter since boot, on %zu GPUs", c->n_gpus);
}

/*
 * The kernel's first method resets every function on the bus, or there is no method, or only power
 * management, which is no reset between two tenants. In that case
 * core/plan/reset.c has vfio reset the slot, which also resets the whole bus.
 */
static bool resets_with_bus(const PciFunction *lead)
{
	const char *methods = lead->reset_methods;

	return str_is_empty(methods) || str_starts_with(methods, "bus") ||
	       str_starts_with(methods, "cxl_bus") || str_starts_with(methods, "pm");
}

int checks_refuse_bus_reset(const PciSnapshot *snapshot, const Bdf *bdf, Problem **ret_problem)
{
	for (size_t i = 0; i < snapshot->n_functions; i++) {
		const Bdf *other = &snapshot->functions[i]->bdf;

		if (other->segment != bdf->segment || other->bus != bdf->bus ||
		    bdf_same_slot(other, bdf))
			continue;
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_RESET_FAILED,
			.reason = strf("%s can be reset with its whole bus only", BDF_TEXT(bdf)),
			.cause = strf("%s is on the same bus and would be reset, too",
				      BDF_TEXT(other)),
			.remedy = strf("give each board a port of its own, or choose another way: "
				       "/sys/bus/pci/devices/%s/reset_method",
				       BDF_TEXT(bdf)));
	}
	return 0;
}

/*
 * What the kernel lists may fail, and whether vfio can reset a slot is seen only when it does: the
 * last reset tells.
 */
static void check_reset(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->n_gpus; i++) {
		const PciFunction *lead = c->gpus[i]->lead;
		_cleanup_(problem_freep) Problem *beside = NULL;
		const char *bdf = BDF_TEXT(&lead->bdf);
		const LastReset *last =
			last_resets_find(c->facts->resets, c->facts->n_resets, &lead->bdf);
		bool was_due = last && last->known;

		checks_refuse_bus_reset(c->facts->snapshot, &lead->bdf, &beside);
		if (was_due && !last->reset) {
			finding_warn(f, bdf, "not reset when that was due last: %s",
				     last->what ? last->what : bdf);
			finding_remedy(f, "another domain gets it only when a reset works, or with "
					  "--accept-dirty after the host was switched off: "
					  "gpupassd(8), TURNOVER");
		}
		if (!resets_with_bus(lead)) {
			finding_pass(f, "%s: %s", bdf, lead->reset_methods);
		} else if (!beside && was_due && last->reset) {
			finding_pass(f, "%s: with its whole slot, as last time", bdf);
		} else if (!beside && !was_due) {
			finding_unknown(f, bdf,
					"%s: with its whole slot, if it can be: it was not "
					"tried yet",
					bdf);
		} else if (beside) {
			finding_fail(f, bdf, "%s: %s", beside->reason, beside->cause);
			finding_remedy(f, "%s", beside->remedy);
		}
	}
}

/* On vfio the console has gone already; a framebuffer that is left there is told below. */
static void check_boot_vga(const Checks *c, Finding *f)
{
	EACH_OF (const PciFunction, function, c->functions, c->n_functions) {
		const FunctionFacts *facts = checks_function(c, &function->bdf);
		const char *bdf = BDF_TEXT(&function->bdf);

		if (!function->boot_vga)
			continue;
		if (facts ? function_facts_on_vfio(facts) : pci_function_on_vfio(function)) {
			finding_pass(f, "%s is the boot display, but already on vfio-pci", bdf);
			continue;
		}
		finding_warn(f, bdf, "%s is the host's boot display", bdf);
		finding_remedy(f,
			       "make another display the primary one in the firmware, or give up "
			       "the console: --allow-boot-vga");
		if (!c->facts->allow_boot_vga)
			finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, NULL);
	}
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

static void check_function_bars(const PciFunction *function, const FunctionFacts *facts, Finding *f)
{
	bool display = function->class_code >> 16 == CLASS_DISPLAY;
	const char *bdf = BDF_TEXT(&function->bdf);
	_cleanup_free_ char *bars = NULL;

	if (facts->bars_unset > 0)
		bars = bars_text(facts->bars_unset);
	else if (lacks_memory(function))
		bars = xstrdup("the BAR of the memory (BAR 1, or 2 on newer boards) has");
	else
		return;
	finding_add(f, display ? FINDING_FAIL : FINDING_WARN, bdf,
		    "%s: %s no address on this host: no guest can use the %s", bdf, bars,
		    display ? "board" : "function");
	finding_remedy(f, "turn on \"Above 4G decoding\" in the firmware, with room for all boards "
			  "(MMIO High Size, where it is offered), and reboot; if it is on, boot "
			  "with pci=realloc; for details: dmesg | grep BAR");
	if (display)
		finding_bars(f, GPUPASS_ERROR_UNSUPPORTED_BOARD, NULL);
}

static void check_bars(const Checks *c, Finding *f)
{
	bool unknown = false;

	for (size_t i = 0; i < c->n_functions; i++) {
		const FunctionFacts *facts = checks_function(c, &c->functions[i]->bdf);

		unknown |= !facts || !facts->resource_read;
		if (facts)
			check_function_bars(c->functions[i], facts, f);
	}
	if (unknown)
		finding_unknown(f, NULL, "this host does not report them");
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

static void check_bar_holder(const PciFunction *function, const BarHolder *holder, Finding *f)
{
	const char *names = str_or_empty(holder->name), *bdf = BDF_TEXT(&function->bdf);
	_cleanup_free_ char *bar = holder->bar < 0 ? xstrdup("a BAR") : strf("BAR %d", holder->bar);
	_cleanup_free_ char *remedy = framebuffer_remedy(names);

	finding_warn(f, bdf,
		     "%s: the firmware framebuffer (%s) holds %s: %s \"%s%scan't reserve\", and "
		     "the guest cannot use the board",
		     bdf, names, bar,
		     driver_is_vfio(function->driver)
			     ? "a guest's start gives"
			     : "where vfio-pci does not end it (since Linux 6.0 it does for the "
			       "boot display), a guest's start gives",
		     holder->bar < 0 ? "" : bar, holder->bar < 0 ? "" : ": ");
	finding_remedy(f, "%s", remedy);
}

static void check_framebuffer(const Checks *c, Finding *f)
{
	bool unknown = !c->facts->inspection->iomem_read;

	for (size_t i = 0; i < c->n_functions; i++) {
		const FunctionFacts *facts = checks_function(c, &c->functions[i]->bdf);

		unknown |= !facts;
		for (size_t k = 0; facts && k < facts->n_bar_holders; k++)
			check_bar_holder(c->functions[i], &facts->bar_holders[k], f);
	}
	if (unknown)
		finding_unknown(f, NULL, "/proc/iomem could not be read");
}

/* ---- vGPUs ---- */

/* A domain that is shut off would not start any more. */
static void tell_vgpu(const VgpuUse *vgpu, Finding *f)
{
	_cleanup_free_ char *text = vgpu_text(vgpu), *remedy = vgpu_remedy(vgpu), *reason = NULL;
	const DomainUse *use = vgpu->domain;
	const char *board = BDF_TEXT(&vgpu->board);

	if (use) {
		reason = strf("%s has a %s of %s", use->name, vgpu_noun(vgpu), board);
		finding_warn(f, board, "domain %s (%s, %s) is %s %s", use->name, use->uuid,
			     use->active ? "running" : "shut off",
			     vgpu->live ? "running with" : "defined with", text);
	} else {
		reason = strf("%s has a vGPU that no domain names", board);
		finding_warn(f, board, "%s", text);
	}
	finding_remedy(f, "%s", remedy);
	finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, reason);
}

/* On a host with vendor-specific VFs: see read_vgpus() of the worker. */
static void tell_vgpu_type(const FunctionFacts *facts, Finding *f)
{
	_cleanup_free_ char *reason =
		strf("%s has a vGPU that no domain names", BDF_TEXT(&facts->bdf));

	finding_warn(f, BDF_TEXT(&facts->bdf),
		     "%u of its virtual functions have a vGPU type set; %s has type %u",
		     facts->vgpus, BDF_TEXT(&facts->vgpu_vf), facts->vgpu_type);
	finding_remedy(f,
		       "see who made it, and remove it: echo 0 > "
		       "/sys/bus/pci/devices/%s/nvidia/current_vgpu_type; then: "
		       "/usr/lib/nvidia/sriov-manage -d %s",
		       BDF_TEXT(&facts->vgpu_vf), BDF_TEXT(&facts->bdf));
	finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, reason);
}

/*
 * Whoever has a vGPU runs on the board by way of the nvidia driver, so the board cannot go to
 * vfio-pci.
 */
static void check_vgpus(const Checks *c, const PciFunction *function, Finding *f)
{
	size_t position = 0;
	VgpuUse vgpu;

	if (!c->facts->uses)
		return;
	while (vgpu_next_domain(c->facts->uses, c->facts->snapshot, &function->bdf, &position,
				&vgpu))
		tell_vgpu(&vgpu, f);
	if (vgpu_unnamed_mdev(c->facts->uses, c->facts->snapshot, &function->bdf, &vgpu))
		tell_vgpu(&vgpu, f);
}

static void check_virtual_functions(const Checks *c, Finding *f)
{
	EACH_OF (const PciFunction, function, c->functions, c->n_functions) {
		const FunctionFacts *facts = checks_function(c, &function->bdf);
		const char *bdf = BDF_TEXT(&function->bdf);

		check_vgpus(c, function, f);
		if (facts && facts->vgpus > 0)
			tell_vgpu_type(facts, f);
		if (!function->has_vfs && (!facts || facts->num_vfs == 0))
			continue;
		finding_warn(f, bdf, "%s has virtual functions enabled", bdf);
		if (pci_function_may_accompany(function))
			finding_remedy(f,
				       "see that nobody has one of them, then: echo 0 > "
				       "/sys/bus/pci/devices/%s/sriov_numvfs",
				       bdf);
		finding_remedy(f,
			       "/usr/lib/nvidia/sriov-manage -d %s; on a host without NVIDIA's "
			       "vGPU manager: echo 0 > /sys/bus/pci/devices/%s/sriov_numvfs",
			       bdf, bdf);
		finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, NULL);
	}
}

const Check checks_of_device[] = {
	CHECK("boot-vga", "Boot display", NEEDS_GPUS, check_boot_vga, "it is none of these GPUs",
	      "boot-display", "boot_vga and driver in sysfs, read by the scan",
	      .plans = REFUSES_TAKING),
	CHECK("framebuffer", "Firmware framebuffer", NEEDS_INSPECTION | NEEDS_GPUS,
	      check_framebuffer, "none holds a BAR of these GPUs", "boot-display",
	      "/proc/iomem, read by the inspector", .plans = WARNS_TAKING),
	CHECK("bars", "Addresses of BARs", NEEDS_INSPECTION | NEEDS_GPUS, check_bars,
	      "all that the GPUs need have one", "bars-without-an-address",
	      "resource in sysfs, read by the inspector", .plans = REFUSES_TAKING | WARNS_TAKING),
	CHECK("virtual-functions", "Virtual functions", NEEDS_GPUS, check_virtual_functions,
	      "none are enabled", "hostinuse", "the virtual functions in sysfs, listed by the scan",
	      .plans = REFUSES_TAKING),
	CHECK("answers", "GPUs answer", NEEDS_GPUS, check_answers, "all of them answer", SEE_TABLE,
	      "config space of every GPU that is awake, read by the config part",
	      .plans = REFUSES_TAKING | REFUSES_GIVING),
	CHECK("power", "Power states", NEEDS_GPUS, check_power, NULL, SEE_TABLE,
	      "power_state in sysfs, read by the scan"),
	CHECK("link-width", "Lanes of the PCIe links", NEEDS_GPUS, check_link_width, NULL,
	      SEE_TABLE, "link registers of every GPU and port above, read by the config part"),
	CHECK("link-speed", "Speed of the PCIe links", NEEDS_GPUS, check_link_speed, NULL,
	      SEE_TABLE, "the same registers; who has the GPU open, from the inspector"),
	CHECK("aer", "PCIe errors", NEEDS_GPUS, check_aer, NULL, SEE_TABLE,
	      "the kernel's error counters in sysfs, read by the config part"),
	CHECK("reset", "Ways to reset the GPUs", NEEDS_GPUS, check_reset, NULL, "resetfailed",
	      "reset_method in sysfs, read by the scan; the receipts of the boards' last resets"),
	{ 0 },
};
