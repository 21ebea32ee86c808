/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/doctor/doctor.h"

#include <string.h>

#include "core/base/json-fields.h"
#include "core/doctor/checks.h"
#include "core/group/record.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/xalloc.h"

#define SEE_TABLE "what-doctor-finds"

/* A row without its evidence is an error, whatever the compiler is told to warn of. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
/* In the order of the report: a check comes after those that it depends on. */
static const DoctorCheck checks[] = {
	{ "iommu", "IOMMU", 0, doctor_check_iommu, SEE_TABLE,
	  "IOMMU groups in sysfs, listed by the scan" },
	{ "noiommu", "No-IOMMU mode of vfio", NEEDS_INSPECTION, doctor_check_noiommu, SEE_TABLE,
	  "vfio's parameter in sysfs, read by the inspector" },
	{ "interrupt-remapping", "Interrupt remapping", NEEDS_IOMMU | NEEDS_INSPECTION,
	  doctor_check_interrupt_remapping, SEE_TABLE,
	  "/proc/interrupts and vfio's parameter, read by the inspector" },
	{ "acs", "ACS on the way to the GPUs", NEEDS_IOMMU | NEEDS_GPUS, doctor_check_acs,
	  "iommu-groups", "the ACS registers of every port above a GPU, read by the config part" },
	{ "acs-override", "ACS override", NEEDS_HOST, doctor_check_acs_override, "iommu-groups",
	  "the kernel command line, read by the examiner" },
	{ "iommu-group", "IOMMU groups", NEEDS_IOMMU | NEEDS_GPUS, doctor_check_iommu_group,
	  "iommu-groups", "IOMMU group and driver of every function in sysfs, read by the scan" },
	{ "reserved-regions", "Memory that the firmware reserves",
	  NEEDS_IOMMU | NEEDS_INSPECTION | NEEDS_GPUS, doctor_check_reserved_regions,
	  "reserved-memory", "reserved_regions of the IOMMU groups, read by the inspector" },
	{ "vfio", "vfio-pci", NEEDS_INSPECTION, doctor_check_vfio, "vfiomissing",
	  "PCI drivers in sysfs and the kernel's list of modules, read by the inspector" },
	{ "vfio-ids", "Boards taken by vfio-pci ids=", NEEDS_HOST | NEEDS_GPUS,
	  doctor_check_vfio_ids, SEE_TABLE,
	  "the kernel command line and modprobe.d, read by the examiner" },
	{ "initramfs", "GPU drivers in the initramfs", NEEDS_HOST, doctor_check_initramfs,
	  "after-a-reboot",
	  "files of the boot image, unpacked by gpupass-initramfs; assignments on disk" },
	{ "driver-version", "Version of the nvidia driver", NEEDS_HOST, doctor_check_driver_version,
	  SEE_TABLE, "the loaded driver's own version, read by the examiner; a table of versions" },
	{ "nvidia-drm", "GPUs that nvidia_drm keeps", NEEDS_INSPECTION | NEEDS_GPUS,
	  doctor_check_nvidia_drm, "hostinuse",
	  "nvidia_drm's parameter and the driver's version, read by the inspector" },
	{ "services", "Services that hold GPUs", NEEDS_HOST, doctor_check_services, "holders",
	  "every process and its control group, read by the examiner" },
	{ "holders", "Processes that hold GPUs", NEEDS_INSPECTION | NEEDS_GPUS,
	  doctor_check_holders, "holders",
	  "files and mappings of every process, read by the inspector; guests, from libvirt" },
	{ "driver", "Drivers and overrides", NEEDS_INSPECTION | NEEDS_GPUS, doctor_check_driver,
	  "driverconflict",
	  "driver and driver_override of every function in sysfs, read by the inspector" },
	{ "driverctl", "driverctl", NEEDS_HOST | NEEDS_GPUS, doctor_check_driverctl,
	  "driverconflict", "/etc/driverctl.d, read by the examiner" },
	{ "host-hooks", "Other hooks of libvirt", NEEDS_HOST, doctor_check_host_hooks,
	  "other-hooks", "the texts of the scripts, read by the examiner" },
	{ "managed", "Hostdevs with managed='yes'", NEEDS_LIBVIRT | NEEDS_GPUS,
	  doctor_check_managed, SEE_TABLE, "the XML of every domain, from libvirt" },
	{ "qemu-arguments", "GPUs by QEMU arguments", NEEDS_LIBVIRT | NEEDS_GPUS,
	  doctor_check_arguments, SEE_TABLE, "the XML of every domain, from libvirt" },
	{ "boot-vga", "Boot display", NEEDS_GPUS, doctor_check_boot_vga, "boot-display",
	  "boot_vga and driver in sysfs, read by the scan" },
	{ "framebuffer", "Firmware framebuffer", NEEDS_INSPECTION | NEEDS_GPUS,
	  doctor_check_framebuffer, "boot-display", "/proc/iomem, read by the inspector" },
	{ "bars", "Addresses of BARs", NEEDS_INSPECTION | NEEDS_GPUS, doctor_check_bars,
	  "bars-without-an-address", "resource in sysfs, read by the inspector" },
	{ "virtual-functions", "Virtual functions", NEEDS_GPUS, doctor_check_virtual_functions,
	  "hostinuse", "the virtual functions in sysfs, listed by the scan" },
	{ "answers", "GPUs answer", NEEDS_GPUS, doctor_check_answers, SEE_TABLE,
	  "config space of every GPU that is awake, read by the config part" },
	{ "power", "Power states", NEEDS_GPUS, doctor_check_power, SEE_TABLE,
	  "power_state in sysfs, read by the scan" },
	{ "link-width", "Lanes of the PCIe links", NEEDS_GPUS, doctor_check_link_width, SEE_TABLE,
	  "link registers of every GPU and port above, read by the config part" },
	{ "link-speed", "Speed of the PCIe links", NEEDS_GPUS, doctor_check_link_speed, SEE_TABLE,
	  "the same registers; who has the GPU open, from the inspector" },
	{ "aer", "PCIe errors", NEEDS_GPUS, doctor_check_aer, SEE_TABLE,
	  "the kernel's error counters in sysfs, read by the config part" },
	{ "reset", "Ways to reset the GPUs", NEEDS_GPUS, doctor_check_reset, "resetfailed",
	  "reset_method in sysfs, read by the scan; the receipts of the boards' last resets" },
	{ "memlock", "Locked memory", NEEDS_HOST, doctor_check_memlock, SEE_TABLE,
	  "limits and capabilities of libvirt's process, read by the examiner" },
	{ "libvirt", "libvirt", 0, doctor_check_libvirt, "libvirtunavailable",
	  "libvirt's answers: every domain's XML, its version" },
	{ "groups", "Groups", 0, doctor_check_groups, "states-that-need-a-hand",
	  "drivers, read by the scan; domains, from libvirt; assignments on disk" },
	{ "drift", "Drift from the assignments", 0, doctor_check_drift, SEE_TABLE,
	  "drivers, read by the inspector; domains, from libvirt; assignments on disk" },
	{ "files", "Files of the daemon's state", 0, doctor_check_files, SEE_TABLE,
	  "every record in assignments.d, kept.d and the state directory, read again" },
	{ "evidence", "Evidence of NVLinks", 0, doctor_check_evidence, SEE_TABLE,
	  "ids, UUIDs and serial numbers of the boards, and of the stored observations" },
	{ "tenants", "Boards since their last tenants", 0, doctor_check_tenants, "resetfailed",
	  "the marks on disk; domains, from libvirt" },
	{ "split-groups", "Split groups", NEEDS_LIBVIRT, doctor_check_split, "splitgroup",
	  "the XML of every domain, from libvirt" },
	{ "fence", "The fence at libvirt", NEEDS_HOST, doctor_check_fence, "the-fence",
	  "hook and libvirt's start, read by the examiner; fence.json, read again" },
	{ "quarantine", "Quarantines", 0, doctor_check_quarantine, "lifting-a-quarantine",
	  "the quarantines that the daemon holds" },
	{ "jobs", "Interrupted jobs", 0, doctor_check_jobs, SEE_TABLE,
	  "the journals that the daemon read at its start" },
	{ "boot", "What became of assignments at boot", NEEDS_HOST, doctor_check_boot_report,
	  "after-a-reboot", "gpupass-bind's report, read by the examiner; drivers, by the scan" },
	{ "boot-unit", "Binding at boot", NEEDS_HOST, doctor_check_boot_unit, "after-a-reboot",
	  "the unit's link in /etc/systemd/system, read by the examiner" },
	{ "domain-group", "The domain's group", NEEDS_DOMAIN, doctor_check_domain_group, SEE_TABLE,
	  "the domain's XML, from libvirt; the assignments on disk" },
	{ "domain-hostdevs", "Hostdevs of the domain", NEEDS_DOMAIN | NEEDS_GROUP | NEEDS_LIBVIRT,
	  doctor_check_domain_hostdevs, SEE_TABLE,
	  "the hostdevs in the definition and in the running guest, from libvirt" },
	{ "domain-machine", "Machine type", NEEDS_DOMAIN, doctor_check_domain_machine, SEE_TABLE,
	  "the domain's XML, from libvirt" },
	{ "domain-acpi", "Hotplug", NEEDS_DOMAIN, doctor_check_domain_acpi, "unsupporteddomain",
	  "the domain's XML, from libvirt" },
	{ "domain-window", "Address space for BARs", NEEDS_DOMAIN | NEEDS_GROUP,
	  doctor_check_domain_window, SEE_TABLE,
	  "the domain's XML, from libvirt; BARs and address bits, read by the scan" },
	{ "domain-hugepages", "Huge pages", NEEDS_DOMAIN, doctor_check_domain_hugepages, SEE_TABLE,
	  "the domain's XML, from libvirt; free huge pages in sysfs, read by the scan" },
	{ "domain-memlock", "Memory that is locked", NEEDS_DOMAIN, doctor_check_domain_memlock,
	  SEE_TABLE, "the domain's XML, from libvirt; the host's memory, read by the scan" },
	{ "domain-numa", "NUMA placement", NEEDS_DOMAIN | NEEDS_GROUP, doctor_check_domain_numa,
	  SEE_TABLE, "the domain's XML, from libvirt; NUMA nodes in sysfs, read by the scan" },
	{ "domain-clique", "GPUDirect clique", NEEDS_DOMAIN, doctor_check_domain_clique, SEE_TABLE,
	  "the domain's XML, from libvirt" },
	{ "domain-security", "Encrypted memory", NEEDS_DOMAIN, doctor_check_domain_security,
	  "encrypted-guests", "the domain's XML, from libvirt" },
	{ "domain-applied", "What --fit=apply and --numa=apply write", NEEDS_DOMAIN | NEEDS_GROUP,
	  doctor_check_domain_applied, SEE_TABLE,
	  "the definition's XML, from libvirt; what the assignment asked for, on disk" },
};
#pragma GCC diagnostic pop

