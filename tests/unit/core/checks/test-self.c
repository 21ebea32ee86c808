/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's checks of gpupass' own state. */
#include "rig/test.h"

#include "checks-rig.h"

static void tell(Finding *told, FindingStatus status, const char *group)
{
	finding_add(told, status, group, "0000:41:00.0 is on nvidia");
	finding_remedy(told, "gpupass reconcile");
}

/* A tenant of ours had its NVMe. */
static void make_unready(Rig *r)
{
	TenantMark *mark;

	model_add_nvme(&r->m);
	r->m.host.tenants = r->m.tenants;
	mark = r->m.tenants->items[0].mark;
	mark->state = TENANT_DIRTY;
	mark->domain_uuid = xstrdup(VM42);
	mark->erases = xcalloc(1, sizeof(NvmeReceipt));
	mark->n_erases = 1;
}

TEST(each_fault_of_the_groups_is_found_by_its_check_and_by_no_other)
{
	_cleanup_strv_ char **cases = NULL;

	TOLD("memlock", "memlock", "warn", "8 MiB", "CAP_SYS_RESOURCE",
	     r->host->memlock_limited = true, r->host->memlock_bytes = 8388608);
	TOLD("libvirt without a folder of hooks", "libvirt", "warn", "6.4.0", "upgrade",
	     r->machine.libvirt_version = 6004000);
	TOLD("libvirt does not answer", "libvirt", "fail", "domains", "virsh",
	     r->no_libvirt = true);
	TOLD("undeclared boards", "groups", "warn", "pair1 is inferred", "gpupass declare",
	     host_declare(&r->m.host, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n"));
	/* field: newcomer/6 */
	TOLD("boards on two drivers", "groups", "fail",
	     "pair0 is degraded: 0000:41:00.0 is on vfio-pci", "gpupass bind pair0, or unbind",
	     model_drive(&r->m, GPU, "vfio-pci", NULL),
	     model_drive(&r->m, AUDIO, "vfio-pci", NULL));
	TOLD("an NVMe that is yet to be erased", "groups", "warn",
	     "pair0 is not ready for a domain: NVMe " NVME " is yet to be erased",
	     "gpupass prepare pair0", make_unready(r));
	TOLD("a group without its boards", "groups", "fail", "pair2", "gpupass status pair2",
	     host_declare(&r->m.host, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n"
				      "[Group]\nName=pair1\nGpu=a1:00.0\nGpu=c1:00.0\n"
				      "[Group]\nName=pair2\nGpu=d1:00.0\nGpu=e1:00.0\n"));
	TOLD("drift", "drift", "warn", "pair0: 0000:41:00.0", "gpupass reconcile",
	     tell(&r->drift, FINDING_WARN, "pair0"));
	TOLD("stale evidence", "evidence", "warn", "pair0", "gpupass reconcile",
	     tell(&r->evidence, FINDING_WARN, "pair0"));
	TOLD("a file that cannot be used", "files", "fail", "0000:41:00.0 is on nvidia",
	     "gpupass reconcile", tell(&r->files, FINDING_FAIL, NULL));
	TOLD("a board that was not reset", "tenants", "warn", "pair0", "gpupass reconcile",
	     tell(&r->tenants, FINDING_WARN, "pair0"));
	TOLD("a split group", "split-groups", "fail", "pair0", "gpupass reconcile",
	     tell(&r->split, FINDING_FAIL, "pair0"));
	TOLD("no hook", "fence", "warn", "no hook of gpupass", "gpupass-hook(8)",
	     r->host->hook = r->host->hook_runs = false);
	TOLD("a hook that does not run", "fence", "fail", "not executable", "chmod 755",
	     r->host->hook_runs = false);
	/* field: newcomer 5 */
	TOLD("another program for a hook", "fence", "fail", "is not gpupass-hook",
	     "gpupass-hook(8)", set(&r->host->hook_is, "another program"));
	TOLD("a libvirt older than the hook", "fence", "warn",
	     "virtqemud (pid 12) runs hooks only after a restart", "systemctl restart virtqemud",
	     r->host->hook_known = false, r->host->hook_late = true);
	TOLD("a fence that is damaged", "fence", "fail", "line 1: torn", "gpupass rescan",
	     r->fence_fault = "line 1: torn");
	/* field: newcomer/6 */
	TOLD("a file of groups.d that is not understood", "groups", "fail", "groups.d/pair7.conf:2",
	     "systemctl reload gpupassd",
	     add(&r->settings, "groups.d/pair7.conf:2: \"GPU=x\" names no GPU"));
	TOLD("a quarantine", "quarantine", "fail", "4711", "gpupass clear pair1",
	     add(&r->quarantined, "pair1: worker 4711 still waits"));
	TOLD("an interrupted job", "jobs", "warn", "job 7", "journalctl",
	     add(&r->open_jobs, "job 7 (assign pair0)"));
	TOLD("left out at boot", "groups boot", "fail", "nvidia was first", "gpupass bind",
	     assign_pair0(r), model_drive(&r->m, GPU, "nvidia", NULL),
	     add(&r->host->boot, GPU " taken: nvidia was first"));
	TOLD("not bound at boot", "boot-unit", "fail", "reboot", "systemctl enable",
	     assign_pair0(r), r->host->bind_enabled = false);
	all_had_cases(cases, checks_of_self, "");
}

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	_cleanup_strv_ char **cases = NULL;

	LACKS("memlock", "within its time", no_host(r));
	LACKS("memlock", "/a/file", files_unread(r));
	LACKS("libvirt", "does not tell its version", r->machine.libvirt_version = 0);
	LACKS("libvirt", "does not tell its version", r->no_machine = true);
	LACKS("groups", "libvirt does not answer", r->no_libvirt = true);
	LACKS("groups", "what vm7 has", unread_domain(r));
	LACKS("drift", "it was not looked for", r->no_notes = true);
	LACKS("drift", "was not inspected", no_inspection(r));
	LACKS("drift", "libvirt does not answer", r->no_libvirt = true);
	LACKS("drift", "what is assigned is not known", unread_assignment(r));
	LACKS("evidence", "it was not looked for", r->no_notes = true);
	LACKS("files", "it was not looked for", r->no_notes = true);
	LACKS("tenants", "it was not looked for", r->no_notes = true);
	LACKS("tenants", "libvirt does not answer", r->no_libvirt = true);
	LACKS("split-groups", "libvirt does not answer", r->no_libvirt = true);
	LACKS("split-groups", "it was not looked for", r->no_notes = true);
	LACKS("split-groups", "what vm7 has", unread_domain(r));
	LACKS("fence", "within its time", no_host(r));
	LACKS("fence", "is a script", set(&r->host->hook_is, "a script"));
	LACKS("fence", "is not readable", set(&r->host->hook_is, NULL));
	LACKS("fence", "put there, or replaced, after it started", r->host->hook_known = false);
	LACKS("fence", "/a/file", set(&r->host->libvirt_daemon, NULL), files_unread(r));
	LACKS("boot", "within its time", of_vm42(r), no_host(r));
	LACKS("boot", "/a/file", of_vm42(r), files_unread(r));
	LACKS("boot", "what is assigned is not known", unread_assignment(r));
	LACKS("boot-unit", "within its time", no_host(r));
	LACKS("boot-unit", "what is assigned is not known", unread_assignment(r));
	all_had_cases(cases, checks_of_self, "quarantine jobs");
}
