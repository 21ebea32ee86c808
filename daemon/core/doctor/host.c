/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the host's setup: IOMMU, vfio, drivers and services. */
#include <string.h>

#include "core/doctor/checks.h"
#include "core/facts/driver-release.h"
#include "core/facts/kernel-words.h"
#include "core/facts/modprobe.h"
#include "core/facts/setup-files.h"
#include "util/xalloc.h"

static bool cmdline_has(const Doctor *d, const char *prefix, const char **ret)
{
	const Examination *host = d->facts->host;

	for (char *const *word = host ? host->cmdline : NULL; word && *word; word++)
		if (kernel_word_begins(*word, prefix)) {
			*ret = *word;
			return true;
		}
	return false;
}

void doctor_check_iommu(const Doctor *d, Finding *f)
{
	_cleanup_free_ char *remedy = NULL;

	if (d->facts->snapshot->iommu) {
		finding_pass(f, "the kernel has IOMMU groups");
		return;
	}
	remedy = obstacle_iommu_remedy(d->facts->machine);
	finding_fail(f, NULL, "the IOMMU is off: the kernel has no IOMMU groups");
	finding_remedy(f, "%s", remedy);
}

void doctor_check_noiommu(const Doctor *d, Finding *f)
{
	if (!d->facts->inspection->noiommu) {
		finding_pass(f, "it is off");
		return;
	}
	finding_fail(f, NULL,
		     "vfio runs without the protection of an IOMMU: a guest can reach all memory");
	finding_remedy(f, "set vfio.enable_unsafe_noiommu_mode=0");
}

void doctor_check_interrupt_remapping(const Doctor *d, Finding *f)
{
	doctor_tell_obstacles(d, f, OBSTACLE_INTERRUPTS, "interrupts are remapped",
			      "this host does not report whether interrupts are remapped");
}

/*
 * At boot the kernel turns ACS on and derives the IOMMU groups from it. If ACS is turned off later
 * (scripts do so for peer-to-peer over PCIe), the groups still look separate. A port that has no
 * ACS is no fault: the kernel puts everything behind it into one IOMMU group.
 */
void doctor_check_acs(const Doctor *d, Finding *f)
{
	size_t seen = 0;

	for (size_t i = 0; i < d->n_gpus; i++) {
		const GpuHealth *health = doctor_health(d, d->gpus[i]);
		const char *bdf = BDF_TEXT(&d->gpus[i]->lead->bdf);

		if (!health || health->n_ports == 0)
			finding_unknown(f, bdf, "the ports above %s were not read", bdf);
		for (size_t k = 0; health && k < health->n_ports; k++) {
			const HealthPort *port = &health->ports[k];

			if (!port->config.read || port->config.all_ones) {
				finding_unknown(f, BDF_TEXT(&port->bdf),
						"%s, above %s, sleeps or could not be read",
						BDF_TEXT(&port->bdf), bdf);
				continue;
			}
			seen++;
			if (!pcie_acs_is_off(&port->config))
				continue;
			finding_fail(f, BDF_TEXT(&port->bdf),
				     "%s, above %s, has ACS turned off (0x%x of 0x%x): devices "
				     "behind it can reach each other past the IOMMU",
				     BDF_TEXT(&port->bdf), BDF_TEXT(&health->bdf),
				     port->config.acs_control & PCIE_ACS_NEEDED,
				     port->config.acs_capability & PCIE_ACS_NEEDED);
		}
	}
	if (f->status == FINDING_FAIL)
		finding_remedy(f, "find what turned it off after boot (a script with setpci, for "
				  "example), remove that, and reboot");
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "on, or reflected in the IOMMU groups, at %zu ports", seen);
}

void doctor_check_acs_override(const Doctor *d, Finding *f)
{
	const char *word;

	if (!cmdline_has(d, "pcie_acs_override", &word)) {
		doctor_need_read(d, "cmdline", f);
		if (f->status == FINDING_SKIPPED)
			finding_pass(f, "it is not in use");
		return;
	}
	finding_warn(f, NULL, "the kernel runs with %s: IOMMU groups may look separate and not be",
		     word);
	finding_remedy(f, "do not use it with several tenants: use other slots, or enable ACS in "
			  "the firmware");
}

static void doctor_check_neighbour(const Doctor *d, const Gpu *gpu, const PciFunction *ours,
				   const PciFunction *other, Finding *f)
{
	const Group *group = group_set_find_gpu(d->facts->groups, &gpu->lead->bdf);
	const Group *others = group_set_find_gpu(d->facts->groups, &other->bdf);

	if (other->bridge || other->iommu_group != ours->iommu_group || others == group)
		return;
	if (bdf_same_slot(&other->bdf, &ours->bdf))
		return; /* of the same board, for example a virtual function */
	if (other->driver && !pci_function_on_vfio(other) &&
	    !str_equal(other->driver, "pci-stub") && !others)
		finding_fail(f, BDF_TEXT(&other->bdf),
			     "%s (%s) shares IOMMU group %d with %s of %s", BDF_TEXT(&other->bdf),
			     other->driver, ours->iommu_group, BDF_TEXT(&ours->bdf), group->name);
	else if (others)
		finding_warn(f, BDF_TEXT(&other->bdf),
			     "%s of %s shares IOMMU group %d with %s of %s: only one of the two "
			     "groups can be assigned at a time",
			     BDF_TEXT(&other->bdf), others->name, ours->iommu_group,
			     BDF_TEXT(&ours->bdf), group->name);
	finding_remedy(f, "use another slot or enable ACS; see gpupassd(8), IOMMU GROUPS");
}

