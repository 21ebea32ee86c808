/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of gpupass' own state: groups, drift, quarantines, jobs, binding at boot. */
#include <string.h>

#include "core/doctor/checks.h"
#include "core/domain/ref.h"
#include "core/facts/kept.h"
#include "util/xalloc.h"

static void doctor_check_unread(const DomainUses *uses, Finding *f)
{
	const DomainUse *use;
	size_t position = 0;

	while ((use = domain_uses_unread(uses, &position))) {
		_cleanup_free_ char *remedy = domain_use_unread_remedy(use);

		finding_fail(f, use->name, "the devices of %s (%s) are not known, so %s%s",
			     use->name, use->uuid, domain_use_unread_so(use), use->unread);
		finding_remedy(f, "%s", remedy);
	}
}

/* "; libvirt 9.0.0, hypervisor 7.2.0", and what that lacks; "" where it did not say. */
static char *versions_text(const HostFacts *machine)
{
	_cleanup_free_ char *libvirt = NULL, *hypervisor = NULL;

	if (!machine || machine->libvirt_version == 0)
		return xstrdup("");
	libvirt = libvirt_version_text(machine->libvirt_version);
	hypervisor = libvirt_version_text(machine->hypervisor_version);
	return strf("; libvirt %s, hypervisor %s%s", libvirt,
		    machine->hypervisor_version > 0 ? hypervisor : "not known",
		    host_facts_libvirt_has(machine, LIBVIRT_MAXPHYSADDR)
			    ? ""
			    : ": --fit=apply writes no <maxphysaddr>, which libvirt 8.7 has");
}

/* The fence needs the folder of hooks. */
static void doctor_check_versions(const HostFacts *machine, size_t n_domains, Finding *f)
{
	_cleanup_free_ char *versions = versions_text(machine);

	if (!host_facts_libvirt_has(machine, LIBVIRT_HOOK_FOLDER)) {
		finding_warn(f, NULL,
			     "it is older than 6.5 and runs no hook of /etc/libvirt/hooks/qemu.d, "
			     "so that it starts domains with any GPU%s",
			     versions);
		finding_remedy(f, "upgrade libvirt");
	} else if (!machine || machine->libvirt_version == 0) {
		finding_unknown(f, NULL, "it answers, but does not tell its version");
	} else if (f->status == FINDING_SKIPPED) {
		finding_pass(f, "it answers: %zu domains%s", n_domains, versions);
	}
}

void doctor_check_libvirt(const Doctor *d, Finding *f)
{
	if (d->facts->policy->domains != DOMAINS_LIBVIRT) {
		if (d->facts->uses)
			doctor_check_unread(d->facts->uses, f);
		if (f->status == FINDING_SKIPPED)
			finding_skip(f, "gpupassd runs without it (Uri=none)");
		return;
	}
	if (d->facts->uses) {
		doctor_check_unread(d->facts->uses, f);
		doctor_check_versions(d->facts->machine, d->facts->uses->n_items, f);
		return;
	}
	finding_fail(f, NULL, "its domains cannot be read%s%s: nothing can be assigned or released",
		     d->facts->uses_note ? ": " : "", str_or_empty(d->facts->uses_note));
	finding_remedy(f, "systemctl status libvirtd virtqemud; virsh -c qemu:///system list");
}

/*
 * When the guest ends, libvirt gives such a function to the host's driver without gpupass knowing.
 */
void doctor_check_managed(const Doctor *d, Finding *f)
{
	const DomainUses *uses = d->facts->uses;

	for (size_t i = 0; i < uses->n_items; i++)
		for (size_t k = 0; k < uses->items[i].n_hostdevs; k++) {
			const DomainHostdev *hostdev = &uses->items[i].hostdevs[k];

			if (!hostdev->managed || !doctor_gpu_of(d, &hostdev->bdf))
				continue;
			finding_warn(f, BDF_TEXT(&hostdev->bdf),
				     "%s has %s with managed='yes': libvirt binds it, too",
				     uses->items[i].name, BDF_TEXT(&hostdev->bdf));
			finding_remedy(f,
				       "take the hostdev out (virsh edit %s) and assign the group",
				       domain_ref_word(uses->items[i].name, uses->items[i].uuid));
		}
	doctor_need_domains(d, f);
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "none for these GPUs");
}