const char *doctor_check_id(size_t index)
{
	return index < ELEMENTS(checks) ? checks[index].id : NULL;
}

/* Adds a group to the domain's, once. NULL is none. */
static void doctor_add_group(Doctor *d, const Group *group)
{
	for (size_t i = 0; i < d->n_groups; i++)
		if (d->groups[i] == group)
			return;
	if (group)
		d->groups[d->n_groups++] = group;
}

/* The domain's groups: by its records, its metadata, and its hostdevs. */
static void doctor_find_groups(Doctor *d)
{
	const DoctorFacts *facts = d->facts;
	const char *uuid = facts->domain ? facts->domain->uuid : NULL;
	const DomainUse *use = facts->uses ? domain_uses_find(facts->uses, uuid) : NULL;
	const Assignment *record;
	size_t position = 0;

	d->groups = xcalloc(facts->groups->n_items + 1, sizeof(*d->groups));
	while ((record = assignments_of_domain(facts->assignments, uuid, &position)))
		doctor_add_group(d, group_set_find_assigned(facts->groups, record));
	for (char **name = use ? use->gpupass_groups : NULL; name && *name; name++)
		if (mark_counts(facts->groups, use, *name))
			doctor_add_group(d, group_set_find(facts->groups, *name));
	for (size_t i = 0; use && i < use->n_hostdevs; i++)
		doctor_add_group(d, group_set_find_gpu(facts->groups, &use->hostdevs[i].bdf));
}

