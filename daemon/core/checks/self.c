/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of gpupass' own state: groups, drift, quarantines, jobs, binding at boot. */

#include "core/checks/checks.h"
#include "core/facts/kept.h"
#include "util/xalloc.h"

static void check_memlock(const Checks *c, Finding *f)
{
	const Examination *host = c->facts->host;

	checks_need_read(c, "processes", f);
	checks_need_read(c, "memlock", f);
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

static void check_unread(const DomainUses *uses, Finding *f)
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
static void check_versions(const HostFacts *machine, size_t n_domains, Finding *f)
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

static void check_libvirt(const Checks *c, Finding *f)
{
	if (c->facts->policy->domains != DOMAINS_LIBVIRT) {
		if (c->facts->uses)
			check_unread(c->facts->uses, f);
		if (f->status == FINDING_SKIPPED)
			finding_skip(f, "gpupassd runs without it (Uri=none)");
		return;
	}
	if (c->facts->uses) {
		check_unread(c->facts->uses, f);
		check_versions(c->facts->machine, c->facts->uses->n_items, f);
		return;
	}
	finding_fail(f, NULL, "its domains cannot be read%s%s: nothing can be assigned or released",
		     c->facts->uses_note ? ": " : "", str_or_empty(c->facts->uses_note));
	finding_remedy(f, "systemctl status libvirtd virtqemud; virsh -c qemu:///system list");
}

static void check_group(const Checks *c, const Group *group, Finding *f)
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
	case GROUP_UNREADY:
		finding_warn(f, group->name, "%s is not ready for a domain: %s", group->name,
			     str_or_empty(reason));
		finding_remedy(f,
			       "see why its last prepare failed (gpupass jobs), then: gpupass "
			       "prepare %s",
			       group->name);
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
		if (c->facts->policy->accept_inferred)
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

/* What drifted says more about the group than its state does. */
static bool has_drifted(const Checks *c, const Group *group)
{
	return c->facts->drift && SOME(c->facts->drift->lines, c->facts->drift->n_lines,
				       str_equal(it->object, group->name));
}

static void check_groups(const Checks *c, Finding *f)
{
	const GroupSet *groups = c->facts->groups;
	size_t busy = 0;

	for (char *const *line = c->facts->settings; line && *line; line++) {
		finding_fail(f, NULL, "%s", *line);
		finding_remedy(f, "mend that file, then: systemctl reload gpupassd");
	}
	EACH (const Group, group, groups->items, groups->n_items) {
		if (!checks_cover_group(c, group->name))
			continue;
		if (checks_busy(c, group))
			busy++;
		/* Another check reports quarantines. */
		else if (!checks_name_group(c->facts->quarantined, group) && !has_drifted(c, group))
			check_group(c, group, f);
	}
	if (busy > 0 && f->status == FINDING_SKIPPED)
		finding_pass(f, "nothing wrong with them; jobs work on %zu", busy);
}

/* What may be in a file is kept apart: whatever domain the report is about, it is told. */
static void check_told(const Checks *c, Finding *f)
{
	const Finding *told = *(const Finding *const *)((const char *)c->facts + f->check->told);

	if (!told)
		finding_unknown(f, NULL, "it was not looked for");
	EACH_IN (const FindingLine, line, told, lines) {
		if (line->object && !checks_cover_group(c, line->object))
			continue;
		finding_add(f, line->status, line->object, "%s%s%s", str_or_empty(line->object),
			    line->object ? ": " : "", line->what);
		finding_remedy(f, "%s", line->remedy);
	}
}

#define HOOK_FILE "/etc/libvirt/hooks/qemu.d/gpupass"

/* What is in the hook's place. */
static void check_hook_file(const Examination *host, Finding *f)
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
static void check_hook_runs(const Checks *c, Finding *f)
{
	const Examination *host = c->facts->host;
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

static void check_fence(const Checks *c, Finding *f)
{
	const Examination *host = c->facts->host;

	if (c->facts->fence_fault) {
		finding_fail(f, NULL, "libvirt's hook refuses all GPUs: %s", c->facts->fence_fault);
		finding_remedy(f, "gpupass rescan, which writes the fence again");
	}
	if (host->hook) {
		check_hook_file(host, f);
		check_hook_runs(c, f);
	} else if (host->libvirt_daemon) {
		finding_warn(f, NULL,
			     "libvirt has no hook of gpupass, so it starts domains with any GPU");
		finding_remedy(f, "install gpupass-hook(8) as " HOOK_FILE ", then restart "
				  "libvirt's daemon");
	}
	if (!host->libvirt_daemon)
		checks_need_read(c, "processes", f);
	if (f->status != FINDING_SKIPPED)
		return;
	if (!host->hook)
		finding_skip(f, "neither the hook nor a daemon of libvirt is here");
	else if (host->libvirt_daemon)
		finding_pass(f, "libvirt has the hook, and had one when it started");
	else
		finding_pass(f, "the hook is there, and no daemon of libvirt runs yet");
}

static void check_quarantine(const Checks *c, Finding *f)
{
	for (char *const *line = c->facts->quarantined; line && *line; line++) {
		_cleanup_free_ char *name = xstrndup(*line, strcspn(*line, ":"));

		if (!checks_cover_group(c, name))
			continue;
		finding_fail(f, name, "%s", *line);
		finding_remedy(f, "when its cause is gone: gpupass clear %s",
			       c->facts->clears ? c->facts->clears[line - c->facts->quarantined]
						: name);
	}
}

static void check_jobs(const Checks *c, Finding *f)
{
	for (char *const *line = c->facts->open_jobs; line && *line; line++) {
		finding_warn(f, NULL, "%s was interrupted and is not recovered yet", *line);
		finding_remedy(f, "it waits for libvirt or for a worker: journalctl -u gpupassd");
	}
}

static bool is_assigned_or_kept(const Checks *c, const char *line)
{
	_cleanup_free_ char *address = xstrndup(line, strcspn(line, " "));
	Bdf bdf;

	/* A line without an address is about the boot as a whole. */
	return bdf_parse(address, &bdf) < 0 ||
	       assignments_find_function(c->facts->assignments, &bdf) ||
	       kept_find_function(c->facts->assignments, &bdf);
}

/* A function that has been released or bound since is no longer a fault. */
static void check_boot_report(const Checks *c, Finding *f)
{
	for (char **line = c->facts->host->boot; line && *line; line++) {
		_cleanup_free_ char *address = xstrndup(*line, strcspn(*line, " "));
		const PciFunction *now = NULL;
		Bdf bdf;

		if (bdf_parse(address, &bdf) >= 0) {
			now = pci_snapshot_find(c->facts->snapshot, &bdf);
			if (c->facts->domain && !checks_have(c, &bdf))
				continue;
		}
		if (!is_assigned_or_kept(c, *line) || (now && pci_function_on_vfio(now)))
			continue;
		finding_fail(f, address, "%s", *line);
		finding_remedy(f, "journalctl -b -u gpupass-bind -u gpupass-bind-verify, then: "
				  "gpupass bind GROUP");
	}
	if (c->facts->assignments->n_items + c->facts->assignments->n_kept > 0)
		checks_need_read(c, "boot", f);
}

static void check_boot_unit(const Checks *c, Finding *f)
{
	const Examination *host = c->facts->host;

	if (!host->systemd) {
		finding_skip(f, "systemd does not run this host");
	} else if (host->bind_enabled) {
		finding_pass(f, "gpupass-bind.service is enabled");
	} else if (c->facts->assignments->n_items + c->facts->assignments->n_kept == 0) {
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

#define TOLD(member) .told = offsetof(CheckFacts, member)

const Check checks_of_self[] = {
	CHECK("memlock", "Locked memory", NEEDS_HOST, check_memlock, NULL, SEE_TABLE,
	      "limits and capabilities of libvirt's process, read by the examiner"),
	CHECK("libvirt", "libvirt", 0, check_libvirt, NULL, "libvirtunavailable",
	      "libvirt's answers: every domain's XML, its version"),
	CHECK("groups", "Groups", WANTS_DOMAINS, check_groups, "nothing wrong with them",
	      "states-that-need-a-hand",
	      "drivers, read by the scan; domains, from libvirt; assignments on disk"),
	CHECK("drift", "Drift from the assignments",
	      WANTS_INSPECTION | WANTS_DOMAINS | WANTS_ASSIGNMENTS, check_told, "none", SEE_TABLE,
	      "drivers, read by the inspector; domains, from libvirt; assignments on disk",
	      TOLD(drift)),
	CHECK("files", "Files of the daemon's state", 0, check_told,
	      "each can be read, and each folder written", SEE_TABLE,
	      "every record in assignments.d, kept.d and the state directory, read again",
	      TOLD(files)),
	CHECK("evidence", "Evidence of NVLinks", 0, check_told, "none", SEE_TABLE,
	      "ids, UUIDs and serial numbers of the boards, and of the stored observations",
	      TOLD(evidence)),
	CHECK("tenants", "Boards since their last tenants", WANTS_DOMAINS, check_told, "none",
	      "resetfailed", "the marks on disk; domains, from libvirt", TOLD(tenants)),
	CHECK("split-groups", "Split groups", NEEDS_LIBVIRT | WANTS_DOMAINS, check_told, "none",
	      "splitgroup", "the XML of every domain, from libvirt", TOLD(split)),
	CHECK("fence", "The fence at libvirt", NEEDS_HOST, check_fence, NULL, "the-fence",
	      "hook and libvirt's start, read by the examiner; fence.json, read again"),
	CHECK("quarantine", "Quarantines", 0, check_quarantine, "none", "lifting-a-quarantine",
	      "the quarantines that the daemon holds"),
	CHECK("jobs", "Interrupted jobs", 0, check_jobs, "none", SEE_TABLE,
	      "the journals that the daemon read at its start"),
	CHECK("boot", "What became of assignments at boot", NEEDS_HOST | WANTS_ASSIGNMENTS,
	      check_boot_report, "no function that is assigned or kept now was left out",
	      "after-a-reboot",
	      "gpupass-bind's report, read by the examiner; drivers, by the scan"),
	CHECK("boot-unit", "Binding at boot", NEEDS_HOST | WANTS_ASSIGNMENTS, check_boot_unit, NULL,
	      "after-a-reboot", "the unit's link in /etc/systemd/system, read by the examiner"),
	{ 0 },
};
