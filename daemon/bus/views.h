/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The properties of each kind of object, and how they are filled from the picture. */
#pragma once

#include "bus/field.h"
#include "host/scan/pci-names.h"
#include "manager/manager.h"

#define MANAGER_VIEW(X)                                                                            \
	X("Version", char *, version, STRING, CONST)                                               \
	X("LibvirtConnected", int, libvirt_connected, BOOL, CHANGES)                               \
	X("IommuEnabled", int, iommu_enabled, BOOL, CHANGES)                                       \
	X("ScannedAt", uint64_t, scanned_at, UINT64, CHANGES)                                      \
	X("Notes", char **, notes, STRINGS, CHANGES)

#define GROUP_VIEW(X)                                                                              \
	X("Name", char *, name, STRING, CONST)                                                     \
	X("State", char *, state, STRING, CHANGES)                                                 \
	X("Reason", char *, reason, STRING, CHANGES)                                               \
	X("Provenance", char *, provenance, STRING, CHANGES)                                       \
	X("Source", char *, source, STRING, CHANGES)                                               \
	X("Reasoning", char *, reasoning, STRING, CHANGES)                                         \
	X("Evidence", EvidenceViews, evidence, EVIDENCE, CHANGES)                                  \
	X("EvidenceAt", uint64_t, evidence_at, UINT64, CHANGES)                                    \
	X("Model", char *, model, STRING, CHANGES)                                                 \
	X("Link", char *, link, STRING, CHANGES)                                                   \
	X("Links", uint32_t, links, UINT32, CHANGES)                                               \
	X("LinksExpected", uint32_t, links_expected, UINT32, CHANGES)                              \
	X("Gpus", char **, gpus, PATHS, CHANGES)                                                   \
	X("GpuAddresses", char **, gpu_addresses, STRINGS, CHANGES)                                \
	X("Functions", char **, functions, STRINGS, CHANGES)                                       \
	X("IommuGroups", Int32s, iommu_groups, INT32S, CHANGES)                                    \
	X("NumaNodes", Int32s, numa_nodes, INT32S, CHANGES)                                        \
	X("Driver", char *, driver, STRING, CHANGES)                                               \
	X("DomainName", char *, domain_name, STRING, CHANGES)                                      \
	X("DomainUuid", char *, domain_uuid, STRING, CHANGES)                                      \
	X("Assignable", int, assignable, BOOL, CHANGES)                                            \
	X("Job", char *, job, PATH, CHANGES)                                                       \
	X("TenantState", char *, tenant_state, STRING, CHANGES)                                    \
	X("Verified", char *, verified, STRING, CHANGES)                                           \
	X("VerifiedAt", uint64_t, verified_at, UINT64, CHANGES)

#define GPU_VIEW(X)                                                                                \
	X("Address", char *, address, STRING, CONST)                                               \
	X("Name", char *, name, STRING, CONST)                                                     \
	X("Model", char *, model, STRING, CONST)                                                   \
	X("VendorId", uint16_t, vendor, UINT16, CONST)                                             \
	X("DeviceId", uint16_t, device, UINT16, CONST)                                             \
	X("SubsystemVendorId", uint16_t, subsystem_vendor, UINT16, CONST)                          \
	X("SubsystemDeviceId", uint16_t, subsystem_device, UINT16, CONST)                          \
	X("Nvlink", char *, nvlink, STRING, CONST)                                                 \
	X("NvlinkNote", char *, nvlink_note, STRING, CONST)                                        \
	X("NvlinkGeneration", uint32_t, nvlink_generation, UINT32, CONST)                          \
	X("NvlinkLinks", uint32_t, nvlink_links, UINT32, CONST)                                    \
	X("NvlinkGroupSize", uint32_t, nvlink_group_size, UINT32, CONST)                           \
	X("Functions", FunctionViews, functions, FUNCTIONS, CHANGES)                               \
	X("Driver", char *, driver, STRING, CHANGES)                                               \
	X("IommuGroup", int32_t, iommu_group, INT32, CHANGES)                                      \
	X("NumaNode", int32_t, numa_node, INT32, CHANGES)                                          \
	X("PhysicalSlot", char *, physical_slot, STRING, CHANGES)                                  \
	X("UpstreamPath", char **, upstream_path, STRINGS, CHANGES)                                \
	X("BarSizes", Uint64s, bar_sizes, UINT64S, CHANGES)                                        \
	X("ResetMethods", char **, reset_methods, STRINGS, CHANGES)                                \
	X("BootVga", int, boot_vga, BOOL, CHANGES)                                                 \
	X("VirtualFunctions", int, virtual_functions, BOOL, CHANGES)                               \
	X("PowerState", char *, power_state, STRING, CHANGES)                                      \
	X("Health", char *, health, STRING, CHANGES)                                               \
	X("HealthReason", char *, health_reason, STRING, CHANGES)                                  \
	X("LinkWidth", uint32_t, link_width, UINT32, CHANGES)                                      \
	X("LinkSpeed", char *, link_speed, STRING, CHANGES)                                        \
	X("MaxLinkWidth", uint32_t, max_link_width, UINT32, CHANGES)                               \
	X("MaxLinkSpeed", char *, max_link_speed, STRING, CHANGES)                                 \
	X("AerCorrectable", uint64_t, aer_correctable, UINT64, CHANGES)                            \
	X("AerNonFatal", uint64_t, aer_nonfatal, UINT64, CHANGES)                                  \
	X("AerFatal", uint64_t, aer_fatal, UINT64, CHANGES)                                        \
	X("Uuid", char *, uuid, STRING, CHANGES)                                                   \
	X("SerialNumber", char *, serial_number, STRING, CHANGES)                                  \
	X("TenantState", char *, tenant_state, STRING, CHANGES)                                    \
	X("Tenant", char *, tenant, STRING, CHANGES)                                               \
	X("TenantName", char *, tenant_name, STRING, CHANGES)                                      \
	X("TenantReason", char *, tenant_reason, STRING, CHANGES)                                  \
	X("Group", char *, group, PATH, CHANGES)