/* The kernel's own rule (vfio_group_viable), for every function of the GPUs. */
void doctor_check_iommu_group(const Doctor *d, Finding *f)
{
	const PciSnapshot *snapshot = d->facts->snapshot;

	for (size_t i = 0; i < d->n_gpus; i++) {
		/* A function that shares the first one's IOMMU group has the same neighbours. */
		for (size_t k = 0; k < d->gpus[i]->n_functions; k++) {
			const PciFunction *ours = d->gpus[i]->functions[k];

			if (ours->iommu_group == IOMMU_GROUP_NONE) {
				finding_fail(f, BDF_TEXT(&ours->bdf), "%s is in no IOMMU group",
					     BDF_TEXT(&ours->bdf));
				finding_remedy(f,
					       "for what the IOMMU covers: dmesg | grep -i -e DMAR "
					       "-e AMD-Vi");
				continue;
			}
			if (k > 0 && ours->iommu_group == d->gpus[i]->functions[0]->iommu_group)
				continue;
			for (size_t o = 0; o < snapshot->n_functions; o++)
				doctor_check_neighbour(d, d->gpus[i], ours, snapshot->functions[o],
						       f);
		}
	}
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "viable: they hold no device that the host uses");
}

void doctor_check_vfio(const Doctor *d, Finding *f)
{
	const Inspection *inspection = d->facts->inspection;
	const Examination *host = d->facts->host;

	if (inspection->vfio_pci && host && !strv_contains(host->builtin, "vfio_pci") &&
	    modprobe_blocks(host->modprobe, "vfio_pci")) {
		finding_warn(f, NULL,
			     "it is loaded, but modprobe.d keeps it from being loaded at the next "
			     "boot: no assigned board will be bound then");
		finding_remedy(f, "take out blacklist or install of vfio-pci: grep -r vfio "
				  "/etc/modprobe.d /usr/lib/modprobe.d");
	} else if (inspection->vfio_pci) {
		finding_pass(f, "loaded");
	} else if (host && (modprobe_blocks(host->modprobe, "vfio_pci") ||
			    kernel_words_block(host->cmdline, "vfio_pci"))) {
		finding_fail(f, NULL,
			     "it is not loaded, and modprobe.d or the kernel command line keeps it "
			     "from being loaded: no group can be assigned");
		finding_remedy(f, "take out blacklist or install of vfio-pci: grep -r vfio "
				  "/etc/modprobe.d /usr/lib/modprobe.d /proc/cmdline; then: "
				  "modprobe vfio-pci");
	} else if (inspection->vfio_loadable) {
		finding_warn(f, NULL, "it is not loaded: no group can be assigned");
		finding_remedy(f,
			       "modprobe vfio-pci; to load it at each boot, name it in a file of "
			       "/etc/modules-load.d");
	} else {
		finding_fail(f, NULL, "this kernel has no vfio-pci");
		finding_remedy(f, "install the kernel's full set of modules (CONFIG_VFIO_PCI)");
	}
}

/* Driver versions known to hang on what gpupass does. `from` and `to` are included. */
static const struct KnownBad {
	const char *from, *to;
	const char *what;
	const char *source;
} known_bad[] = {
	{ "595.45", "610.57.04",
	  "unbind unlists a GPU before its users have closed it, and then waits for ever",
	  "NVIDIA/open-gpu-kernel-modules issues 1119 and 1374" },
	{ "595.71.05", "595.71.05",
	  "on H100 NVL pairs NVML calls hang for ever after a CUDA process has ended",
	  "NVIDIA/open-gpu-kernel-modules issue 1333" },
};

void doctor_check_driver_version(const Doctor *d, Finding *f)
{
	const char *version = d->facts->host->nvidia_version;

	if (!version && strv_contains(d->facts->host->modules, "nvidia")) {
		finding_unknown(f, NULL, "the nvidia driver does not report its version");
		return;
	}
	if (!version) {
		finding_skip(f, "the nvidia driver is not loaded");
		return;
	}
	for (size_t i = 0; i < ELEMENTS(known_bad); i++) {
		const struct KnownBad *bad = &known_bad[i];

		if (setup_compare_versions(version, bad->from) < 0 ||
		    setup_compare_versions(version, bad->to) > 0)
			continue;
		finding_warn(f, NULL, "%s: %s (%s)", version, bad->what, bad->source);
		finding_remedy(f,
			       "stop everything that uses the GPUs before assign, or keep them on "
			       "vfio-pci from boot (gpupass bind GROUP --persist, or assign, then "
			       "reboot); or use another version");
	}
	if (f->status != FINDING_SKIPPED)
		return;
	if (release_wait_can_end(version) == RELEASE_YES)
		finding_pass(f, "%s: no hang is known of it", version);
	else
		finding_unknown(f, NULL, "%s: gpupass's table does not reach this version",
				version);
}