/* libvirt knows of no such function: it neither binds nor locks it. */
void doctor_check_arguments(const Doctor *d, Finding *f)
{
	const DomainUses *uses = d->facts->uses;

	for (size_t i = 0; i < uses->n_items; i++) {
		const DomainUse *use = &uses->items[i];
		const char *word = domain_ref_word(use->name, use->uuid);

		for (size_t k = 0; k < use->n_hostdevs; k++) {
			const char *bdf = BDF_TEXT(&use->hostdevs[k].bdf);

			if (!use->hostdevs[k].argument || !doctor_gpu_of(d, &use->hostdevs[k].bdf))
				continue;
			finding_warn(f, bdf,
				     "%s has %s by a QEMU argument (<qemu:commandline> or "
				     "<qemu:override>), past libvirt",
				     use->name, bdf);
			finding_remedy(f, "take it out (virsh edit %s) and assign the group", word);
		}
		if (!use->unclear)
			continue;
		finding_warn(f, use->name,
			     "whether the QEMU arguments of %s take a GPU cannot be told: %s",
			     use->name, use->unclear);
		finding_remedy(f, "if they do, take them out (virsh edit %s) and assign the group",
			       word);
	}
	doctor_need_domains(d, f);
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "none takes one of these GPUs");
}

static void doctor_check_group(const Doctor *d, const Group *group, Finding *f)
{
	const char *reason = group->reason ? group->reason : group->fault;

	switch (group->state) {
	case GROUP_DEGRADED:
		finding_fail(f, group->name, "%s is degraded: %s", group->name,
			     str_or_empty(reason));
		if (group->fault)
			finding_remedy(f, "gpupass status %s", group->name);
		else
			finding_remedy(f, "all on one driver again: gpupass bind %s, or unbind",
				       group->name);
		break;
	case GROUP_FOREIGN:
		finding_warn(f, group->name, "%s is in use without gpupass: %s", group->name,
			     str_or_empty(reason));
		finding_remedy(f, "leave it, or take its hostdevs out (virsh edit) and assign it");
		break;
	case GROUP_UNKNOWN:
		if (group->n_gpus < 2)
			break; /* a single GPU has nothing to be bridged to */
		finding_warn(f, group->name, "%s: which of its GPUs are bridged is not known",
			     group->name);
		finding_remedy(f,
			       "look at the bridges, and declare each group: gpupass declare NAME "
			       "BDF BDF");
		break;
	case GROUP_INFERRED:
		if (d->facts->policy->accept_inferred)
			break;
		finding_warn(f, group->name,
			     "%s is inferred: it cannot be assigned until it is declared",
			     group->name);
		finding_remedy(f, "confirm it: gpupass declare %s BDF BDF", group->name);
		break;
	default:
		break;
	}
}

/* The notes say more about the group than its state does. */
static bool has_note(const DoctorNotes *notes, const Group *group)
{
	for (size_t i = 0; notes && i < notes->n_items; i++)
		if (str_equal(notes->items[i].group, group->name))
			return true;
	return false;
}

/* Another check reports quarantines. */
static bool is_quarantined(const Doctor *d, const Group *group)
{
	size_t n = strlen(group->name);

	for (char *const *line = d->facts->quarantined; line && *line; line++)
		if (strncmp(*line, group->name, n) == 0 && (*line)[n] == ':')
			return true;
	return false;
}

void doctor_check_groups(const Doctor *d, Finding *f)
{
	const GroupSet *groups = d->facts->groups;
	size_t busy = 0;

	for (char *const *line = d->facts->settings; line && *line; line++) {
		finding_fail(f, NULL, "%s", *line);
		finding_remedy(f, "mend that file, then: systemctl reload gpupassd");
	}
	for (size_t i = 0; i < groups->n_items; i++) {
		const Group *group = &groups->items[i];

		if (!doctor_covers_group(d, group->name))
			continue;
		if (doctor_is_busy(d, group))
			busy++;
		else if (!is_quarantined(d, group) && !has_note(d->facts->drift, group))
			doctor_check_group(d, group, f);
	}
	doctor_need_domains(d, f);
	if (f->status != FINDING_SKIPPED)
		return;
	if (busy > 0)
		finding_pass(f, "nothing wrong with them; jobs work on %zu", busy);
	else
		finding_pass(f, "nothing wrong with them");
}

