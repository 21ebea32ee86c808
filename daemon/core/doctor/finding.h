/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of doctor_report() share. */
#pragma once

#include "core/doctor/doctor.h"
#include "core/fit/fit.h"
#include "core/pci/driver-name.h"
#include "util/text.h"

/* Facts that a check cannot do without; it is skipped, with the reason, where one is missing. */
typedef enum DoctorNeeds {
	NEEDS_HOST = 1 << 0,	   /* the examination */
	NEEDS_INSPECTION = 1 << 1, /* of the groups' functions */
	NEEDS_GPUS = 1 << 2,	   /* GPUs that are in a group */
	NEEDS_IOMMU = 1 << 3,
	NEEDS_LIBVIRT = 1 << 4,
	NEEDS_DOMAIN = 1 << 5, /* a domain was named; otherwise the check is left out */
	NEEDS_GROUP = 1 << 6,  /* and has a group */
} DoctorNeeds;

typedef struct DoctorCheck DoctorCheck;

typedef struct Finding {
	const DoctorCheck *check;
	char **what; /* lines, in the order in which they were found */
	char *remedy;
	char **objects; /* addresses, groups, domains */
	FindingStatus status;
	int error; /* -ENOMEM, sticky */
} Finding;

typedef struct Doctor {
	const DoctorFacts *facts;
	const Group *group; /* of the domain that is asked about; NULL: none */
	const Gpu **gpus;   /* those that are looked at: of that group, or of all */
	size_t n_gpus;
	DomainXml *xml;	 /* of the domain, its definition first; NULL: not understood */
	FitReport *fit;	 /* what core/fit/fit.h finds of it; NULL: likewise */
	char *xml_error; /* why */
} Doctor;

struct DoctorCheck {
	const char *id, *title;
	unsigned needs;
	void (*run)(const Doctor *d, Finding *finding);
	const char *see; /* heading of TROUBLESHOOTING.md */
};

/*
 * Each adds a line and raises the status; it never falls. `object` may be NULL. The remedy is that
 * of the first line of the heaviest status.
 */
void finding_pass(Finding *finding, const char *format, ...) _printf_(2, 3);
void finding_skip(Finding *finding, const char *format, ...) _printf_(2, 3);
void finding_warn(Finding *finding, const char *object, const char *format, ...) _printf_(3, 4);
void finding_fail(Finding *finding, const char *object, const char *format, ...) _printf_(3, 4);
void finding_remedy(Finding *finding, const char *format, ...) _printf_(2, 3);

/* NULL: nobody looked, or in vain. */
const GpuHealth *doctor_health(const Doctor *d, const Gpu *gpu);
/* One of the GPUs that are looked at has this function. */
const Gpu *doctor_gpu_of(const Doctor *d, const Bdf *bdf);
bool doctor_is_busy(const Doctor *d, const Group *group);

/* host.c */
void check_iommu(const Doctor *d, Finding *f);
void check_noiommu(const Doctor *d, Finding *f);
void check_interrupt_remapping(const Doctor *d, Finding *f);
void check_acs(const Doctor *d, Finding *f);
void check_acs_override(const Doctor *d, Finding *f);
void check_iommu_group(const Doctor *d, Finding *f);
void check_vfio(const Doctor *d, Finding *f);
void check_vfio_ids(const Doctor *d, Finding *f);
void check_services(const Doctor *d, Finding *f);
void check_driver_version(const Doctor *d, Finding *f);
void check_driverctl(const Doctor *d, Finding *f);
void check_memlock(const Doctor *d, Finding *f);
/* initramfs.c */
void check_initramfs(const Doctor *d, Finding *f);
/* device.c */
void check_answers(const Doctor *d, Finding *f);
void check_power(const Doctor *d, Finding *f);
void check_link_width(const Doctor *d, Finding *f);
void check_link_speed(const Doctor *d, Finding *f);
void check_aer(const Doctor *d, Finding *f);
void check_reset(const Doctor *d, Finding *f);
void check_boot_vga(const Doctor *d, Finding *f);
void check_virtual_functions(const Doctor *d, Finding *f);
void check_driver(const Doctor *d, Finding *f);
void check_holders(const Doctor *d, Finding *f);
/* self.c */
void check_libvirt(const Doctor *d, Finding *f);
void check_managed(const Doctor *d, Finding *f);
void check_groups(const Doctor *d, Finding *f);
void check_drift(const Doctor *d, Finding *f);
void check_evidence(const Doctor *d, Finding *f);
void check_tenants(const Doctor *d, Finding *f);
void check_quarantine(const Doctor *d, Finding *f);
void check_jobs(const Doctor *d, Finding *f);
void check_boot_report(const Doctor *d, Finding *f);
void check_boot_unit(const Doctor *d, Finding *f);
/* domain.c */
void check_domain_group(const Doctor *d, Finding *f);
void check_domain_hostdevs(const Doctor *d, Finding *f);
void check_domain_acpi(const Doctor *d, Finding *f);
void check_domain_machine(const Doctor *d, Finding *f);
void check_domain_window(const Doctor *d, Finding *f);
void check_domain_hugepages(const Doctor *d, Finding *f);
void check_domain_memlock(const Doctor *d, Finding *f);
void check_domain_applied(const Doctor *d, Finding *f);
void check_domain_numa(const Doctor *d, Finding *f);
void check_domain_clique(const Doctor *d, Finding *f);
/* Reads the domain's XML, and asks core/fit/fit.h about it; -ENOMEM. */
int doctor_read_domain(Doctor *d);

/* symptom.c: the part of the report about a symptom; NULL when memory is out. */
json_t *doctor_symptom_json(const Doctor *d, const Finding *findings, size_t n);
