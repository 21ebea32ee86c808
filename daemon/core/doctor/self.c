/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of what gpupass itself knows: groups, quarantines, jobs, the boot. */
#include <string.h>

#include "core/doctor/checks.h"
#include "core/domain/ref.h"

static void check_unread(const DomainUses *uses, Finding *f)
{
	const DomainUse *use;
	size_t position = 0;

	while ((use = domain_uses_unread(uses, &position))) {
		_cleanup_free_ char *remedy = domain_use_unread_remedy(use);

		if (!remedy) {
			f->error = -ENOMEM;
			return;
		}
		finding_fail(f, use->name,
			     "what %s (%s) has cannot be told, so nothing is assigned: its XML: %s",
			     use->name, use->uuid, use->unread);
		finding_remedy(f, "%s", remedy);
	}
}

void doctor_check_libvirt(const Doctor *d, Finding *f)
{
	if (d->facts->uses) {
		check_unread(d->facts->uses, f);
		if (f->status == FINDING_SKIPPED)
			finding_pass(f, "it answers: %zu domains", d->facts->uses->n_items);
		return;
	}
	finding_fail(f, NULL, "its domains cannot be read%s%s: nothing can be assigned or released",
		     d->facts->uses_note ? ": " : "", str_or_empty(d->facts->uses_note));
	finding_remedy(f, "systemctl status libvirtd virtqemud; virsh -c qemu:///system list");
}

/* With both, libvirt gives the function to the host's driver when the guest ends, behind our back. */
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
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "none of these GPUs");
}

static void check_group(const Doctor *d, const Group *group, Finding *f)
{
	const char *reason = group->reason ? group->reason : group->fault;

	switch (group->state) {
	case GROUP_DEGRADED:
		finding_fail(f, group->name, "%s is degraded: %s", group->name,
			     str_or_empty(reason));
		finding_remedy(f, "gpupass status %s", group->name);
		break;
	case GROUP_FOREIGN:
		finding_warn(f, group->name, "%s is in use without gpupass: %s", group->name,
			     str_or_empty(reason));
		finding_remedy(f, "leave it, or take its hostdevs out (virsh edit) and assign it");
		break;
	case GROUP_UNKNOWN:
		if (group->n_gpus < 2)
			break; /* there is nothing to bridge it to */
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
			     "%s is inferred: it is not assigned before it is declared",
			     group->name);
		finding_remedy(f, "confirm it: gpupass declare %s BDF BDF", group->name);
		break;
	default:
		break;
	}
}

/* Drift says more of it than the state does. */
static bool has_note(const DoctorNotes *notes, const Group *group)
{
	for (size_t i = 0; notes && i < notes->n_items; i++)
		if (str_equal(notes->items[i].group, group->name))
			return true;
	return false;
}

/* A group that a job has in hand is in no state of its own; quarantine is another check's. */
static bool is_quarantined(const Doctor *d, const Group *group)
{
	size_t n = strlen(group->name);

	for (char *const *line = d->facts->quarantined; line && *line; line++)
		if (strncmp(*line, group->name, n) == 0 && (*line)[n] == ':')
			return true;
	return false;
}

/* What keeps groups apart is told before them, whatever domain is asked about. */
static void check_unread_assignments(const Doctor *d, Finding *f)
{
	const Assignments *all = d->facts->assignments;

	for (size_t i = 0; i < all->n_fences; i++) {
		_cleanup_free_ char *what = assignment_fence_what(&all->fences[i]);

		if (!what) {
			f->error = -ENOMEM;
			return;
		}
		finding_fail(f, NULL, "%s: %s", what,
			     all->fences[i].n_functions == 0
				     ? "any group may be its, and none is assigned"
				     : "what it names is kept apart");
		finding_remedy(f, "%s", assignment_fence_remedy(&all->fences[i]));
	}
}