static void doctor_check_notes(const Doctor *d, const DoctorNotes *notes, Finding *f)
{
	if (!notes) {
		finding_unknown(f, NULL, "it was not looked for");
		return;
	}
	for (size_t i = 0; i < notes->n_items; i++) {
		const DoctorNote *note = &notes->items[i];

		if (!doctor_covers_group(d, note->group))
			continue;
		if (note->fail)
			finding_fail(f, note->group, "%s: %s", note->group, note->what);
		else
			finding_warn(f, note->group, "%s: %s", note->group, note->what);
		finding_remedy(f, "%s", note->remedy);
	}
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "none");
}

void doctor_check_drift(const Doctor *d, Finding *f)
{
	doctor_need_inspection(d, f);
	doctor_need_domains(d, f);
	doctor_need_assignments(d, f);
	doctor_check_notes(d, d->facts->drift, f);
}

void doctor_check_evidence(const Doctor *d, Finding *f)
{
	doctor_check_notes(d, d->facts->evidence, f);
}

void doctor_check_tenants(const Doctor *d, Finding *f)
{
	doctor_need_domains(d, f);
	doctor_check_notes(d, d->facts->tenants, f);
}

/* Whatever domain the report is about: what may be in a file is kept apart. */
void doctor_check_files(const Doctor *d, Finding *f)
{
	const DoctorNotes *notes = d->facts->files;

	if (!notes)
		finding_unknown(f, NULL, "it was not looked for");
	for (size_t i = 0; notes && i < notes->n_items; i++) {
		finding_fail(f, NULL, "%s", notes->items[i].what);
		finding_remedy(f, "%s", notes->items[i].remedy);
	}
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "each can be read, and each folder written");
}

void doctor_check_split(const Doctor *d, Finding *f)
{
	doctor_need_domains(d, f);
	doctor_check_notes(d, d->facts->split, f);
}

#define HOOK_FILE "/etc/libvirt/hooks/qemu.d/gpupass"

/* What is in the hook's place. */
static void doctor_check_hook_file(const Examination *host, Finding *f)
{
	if (!host->hook_runs) {
		finding_fail(f, NULL,
			     HOOK_FILE
			     " is not executable, so libvirt starts domains with any GPU");
		finding_remedy(f, "chmod 755 " HOOK_FILE);
	} else if (str_equal(host->hook_is, "another program")) {
		finding_fail(f, NULL,
			     HOOK_FILE
			     " is not gpupass-hook, so libvirt may start domains with any "
			     "GPU");
		finding_remedy(
			f, "install gpupassd's package again, which puts gpupass-hook(8) there");
	} else if (!str_equal(host->hook_is, "gpupass-hook")) {
		finding_unknown(f, NULL,
				"whether " HOOK_FILE " runs gpupass-hook is not known: it "
				"is %s",
				host->hook_is ? host->hook_is : "not readable");
		finding_remedy(
			f, "install gpupassd's package again, which puts gpupass-hook(8) there");
	}
}

/* Whether libvirt runs it: see host/device/examine-hook.c. */
static void doctor_check_hook_runs(const Doctor *d, Finding *f)
{
	const Examination *host = d->facts->host;
	const char *daemon = host->libvirt_daemon;

	if (!daemon || host->hook_known)
		return;
	if (host->hook_late)
		finding_warn(f, NULL,
			     "%s runs hooks only after a restart: it started before there was one, "
			     "so it starts domains with any GPU",
			     daemon);
	else
		finding_unknown(f, NULL,
				"whether %s runs the hook is not known: the file was put there, or "
				"replaced, after it started",
				daemon);
	finding_remedy(f, "systemctl restart %.*s, which leaves running guests alone",
		       (int)strcspn(daemon, " "), daemon);
}

