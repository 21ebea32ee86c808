/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks that doctor.c has in its table. */
#pragma once

#include "core/doctor/finding.h"

/*
 * What a check needs. Without what it is about, it is skipped. Without facts, it is unknown, and
 * says what is missing.
 */
typedef enum DoctorNeeds {
	NEEDS_HOST = 1 << 0,	   /* facts: the examination */
	NEEDS_INSPECTION = 1 << 1, /* facts: an inspection of the groups' functions */
	NEEDS_GPUS = 1 << 2,	   /* at least one GPU that is in a group */
	NEEDS_IOMMU = 1 << 3,
	NEEDS_LIBVIRT = 1 << 4, /* facts: the domains */
	NEEDS_DOMAIN = 1 << 5,	/* without a domain the check is not in the report at all */
	NEEDS_GROUP = 1 << 6,	/* and the domain has a group */
} DoctorNeeds;

struct DoctorCheck {
	const char *id, *title;
	unsigned needs;
	void (*run)(const Doctor *d, Finding *finding);
	const char *see; /* a heading of docs/TROUBLESHOOTING.md */
	/* What a pass rests on: what is observed, and by whom. doctor.c demands it of each row. */
	const char *evidence;
};

/* host.c */
void doctor_check_iommu(const Doctor *d, Finding *f);
void doctor_check_noiommu(const Doctor *d, Finding *f);
void doctor_check_interrupt_remapping(const Doctor *d, Finding *f);
void doctor_check_acs(const Doctor *d, Finding *f);
void doctor_check_acs_override(const Doctor *d, Finding *f);
void doctor_check_iommu_group(const Doctor *d, Finding *f);
void doctor_check_vfio(const Doctor *d, Finding *f);
void doctor_check_services(const Doctor *d, Finding *f);
void doctor_check_driver_version(const Doctor *d, Finding *f);
void doctor_check_nvidia_drm(const Doctor *d, Finding *f);
void doctor_check_driverctl(const Doctor *d, Finding *f);
void doctor_check_host_hooks(const Doctor *d, Finding *f);
void doctor_check_memlock(const Doctor *d, Finding *f);
/* ids.c */
void doctor_check_vfio_ids(const Doctor *d, Finding *f);
/* What has pci-stub take the function at boot, in words; NULL: nothing known. */
char *doctor_find_stub(const Doctor *d, const Bdf *bdf);
/* initramfs.c */
void doctor_check_initramfs(const Doctor *d, Finding *f);
/* device.c */
void doctor_check_answers(const Doctor *d, Finding *f);
void doctor_check_power(const Doctor *d, Finding *f);
void doctor_check_link_width(const Doctor *d, Finding *f);
void doctor_check_link_speed(const Doctor *d, Finding *f);
void doctor_check_aer(const Doctor *d, Finding *f);
void doctor_check_bars(const Doctor *d, Finding *f);
void doctor_check_framebuffer(const Doctor *d, Finding *f);
void doctor_check_reserved_regions(const Doctor *d, Finding *f);
void doctor_check_reset(const Doctor *d, Finding *f);
void doctor_check_boot_vga(const Doctor *d, Finding *f);
void doctor_check_virtual_functions(const Doctor *d, Finding *f);
void doctor_check_driver(const Doctor *d, Finding *f);
void doctor_check_holders(const Doctor *d, Finding *f);
/* self.c */
void doctor_check_libvirt(const Doctor *d, Finding *f);
void doctor_check_arguments(const Doctor *d, Finding *f);
void doctor_check_managed(const Doctor *d, Finding *f);
void doctor_check_groups(const Doctor *d, Finding *f);
void doctor_check_drift(const Doctor *d, Finding *f);
void doctor_check_evidence(const Doctor *d, Finding *f);
void doctor_check_tenants(const Doctor *d, Finding *f);
void doctor_check_files(const Doctor *d, Finding *f);
void doctor_check_split(const Doctor *d, Finding *f);
void doctor_check_fence(const Doctor *d, Finding *f);
void doctor_check_quarantine(const Doctor *d, Finding *f);
void doctor_check_jobs(const Doctor *d, Finding *f);
void doctor_check_boot_report(const Doctor *d, Finding *f);
void doctor_check_boot_unit(const Doctor *d, Finding *f);
/* domain.c */
void doctor_check_domain_group(const Doctor *d, Finding *f);
void doctor_check_domain_hostdevs(const Doctor *d, Finding *f);
void doctor_check_domain_acpi(const Doctor *d, Finding *f);
void doctor_check_domain_machine(const Doctor *d, Finding *f);
void doctor_check_domain_window(const Doctor *d, Finding *f);
void doctor_check_domain_hugepages(const Doctor *d, Finding *f);
void doctor_check_domain_memlock(const Doctor *d, Finding *f);
void doctor_check_domain_applied(const Doctor *d, Finding *f);
void doctor_check_domain_numa(const Doctor *d, Finding *f);
void doctor_check_domain_clique(const Doctor *d, Finding *f);
void doctor_check_domain_security(const Doctor *d, Finding *f);
/* All functions of the GPUs that are checked. */
const PciFunction **doctor_functions(const Doctor *d, size_t *ret_n);
/* Parses the domain's XML and runs fit_check() on it. */
void doctor_read_domain(Doctor *d);

/* symptom.c: the part of the report about a symptom. */
json_t *doctor_symptom_json(const Doctor *d, const Finding *findings, size_t n);