static bool on_nvidia(const Doctor *d)
{
	for (size_t i = 0; i < d->n_gpus; i++)
		if (str_equal(d->gpus[i]->lead->driver, "nvidia"))
			return true;
	return false;
}

/* The words are those of the refusal: check_modeset() in core/plan/check.c. */
void doctor_check_nvidia_drm(const Doctor *d, Finding *f)
{
	const char *version = d->facts->inspection->nvidia_version;
	_cleanup_free_ char *cause = NULL;

	if (!d->facts->inspection->nvidia_modeset) {
		finding_pass(f, "it is not loaded, or runs without modeset=1");
		return;
	}
	if (release_frees_modeset(version) == RELEASE_YES || !on_nvidia(d)) {
		finding_pass(f, "it runs with modeset=1, and keeps no GPU from leaving nvidia");
		return;
	}
	cause = release_modeset_cause(version);
	finding_warn(f, NULL, RELEASE_MODESET_REASON);
	finding_warn(f, NULL, "%s; assign is refused", cause);
	finding_remedy(f, RELEASE_MODESET_REMEDY);
}

/* By its unit, not by a name that any process can take. It lets go when it is asked. */
static bool is_persistenced(const char *line)
{
	return str_starts_with(line, "nvidia-persiste (") &&
	       strstr(line, "unit nvidia-persistenced.service)");
}

void doctor_check_services(const Doctor *d, Finding *f)
{
	bool fabric_wanted = d->facts->gpus->n_nvswitches > 0, held = on_nvidia(d);

	for (char **line = d->facts->host->services; line && *line; line++) {
		bool fabric = str_starts_with(*line, "nv-fabricmanage");

		if (fabric && !fabric_wanted) {
			finding_warn(
				f, NULL,
				"%s runs, but there is no NVSwitch: bridged GPUs do not need it",
				*line);
			finding_remedy(f, "systemctl disable --now nvidia-fabricmanager");
		} else if (held && is_persistenced(*line)) {
			finding_pass(f,
				     "%s keeps GPUs initialised; assign makes it let go of those "
				     "that leave nvidia, by nvidia-smi",
				     *line);
		} else if (!fabric && held) {
			finding_warn(f, NULL,
				     "%s runs and holds GPUs that are on nvidia: assign is refused",
				     *line);
			finding_remedy(
				f, "stop it before assign (systemctl stop); then start it again "
				   "for the remaining GPUs");
		}
	}
	doctor_need_read(d, "processes", f);
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "none is in the way");
}

void doctor_check_driverctl(const Doctor *d, Finding *f)
{
	for (char **line = d->facts->host->driverctl; line && *line; line++) {
		_cleanup_free_ char *address = xstrndup(*line, strcspn(*line, " "));
		Bdf bdf;

		if (bdf_parse(address, &bdf) < 0 || !doctor_gpu_of(d, &bdf))
			continue;
		finding_warn(f, address, "driverctl has its own override: %s", *line);
		finding_remedy(f, "driverctl unset-override %s: two tools must not bind one device",
			       address);
	}
	doctor_need_read(d, "driverctl", f);
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "it has no override for these GPUs");
}

void doctor_check_host_hooks(const Doctor *d, Finding *f)
{
	bool calls = false;

	for (char **line = d->facts->host->host_hooks; line && *line; line++) {
		finding_warn(f, NULL, "%s", *line);
		calls |= strstr(*line, " names virsh") || strstr(*line, " names libvirt");
	}
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "no text of them names what moves a board");
	else
		finding_remedy(
			f,
			"if it is about GPUs of gpupass, take it out of that script: gpupass "
			"binds and gives back itself%s",
			calls ? "; and libvirt waits for its hook, which must not call it" : "");
}

void doctor_check_memlock(const Doctor *d, Finding *f)
{
	const Examination *host = d->facts->host;

	doctor_need_read(d, "processes", f);
	doctor_need_read(d, "memlock", f);
	if (f->status != FINDING_SKIPPED)
		return;
	if (!host->libvirt_daemon) {
		finding_skip(f, "neither virtqemud nor libvirtd runs");
	} else if (!host->memlock_limited) {
		finding_pass(f, "%s may raise the limit for each guest", host->libvirt_daemon);
	} else {
		finding_warn(f, NULL,
			     "%s may lock %llu MiB and cannot raise this limit: vfio locks all of "
			     "a guest's memory",
			     host->libvirt_daemon,
			     (unsigned long long)(host->memlock_bytes / 1024 / 1024));
		finding_remedy(f, "run it with CAP_SYS_RESOURCE, or with LimitMEMLOCK=infinity");
	}
}