void doctor_check_fence(const Doctor *d, Finding *f)
{
	const Examination *host = d->facts->host;

	if (d->facts->fence_fault) {
		finding_fail(f, NULL, "libvirt's hook refuses all GPUs: %s", d->facts->fence_fault);
		finding_remedy(f, "gpupass rescan, which writes the fence again");
	}
	if (host->hook) {
		doctor_check_hook_file(host, f);
		doctor_check_hook_runs(d, f);
	} else if (host->libvirt_daemon) {
		finding_warn(f, NULL,
			     "libvirt has no hook of gpupass, so it starts domains with any GPU");
		finding_remedy(f, "install gpupass-hook(8) as " HOOK_FILE ", then restart "
				  "libvirt's daemon");
	}
	if (!host->libvirt_daemon)
		doctor_need_read(d, "processes", f);
	if (f->status != FINDING_SKIPPED)
		return;
	if (!host->hook)
		finding_skip(f, "neither the hook nor a daemon of libvirt is here");
	else if (host->libvirt_daemon)
		finding_pass(f, "libvirt has the hook, and had one when it started");
	else
		finding_pass(f, "the hook is there, and no daemon of libvirt runs yet");
}

void doctor_check_quarantine(const Doctor *d, Finding *f)
{
	for (char *const *line = d->facts->quarantined; line && *line; line++) {
		_cleanup_free_ char *name = xstrndup(*line, strcspn(*line, ":"));

		if (!doctor_covers_group(d, name))
			continue;
		finding_fail(f, name, "%s", *line);
		finding_remedy(f, "when its cause is gone: gpupass clear %s",
			       d->facts->clears ? d->facts->clears[line - d->facts->quarantined]
						: name);
	}
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "none");
}

void doctor_check_jobs(const Doctor *d, Finding *f)
{
	for (char *const *line = d->facts->open_jobs; line && *line; line++) {
		finding_warn(f, NULL, "%s was interrupted and is not recovered yet", *line);
		finding_remedy(f, "it waits for libvirt or for a worker: journalctl -u gpupassd");
	}
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "none");
}

static bool is_assigned_or_kept(const Doctor *d, const char *line)
{
	_cleanup_free_ char *address = xstrndup(line, strcspn(line, " "));
	Bdf bdf;

	/* A line without an address is about the boot as a whole. */
	return bdf_parse(address, &bdf) < 0 ||
	       assignments_find_function(d->facts->assignments, &bdf) ||
	       kept_find_function(d->facts->assignments, &bdf);
}

/* A function that has been released or bound since is no longer a fault. */
void doctor_check_boot_report(const Doctor *d, Finding *f)
{
	for (char **line = d->facts->host->boot; line && *line; line++) {
		_cleanup_free_ char *address = xstrndup(*line, strcspn(*line, " "));
		const PciFunction *now = NULL;
		Bdf bdf;

		if (bdf_parse(address, &bdf) >= 0) {
			now = pci_snapshot_find(d->facts->snapshot, &bdf);
			if (d->facts->domain && !doctor_gpu_of(d, &bdf))
				continue;
		}
		if (!is_assigned_or_kept(d, *line) || (now && pci_function_on_vfio(now)))
			continue;
		finding_fail(f, address, "%s", *line);
		finding_remedy(f, "journalctl -b -u gpupass-bind -u gpupass-bind-verify, then: "
				  "gpupass bind GROUP");
	}
	doctor_need_assignments(d, f);
	if (d->facts->assignments->n_items + d->facts->assignments->n_kept > 0)
		doctor_need_read(d, "boot", f);
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "no function that is assigned or kept now was left out");
}

void doctor_check_boot_unit(const Doctor *d, Finding *f)
{
	const Examination *host = d->facts->host;

	doctor_need_assignments(d, f);
	if (!host->systemd) {
		finding_skip(f, "systemd does not run this host");
	} else if (host->bind_enabled) {
		finding_pass(f, "gpupass-bind.service is enabled");
	} else if (d->facts->assignments->n_items + d->facts->assignments->n_kept == 0) {
		finding_pass(f, "nothing is assigned or kept; gpupass-bind.service is not enabled");
	} else {
		finding_fail(f, NULL,
			     "gpupass-bind.service is not enabled: after a reboot assigned and "
			     "kept GPUs will be on the host's drivers, and domains that have them "
			     "will not start");
		finding_remedy(f,
			       "systemctl enable gpupass-bind.service gpupass-bind-verify.service");
	}
}