#define ASSIGNMENT_VIEW(X)                                                                         \
	X("DomainName", char *, domain_name, STRING, CHANGES)                                      \
	X("DomainUuid", char *, domain_uuid, STRING, CONST)                                        \
	X("GroupName", char *, group_name, STRING, CHANGES)                                        \
	X("Group", char *, group, PATH, CHANGES)                                                   \
	X("Applies", char **, applies, STRINGS, CHANGES)                                           \
	X("Functions", char **, functions, STRINGS, CONST)                                         \
	X("CreatedAt", uint64_t, created_at, UINT64, CONST)                                        \
	X("CreatedByUid", uint32_t, created_by, UINT32, CONST)

#define JOB_VIEW(X)                                                                                \
	X("Id", uint32_t, id, UINT32, CONST)                                                       \
	X("Operation", char *, operation, STRING, CONST)                                           \
	X("GroupName", char *, group_name, STRING, CHANGES)                                        \
	X("DomainName", char *, domain_name, STRING, CHANGES)                                      \
	X("DomainUuid", char *, domain_uuid, STRING, CHANGES)                                      \
	X("State", char *, state, STRING, CHANGES)                                                 \
	X("Steps", StepViews, steps, STEPS, CHANGES)                                               \
	X("Changed", int, changed, BOOL, CHANGES)                                                  \
	X("ErrorName", char *, error_name, STRING, CHANGES)                                        \
	X("ErrorMessage", char *, error_message, STRING, CHANGES)                                  \
	X("Warnings", char **, warnings, STRINGS, CHANGES)                                         \
	X("CreatedAt", uint64_t, created_at, UINT64, CONST)                                        \
	X("DurationUsec", uint64_t, duration_usec, UINT64, CHANGES)                                \
	X("CallerUid", uint32_t, caller_uid, UINT32, CONST)                                        \
	X("Result", char *, result, STRING, CHANGES)

typedef struct ManagerView {
	MANAGER_VIEW(VIEW_MEMBER)
} ManagerView;
typedef struct GroupView {
	GROUP_VIEW(VIEW_MEMBER)
} GroupView;
typedef struct GpuView {
	GPU_VIEW(VIEW_MEMBER)
} GpuView;
typedef struct AssignmentView {
	ASSIGNMENT_VIEW(VIEW_MEMBER)
} AssignmentView;
typedef struct JobView {
	JOB_VIEW(VIEW_MEMBER)
} JobView;

/* Field tables and vtables of the properties; methods are in methods.c. */
extern const Field manager_fields[], group_fields[], gpu_fields[], assignment_fields[],
	job_fields[];
extern const size_t n_manager_fields, n_group_fields, n_gpu_fields, n_assignment_fields,
	n_job_fields;
extern const sd_bus_vtable manager_properties[], group_properties[], gpu_properties[],
	assignment_properties[], job_properties[];

/* Object paths; NULL when memory is out. */
char *group_path(const char *name);
char *gpu_path(const Bdf *bdf);
char *assignment_path(const char *domain_uuid);
char *job_path(uint32_t id);

/* Each fills a zeroed view. On -ENOMEM the view may be half filled: use fields_clear(). */
int manager_view_fill(const Manager *m, ManagerView *view);
int group_view_fill(const Manager *m, const Group *group, GroupView *view);
int gpu_view_fill(const Manager *m, PciNames *names, const Gpu *gpu, GpuView *view);
int assignment_view_fill(const Manager *m, const Assignment *assignment, AssignmentView *view);
int job_view_fill(const JobRecord *job, JobView *view);
