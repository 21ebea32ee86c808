/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the GPUs, their links, drivers and holders. */
#include <inttypes.h>
#include <string.h>

#include "core/doctor/checks.h"

/* A good link corrects an error now and then; a bad link corrects thousands. */
#define CORRECTABLE_MANY 1000

static const FunctionFacts *doctor_function(const Doctor *d, const Bdf *bdf)
{
	return d->facts->inspection ? inspection_find(d->facts->inspection, bdf) : NULL;
}

/* If a GPU cannot be read, that is the finding, and no reason to skip the check. */
void doctor_check_answers(const Doctor *d, Finding *f)
{
	for (size_t i = 0; i < d->n_gpus; i++) {
		const Bdf *bdf = &d->gpus[i]->lead->bdf;
		const FunctionFacts *facts = doctor_function(d, bdf);
		const GpuHealth *health =
			gpu_healths_find(d->facts->health, d->facts->n_health, bdf);

		if (health && health->error == -ETIMEDOUT) {
			finding_fail(f, BDF_TEXT(bdf), "%s: reading it does not end",
				     BDF_TEXT(bdf));
			finding_remedy(f,
				       "the driver or the device hangs: see dmesg; usually only a "
				       "reboot helps");
		} else if ((health && health->error == 0 && health->config.read &&
			    health->config.all_ones) ||
			   (facts && facts->config_all_ones)) {
			finding_fail(f, BDF_TEXT(bdf),
				     "%s does not answer: its config space reads all ones",
				     BDF_TEXT(bdf));
			finding_remedy(f,
				       "power-cycle the host; see dmesg for Xid or AER messages");
		} else if (health && health->why) {
			finding_unknown(f, BDF_TEXT(bdf), "%s could not be looked at: %s",
					BDF_TEXT(bdf), health->why);
		} else if (!health || health->error != 0 || !health->config.read) {
			finding_unknown(f, BDF_TEXT(bdf),
					"%s sleeps or could not be read; this check wakes none",
					BDF_TEXT(bdf));
		}
	}
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "all of them answer");
}