bool doctor_covers_group(const Doctor *d, const char *name)
{
	for (size_t i = 0; i < d->n_groups; i++)
		if (str_equal(d->groups[i]->name, name))
			return true;
	return !d->facts->domain;
}

static void doctor_select_gpus(Doctor *d)
{
	const DoctorFacts *facts = d->facts;

	d->gpus = xcalloc(facts->gpus->n_gpus + 1, sizeof(*d->gpus));
	for (size_t i = 0; i < facts->gpus->n_gpus; i++) {
		const Gpu *gpu = &facts->gpus->gpus[i];
		const Group *group = group_set_find_gpu(facts->groups, &gpu->lead->bdf);

		if (group && doctor_covers_group(d, group->name))
			d->gpus[d->n_gpus++] = gpu;
	}
}

static void tell_unread(Finding *f, const char *what, const Problem *problem, int error)
{
	finding_unknown(f, NULL, "%s: %s", what,
			problem		      ? problem->cause
			: error == -ETIMEDOUT ? "it did not end within its time"
					      : strerror(-error));
	if (problem && problem->remedy)
		finding_remedy(f, "%s", problem->remedy);
}

static void doctor_find_obstacles(Doctor *d)
{
	size_t n;
	_cleanup_free_ const PciFunction **functions = doctor_functions(d, &n);

	if (d->facts->inspection)
		d->obstacles =
			obstacles_find(functions, n, d->facts->inspection, d->facts->machine);
}

