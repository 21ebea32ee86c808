/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's checks of gpupass' own state. */
#include "rig/test.h"

#include "checks-rig.h"

static void old_libvirt(Rig *r)
{
	r->machine.libvirt_version = 6004000;
}

static void undeclared(Rig *r)
{
	host_declare(&r->m.host, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n");
}

static void member_missing(Rig *r)
{
	host_declare(&r->m.host, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n"
				 "[Group]\nName=pair1\nGpu=a1:00.0\nGpu=c1:00.0\n"
				 "[Group]\nName=pair2\nGpu=d1:00.0\nGpu=e1:00.0\n");
}

static void tell(Finding *told, FindingStatus status, const char *group)
{
	finding_add(told, status, group, "0000:41:00.0 is on nvidia");
	finding_remedy(told, "gpupass reconcile");
}

static void drifted(Rig *r)
{
	tell(&r->drift, FINDING_WARN, "pair0");
}

static void stale_evidence(Rig *r)
{
	tell(&r->evidence, FINDING_WARN, "pair0");
}

static void unread_file(Rig *r)
{
	tell(&r->files, FINDING_FAIL, NULL);
}

static void not_reset(Rig *r)
{
	tell(&r->tenants, FINDING_WARN, "pair0");
}

/* field: newcomer/6 */
static void on_two_drivers(Rig *r)
{
	for (size_t i = 0; i < r->m.inspection.n_functions; i++)
		if (strncmp(BDF_TEXT(&r->m.inspection.functions[i].bdf), "0000:41:00", 10) == 0)
			model_set(&r->m.inspection.functions[i].driver, "vfio-pci");
	model_set(&model_function(&r->m, "0000:41:00.0")->driver, "vfio-pci");
	model_set(&model_function(&r->m, "0000:41:00.1")->driver, "vfio-pci");
}

/* field: newcomer/6 */
static void broken_declaration(Rig *r)
{
	add(&r->settings, "groups.d/pair7.conf:2: \"GPU=x\" names no GPU");
}

static void quarantined(Rig *r)
{
	add(&r->quarantined, "pair1: worker 4711 still waits");
}

static void open_job(Rig *r)
{
	add(&r->open_jobs, "job 7 (assign pair0)");
}

static void left_out_at_boot(Rig *r)
{
	assign_pair0(r);
	model_drive(&r->m, GPU, "nvidia", NULL);
	add(&r->host->boot, GPU " taken: nvidia was first");
}

static void not_enabled(Rig *r)
{
	assign_pair0(r);
	r->host->bind_enabled = false;
}

static void split(Rig *r)
{
	tell(&r->split, FINDING_FAIL, "pair0");
}

static void no_hook(Rig *r)
{
	r->host->hook = r->host->hook_runs = false;
}

static void hook_idle(Rig *r)
{
	r->host->hook_runs = false;
}

/* field: newcomer 5 */
static void another_in_its_place(Rig *r)
{
	set(&r->host->hook_is, "another program");
}

static void hook_too_late(Rig *r)
{
	r->host->hook_known = false;
	r->host->hook_late = true;
}

static void fence_damaged(Rig *r)
{
	r->fence_fault = "line 1: torn";
}

static void memlock(Rig *r)
{
	r->host->memlock_limited = true;
	r->host->memlock_bytes = 8388608;
}

static const Case cases[] = {
	{ "memlock", memlock, "memlock", "memlock", "warn", "8 MiB", "CAP_SYS_RESOURCE" },
	{ "libvirt without a folder of hooks", old_libvirt, "libvirt", "libvirt", "warn", "6.4.0",
	  "upgrade" },
	{ "libvirt does not answer", no_libvirt, "libvirt", "libvirt", "fail", "domains", "virsh" },
	{ "undeclared boards", undeclared, "groups", "groups", "warn", "pair1 is inferred",
	  "gpupass declare" },
	{ "boards on two drivers", on_two_drivers, "groups", "groups", "fail",
	  "pair0 is degraded: 0000:41:00.0 is on vfio-pci", "gpupass bind pair0, or unbind" },
	{ "a group without its boards", member_missing, "groups", "groups", "fail", "pair2",
	  "gpupass status pair2" },
	{ "drift", drifted, "drift", "drift", "warn", "pair0: 0000:41:00.0", "gpupass reconcile" },
	{ "stale evidence", stale_evidence, "evidence", "evidence", "warn", "pair0",
	  "gpupass reconcile" },
	{ "a file that cannot be used", unread_file, "files", "files", "fail",
	  "0000:41:00.0 is on nvidia", "gpupass reconcile" },
	{ "a board that was not reset", not_reset, "tenants", "tenants", "warn", "pair0",
	  "gpupass reconcile" },
	{ "a split group", split, "split-groups", "split-groups", "fail", "pair0",
	  "gpupass reconcile" },
	{ "no hook", no_hook, "fence", "fence", "warn", "no hook of gpupass", "gpupass-hook(8)" },
	{ "a hook that does not run", hook_idle, "fence", "fence", "fail", "not executable",
	  "chmod 755" },
	{ "another program for a hook", another_in_its_place, "fence", "fence", "fail",
	  "is not gpupass-hook", "gpupass-hook(8)" },
	{ "a libvirt older than the hook", hook_too_late, "fence", "fence", "warn",
	  "virtqemud (pid 12) runs hooks only after a restart", "systemctl restart virtqemud" },
	{ "a fence that is damaged", fence_damaged, "fence", "fence", "fail", "line 1: torn",
	  "gpupass rescan" },
	{ "a file of groups.d that is not understood", broken_declaration, "groups", "groups",
	  "fail", "groups.d/pair7.conf:2", "systemctl reload gpupassd" },
	{ "a quarantine", quarantined, "quarantine", "quarantine", "fail", "4711",
	  "gpupass clear pair1" },
	{ "an interrupted job", open_job, "jobs", "jobs", "warn", "job 7", "journalctl" },
	{ "left out at boot", left_out_at_boot, "groups boot", "boot", "fail", "nvidia was first",
	  "gpupass bind" },
	{ "not bound at boot", not_enabled, "boot-unit", "boot-unit", "fail", "reboot",
	  "systemctl enable" },
};

TEST(each_fault_of_the_groups_is_found_by_its_check_and_by_no_other)
{
	run_cases(cases, ELEMENTS(cases), checks_of_self, false);
}

/* ---- facts that are missing ---- */

static void no_version(Rig *r)
{
	r->machine.libvirt_version = 0;
}

static void no_notes(Rig *r)
{
	r->no_notes = true;
}

static void hook_is_a_script(Rig *r)
{
	set(&r->host->hook_is, "a script");
}

static void hook_not_readable(Rig *r)
{
	set(&r->host->hook_is, NULL);
}

static void hook_not_ordered(Rig *r)
{
	r->host->hook_known = false;
}

static void no_processes(Rig *r)
{
	set(&r->host->libvirt_daemon, NULL);
	files_unread(r);
}

static const Lack lacks[] = {
	{ "memlock", no_host, "within its time" },
	{ "memlock", files_unread, "/a/file" },
	{ "libvirt", no_version, "does not tell its version" },
	{ "libvirt", no_machine, "does not tell its version" },
	{ "groups", no_libvirt, "libvirt does not answer" },
	{ "groups", unread_domain, "what vm7 has" },
	{ "drift", no_notes, "it was not looked for" },
	{ "drift", no_inspection, "was not inspected" },
	{ "drift", no_libvirt, "libvirt does not answer" },
	{ "drift", unread_assignment, "what is assigned is not known" },
	{ "evidence", no_notes, "it was not looked for" },
	{ "files", no_notes, "it was not looked for" },
	{ "tenants", no_notes, "it was not looked for" },
	{ "tenants", no_libvirt, "libvirt does not answer" },
	{ "split-groups", no_libvirt, "libvirt does not answer" },
	{ "split-groups", no_notes, "it was not looked for" },
	{ "split-groups", unread_domain, "what vm7 has" },
	{ "fence", no_host, "within its time" },
	{ "fence", hook_is_a_script, "is a script" },
	{ "fence", hook_not_readable, "is not readable" },
	{ "fence", hook_not_ordered, "put there, or replaced, after it started" },
	{ "fence", no_processes, "/a/file" },
	{ "boot", no_host, "within its time", true },
	{ "boot", files_unread, "/a/file", true },
	{ "boot", unread_assignment, "what is assigned is not known" },
	{ "boot-unit", no_host, "within its time" },
	{ "boot-unit", unread_assignment, "what is assigned is not known" },
};

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	run_lacks(lacks, ELEMENTS(lacks), checks_of_self, "quarantine jobs");
}