void doctor_check_groups(const Doctor *d, Finding *f)
{
	const GroupSet *groups = d->facts->groups;
	size_t busy = 0;

	check_unread_assignments(d, f);
	for (size_t i = 0; i < groups->n_items; i++) {
		const Group *group = &groups->items[i];

		if (d->facts->domain && group != d->group)
			continue;
		if (doctor_is_busy(d, group))
			busy++;
		else if (!is_quarantined(d, group) && !has_note(d->facts->drift, group))
			check_group(d, group, f);
	}
	if (f->status != FINDING_SKIPPED)
		return;
	if (busy > 0)
		finding_pass(f, "nothing wrong with them; a job is at work on %zu", busy);
	else
		finding_pass(f, "nothing wrong with them");
}

static void check_notes(const Doctor *d, const DoctorNotes *notes, Finding *f)
{
	if (!notes) {
		finding_skip(f, "nobody has looked for it");
		return;
	}
	for (size_t i = 0; i < notes->n_items; i++) {
		const DoctorNote *note = &notes->items[i];

		if (d->facts->domain && (!d->group || !str_equal(d->group->name, note->group)))
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
	check_notes(d, d->facts->drift, f);
}

void doctor_check_evidence(const Doctor *d, Finding *f)
{
	check_notes(d, d->facts->evidence, f);
}

void doctor_check_tenants(const Doctor *d, Finding *f)
{
	check_notes(d, d->facts->tenants, f);
}

void doctor_check_quarantine(const Doctor *d, Finding *f)
{
	for (char *const *line = d->facts->quarantined; line && *line; line++) {
		_cleanup_free_ char *name = strndup(*line, strcspn(*line, ":"));

		if (!name) {
			f->error = -ENOMEM;
			return;
		}
		if (d->facts->domain && (!d->group || !str_equal(d->group->name, name)))
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
		finding_warn(f, NULL, "%s was interrupted, and is not recovered yet", *line);
		finding_remedy(f, "it waits for libvirt or for a worker: journalctl -u gpupassd");
	}
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "none");
}

static bool is_assigned(const Doctor *d, const char *line)
{
	_cleanup_free_ char *address = strndup(line, strcspn(line, " "));
	Bdf bdf;

	/* What is no address is about the report as a whole. */
	return !address || bdf_parse(address, &bdf) < 0 ||
	       assignments_find_function(d->facts->assignments, &bdf);
}

/* What has been released, or put right, since is no fault any more. */
void doctor_check_boot_report(const Doctor *d, Finding *f)
{
	for (char **line = d->facts->host->boot; line && *line; line++) {
		_cleanup_free_ char *address = strndup(*line, strcspn(*line, " "));
		const PciFunction *now = NULL;
		Bdf bdf;

		if (!address) {
			f->error = -ENOMEM;
			return;
		}
		if (bdf_parse(address, &bdf) >= 0) {
			now = pci_snapshot_find(d->facts->snapshot, &bdf);
			if (d->facts->domain && !doctor_gpu_of(d, &bdf))
				continue;
		}
		if (!is_assigned(d, *line) || (now && driver_is_vfio(now->driver)))
			continue;
		finding_fail(f, address, "%s", *line);
		finding_remedy(f, "journalctl -b -u gpupass-bind -u gpupass-bind-verify, then: "
				  "gpupass bind GROUP");
	}
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "nothing that is assigned now was left out");
}

void doctor_check_boot_unit(const Doctor *d, Finding *f)
{
	const Examination *host = d->facts->host;

	if (!host->systemd) {
		finding_skip(f, "systemd does not run this host");
	} else if (host->bind_enabled) {
		finding_pass(f, "gpupass-bind.service is enabled");
	} else if (d->facts->assignments->n_items == 0) {
		finding_pass(f, "nothing is assigned; gpupass-bind.service is not enabled");
	} else {
		finding_fail(
			f, NULL,
			"gpupass-bind.service is not enabled: after a reboot assigned GPUs are "
			"on the host's drivers, and their domains do not start");
		finding_remedy(f,
			       "systemctl enable gpupass-bind.service gpupass-bind-verify.service");
	}
}