/* False: the check cannot run, and the finding says why. */
static bool doctor_has_facts(const Doctor *d, Finding *f)
{
	const DoctorFacts *facts = d->facts;
	unsigned needs = f->check->needs;

	if ((needs & NEEDS_GROUP) && facts->domain && d->n_groups == 0)
		finding_skip(f, "%s has no group", facts->domain->name);
	else if ((needs & NEEDS_IOMMU) && !facts->snapshot->iommu)
		finding_skip(f, "the IOMMU is off");
	else if ((needs & NEEDS_GPUS) && d->n_gpus == 0)
		finding_skip(f, "there is no GPU in a group");
	else if ((needs & NEEDS_HOST) && !facts->host)
		tell_unread(f, "the host's setup could not be read", facts->host_problem,
			    facts->host_error);
	else if ((needs & NEEDS_INSPECTION) && !facts->inspection)
		tell_unread(f, "the GPUs could not be inspected", facts->inspection_problem,
			    facts->inspection_error);
	else if ((needs & NEEDS_LIBVIRT) && !facts->uses && facts->policy->domains == DOMAINS_NONE)
		finding_skip(f, "%s", domain_source_silence(facts->policy->domains));
	else if ((needs & NEEDS_LIBVIRT) && !facts->uses)
		doctor_need_domains(d, f);
	else
		return true;
	return false;
}

/* ---- the report ---- */

static json_t *finding_json(const Finding *f)
{
	return json_build("{s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:s}", "id", f->check->id, "title",
			  f->check->title, "status", finding_status_to_string(f->status), "what",
			  json_strv(f->what), "remedy",
			  json_string_or_null(f->status > FINDING_PASS ? f->remedy : NULL),
			  "objects", json_strv(f->objects), "see", f->check->see, "evidence",
			  f->check->evidence);
}

static json_t *group_names_json(const Doctor *d)
{
	json_t *a = json_array();

	for (size_t i = 0; i < d->n_groups; i++)
		json_append(a, json_text(d->groups[i]->name));
	return a;
}

static json_t *domain_json(const Doctor *d)
{
	const VirtDomain *domain = d->facts->domain;

	if (!domain)
		return json_null();
	return json_build("{s:o, s:s, s:o, s:o}", "name", json_text(domain->name), "uuid",
			  domain->uuid, "group",
			  json_string_or_null(d->n_groups > 0 ? d->groups[0]->name : NULL),
			  "groups", group_names_json(d));
}

static json_t *counts_json(const Finding *findings, size_t n)
{
	json_t *o = json_object();

	for (int status = FINDING_STATUS_MAX_ - 1; status >= 0; status--) {
		json_int_t count = 0;

		for (size_t i = 0; i < n; i++)
			count += findings[i].status == (FindingStatus)status;
		json_set(o, finding_status_to_string((FindingStatus)status), json_integer(count));
	}
	return o;
}

static char *doctor_report_json(const Doctor *d, const Finding *findings, size_t n)
{
	_cleanup_json_ json_t *root = json_object();
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_append(list, finding_json(&findings[i]));
	json_set(root, "schema", json_text(GPUPASS_SCHEMA_DOCTOR));
	json_set(root, "domain", domain_json(d));
	json_set(root, "symptom", doctor_symptom_json(d, findings, n));
	json_set(root, "counts", counts_json(findings, n));
	json_set(root, "checks", list);
	return json_dumps(root, JSON_COMPACT);
}

/* Runs the checks that apply: so many. */
static size_t doctor_run_checks(const Doctor *d, Finding *findings)
{
	size_t n = 0;

	for (size_t i = 0; i < ELEMENTS(checks); i++) {
		Finding *f = &findings[n];

		if ((checks[i].needs & NEEDS_DOMAIN) && !d->facts->domain)
			continue;
		n++;
		f->check = &checks[i];
		if (doctor_has_facts(d, f))
			f->check->run(d, f);
	}
	return n;
}

char *doctor_report(const DoctorFacts *facts)
{
	Finding findings[ELEMENTS(checks)] = { 0 };
	Doctor d = { .facts = facts };
	char *text;
	size_t n;

	doctor_find_groups(&d);
	doctor_select_gpus(&d);
	doctor_find_obstacles(&d);
	doctor_read_domain(&d);
	n = doctor_run_checks(&d, findings);
	text = doctor_report_json(&d, findings, n);
	for (size_t i = 0; i < n; i++)
		finding_clear(&findings[i]);
	free(d.groups);
	free(d.gpus);
	obstacles_clear(&d.obstacles);
	domain_xml_free(d.xml);
	fit_report_free(d.fit);
	free(d.xml_error);
	return text;
}