void doctor_check_power(const Doctor *d, Finding *f)
{
	for (size_t i = 0; i < d->n_gpus; i++) {
		const PciFunction *lead = d->gpus[i]->lead;

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

void doctor_check_link_width(const Doctor *d, Finding *f)
{
	for (size_t i = 0; i < d->n_gpus; i++) {
		const GpuHealth *health = doctor_health(d, d->gpus[i]);
		const Bdf *bdf = &d->gpus[i]->lead->bdf;
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

static bool is_service(const Holder *holder)
{
	return holder->command && (str_starts_with(holder->command, "nvidia-persiste") ||
				   str_starts_with(holder->command, "nv-hostengine") ||
				   str_starts_with(holder->command, "dcgm"));
}

/* Who has the GPU open. A service that only monitors GPUs does not count. */
typedef enum GpuUser { USED_BY_NOBODY, USED_BY_HOST, USED_BY_GUEST, USED_NOT_KNOWN } GpuUser;

static GpuUser used_by(const Doctor *d, const Bdf *bdf)
{
	const Inspection *inspection = d->facts->inspection;
	GpuUser user = doctor_function(d, bdf) ? USED_BY_NOBODY : USED_NOT_KNOWN;

	for (size_t i = 0; inspection && i < inspection->n_holders; i++) {
		const Holder *holder = &inspection->holders[i];

		if (!bdf_equal(&holder->bdf, bdf) || is_service(holder))
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
void doctor_check_link_speed(const Doctor *d, Finding *f)
{
	for (size_t i = 0; i < d->n_gpus; i++) {
		const GpuHealth *health = doctor_health(d, d->gpus[i]);
		const Bdf *bdf = &d->gpus[i]->lead->bdf;
		GpuUser user = used_by(d, bdf);
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

void doctor_check_aer(const Doctor *d, Finding *f)
{
	for (size_t i = 0; i < d->n_gpus; i++) {
		const GpuHealth *health = doctor_health(d, d->gpus[i]);
		const char *bdf = BDF_TEXT(&d->gpus[i]->lead->bdf);

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
		finding_pass(f, "none that matter since boot, on %zu GPUs", d->n_gpus);
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

static const PciFunction *board_beside(const Doctor *d, const Bdf *bdf)
{
	const PciSnapshot *snapshot = d->facts->snapshot;

	for (size_t i = 0; i < snapshot->n_functions; i++) {
		const PciFunction *other = snapshot->functions[i];

		if (other->bdf.segment == bdf->segment && other->bdf.bus == bdf->bus &&
		    !bdf_same_slot(&other->bdf, bdf))
			return other;
	}
	return NULL;
}

/*
 * What the kernel lists may fail, and whether vfio can reset a slot is seen only when it does: the
 * last reset tells.
 */
void doctor_check_reset(const Doctor *d, Finding *f)
{
	for (size_t i = 0; i < d->n_gpus; i++) {
		const PciFunction *lead = d->gpus[i]->lead;
		const PciFunction *beside = board_beside(d, &lead->bdf);
		const char *bdf = BDF_TEXT(&lead->bdf);
		const LastReset *last =
			last_resets_find(d->facts->resets, d->facts->n_resets, &lead->bdf);
		bool was_due = last && last->known;

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
			finding_fail(
				f, bdf,
				"%s can only be reset with its whole bus, which %s is on, too: "
				"release is refused",
				bdf, BDF_TEXT(&beside->bdf));
			finding_remedy(
				f,
				"give each board its own port, or choose another reset method: "
				"/sys/bus/pci/devices/%s/reset_method",
				bdf);
		}
	}
}

void doctor_check_boot_vga(const Doctor *d, Finding *f)
{
	for (size_t i = 0; i < d->n_gpus; i++) {
		const PciFunction *lead = d->gpus[i]->lead;

		if (!lead->boot_vga)
			continue;
		if (pci_function_on_vfio(lead)) {
			finding_pass(f, "%s is the boot display, but already on vfio-pci",
				     BDF_TEXT(&lead->bdf));
			continue;
		}
		finding_warn(f, BDF_TEXT(&lead->bdf),
			     "%s is the host's boot display: assign refuses it",
			     BDF_TEXT(&lead->bdf));
		finding_remedy(f,
			       "make another display the primary one in the firmware, or give up "
			       "the console: --allow-boot-vga");
	}
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "it is none of these GPUs");
}

void doctor_check_framebuffer(const Doctor *d, Finding *f)
{
	doctor_tell_obstacles(d, f, OBSTACLE_FRAMEBUFFER, "none holds a BAR of these GPUs",
			      "/proc/iomem could not be read");
}

void doctor_check_bars(const Doctor *d, Finding *f)
{
	doctor_tell_obstacles(d, f, OBSTACLE_BAR, "all that the GPUs need have one",
			      "this host does not report them");
}

void doctor_check_reserved_regions(const Doctor *d, Finding *f)
{
	doctor_tell_obstacles(d, f, OBSTACLE_REGION, "none keeps these GPUs from a guest",
			      "this kernel does not report it");
}

void doctor_check_virtual_functions(const Doctor *d, Finding *f)
{
	for (size_t i = 0; i < d->n_gpus; i++) {
		const PciFunction *lead = d->gpus[i]->lead;
		const FunctionFacts *facts = doctor_function(d, &lead->bdf);

		if (!lead->has_vfs && (!facts || facts->num_vfs == 0))
			continue;
		finding_warn(f, BDF_TEXT(&lead->bdf),
			     "%s has virtual functions enabled: assign refuses it",
			     BDF_TEXT(&lead->bdf));
		finding_remedy(f,
			       "/usr/lib/nvidia/sriov-manage -d %s; on a host without NVIDIA's "
			       "vGPU manager: echo 0 > /sys/bus/pci/devices/%s/sriov_numvfs",
			       BDF_TEXT(&lead->bdf), BDF_TEXT(&lead->bdf));
	}
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "none are enabled");
}

static void doctor_check_function_driver(const Doctor *d, const FunctionFacts *facts, Finding *f)
{
	_cleanup_free_ char *stub =
		str_equal(facts->driver, "pci-stub") ? doctor_find_stub(d, &facts->bdf) : NULL;
	const char *bdf = BDF_TEXT(&facts->bdf);

	if (facts->driver_override && !function_facts_override_is_vfio(facts)) {
		finding_warn(f, bdf, "%s has somebody else's driver_override: %s", bdf,
			     facts->driver_override);
		finding_remedy(f, "find who set it (driverctl list-overrides), and clear it");
	}
	if (stub) {
		finding_warn(f, bdf, "%s is on pci-stub: %s takes it at boot; assign is refused",
			     bdf, stub);
		finding_remedy(f, "take that ids= out, and reboot");
	} else if (!function_facts_driver_is_usual(facts)) {
		finding_warn(f, bdf, "%s is on a driver nobody expected there: %s", bdf,
			     facts->driver);
		finding_remedy(f, "find out why, and unbind it from that driver");
	}
}

void doctor_check_driver(const Doctor *d, Finding *f)
{
	for (size_t i = 0; i < d->n_gpus; i++)
		for (size_t k = 0; k < d->gpus[i]->n_functions; k++) {
			const FunctionFacts *facts =
				doctor_function(d, &d->gpus[i]->functions[k]->bdf);

			if (facts)
				doctor_check_function_driver(d, facts, f);
		}
	doctor_need_inspection(d, f);
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "they are those of the host or of gpupass");
}

static bool runs_in_domain(const Doctor *d, const Bdf *bdf)
{
	const DomainUse *use;
	size_t position = 0;

	while (d->facts->uses && (use = domain_uses_holding(d->facts->uses, bdf, &position)))
		if (use->active)
			return true;
	position = 0;
	while (d->facts->uses && (use = domain_uses_unread(d->facts->uses, &position)))
		if (use->active)
			return true; /* that domain may have the function */
	return false;
}

/* Usually there is nothing to mend, but the operator must know. */
static void doctor_tell_unseen(const Inspection *inspection, Finding *f)
{
	_cleanup_strv_ char **lines = NULL;

	inspection_tell_unseen(inspection, &lines);
	for (char **line = lines; line && *line; line++)
		finding_warn(f, NULL, "%s", *line);
	if (lines)
		finding_remedy(f, "look at that process: if it holds a GPU unseen, the driver can "
				  "wait for it without a limit");
}

/* Processes of the host that block assign. Guests on vfio do not count: they are the purpose. */
void doctor_check_holders(const Doctor *d, Finding *f)
{
	const Inspection *inspection = d->facts->inspection;

	for (size_t i = 0; i < inspection->n_holders; i++) {
		const Holder *holder = &inspection->holders[i];
		_cleanup_free_ char *text = NULL;

		if (!doctor_gpu_of(d, &holder->bdf) || is_service(holder) ||
		    (holder->vfio && (!d->facts->uses || runs_in_domain(d, &holder->bdf))))
			continue;
		text = holder_text(holder);
		finding_warn(f, BDF_TEXT(&holder->bdf), "%s%s", text,
			     holder->vfio ? ": a guest that libvirt does not know of" : "");
		finding_remedy(f, "stop it before assign; the driver waits for it without a limit");
	}
	doctor_tell_unseen(inspection, f);
	doctor_need_inspection(d, f);
	/* Without them, a guest that they do not have is not told from the others. */
	doctor_need_domains(d, f);
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "only guests hold GPUs");
}
