/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The properties of each interface, once: the daemon's views (daemon/bus/views.h) and the client's
 * model (client/model/model.h) are both made from these lists, so neither can know a property, or
 * the type of one, that the other does not. Rows stand in the order of the introspection.
 *
 *   X(S, "Name", TYPE, member, MODE, NEED)
 *
 * S       the list's second argument: the struct that has the members
 * "Name"  the name on the bus; org.gpupass1(5) says what it means
 * TYPE    a PropertyType without its prefix; each side has its own C type for it
 * member  of the struct, on both sides
 * MODE    CONST: it never changes. CHANGES: PropertiesChanged names it when it does
 * NEED    MUST: the client refuses an object without it. MAY: when it is absent, the client takes
 *         the value that means "not known": "", an empty list, false, 0, or -1 for an INT32
 *
 * A name in At is a time in microseconds since the epoch, one in Usec a length of time.
 *
 * Written by hand: what the daemon fills a view from (daemon/bus/views.c), and the client's JSON
 * (client/model/json.c), which joins some properties, leaves some out, and has its own order.
 */
#pragma once

typedef enum PropertyType {
	PROPERTY_STRING,
	PROPERTY_LINES, /* a string of several lines */
	PROPERTY_STRINGS,
	PROPERTY_PATH, /* "/": points at nothing */
	PROPERTY_PATHS,
	PROPERTY_BOOL,
	PROPERTY_UINT16,
	PROPERTY_UINT32,
	PROPERTY_INT32, /* an IOMMU group or a NUMA node; -1: none, or not known */
	PROPERTY_UINT64,
	PROPERTY_INT32S,
	PROPERTY_UINT64S,
	PROPERTY_FUNCTIONS,
	PROPERTY_STEPS,
	PROPERTY_EVIDENCE,
} PropertyType;

#define PROPERTY_SIGNATURE_STRING "s"
#define PROPERTY_SIGNATURE_LINES "s"
#define PROPERTY_SIGNATURE_STRINGS "as"
#define PROPERTY_SIGNATURE_PATH "o"
#define PROPERTY_SIGNATURE_PATHS "ao"
#define PROPERTY_SIGNATURE_BOOL "b"
#define PROPERTY_SIGNATURE_UINT16 "q"
#define PROPERTY_SIGNATURE_UINT32 "u"
#define PROPERTY_SIGNATURE_INT32 "i"
#define PROPERTY_SIGNATURE_UINT64 "t"
#define PROPERTY_SIGNATURE_INT32S "ai"
#define PROPERTY_SIGNATURE_UINT64S "at"
#define PROPERTY_SIGNATURE_FUNCTIONS "a(" GPUPASS_FUNCTION_MEMBERS(PROPERTY_SIGNATURE_OF, ) ")"
#define PROPERTY_SIGNATURE_STEPS "a(" GPUPASS_STEP_MEMBERS(PROPERTY_SIGNATURE_OF, ) ")"
#define PROPERTY_SIGNATURE_EVIDENCE "a(" GPUPASS_EVIDENCE_MEMBERS(PROPERTY_SIGNATURE_OF, ) ")"

/* The types that are lists of structures: X(S, TYPE, member), in the order on the bus. */
#define PROPERTY_SIGNATURE_OF(S, TYPE, member) PROPERTY_SIGNATURE_##TYPE

/* A PCI function of a GPU. */
#define GPUPASS_FUNCTION_MEMBERS(X, S)                                                             \
	X(S, STRING, address)                                                                      \
	X(S, STRING, driver) /* "": none */                                                        \
	X(S, INT32, iommu_group)                                                                   \
	X(S, UINT32, class_code) /* 24 bits, as in sysfs */

/* A step of a job. */
#define GPUPASS_STEP_MEMBERS(X, S)                                                                 \
	X(S, STRING, name)                                                                         \
	X(S, STRING, state)                                                                        \
	X(S, STRING, detail) /* what it acts on */                                                 \
	X(S, UINT64, duration_usec)

/* What tells of a group's links. */
#define GPUPASS_EVIDENCE_MEMBERS(X, S)                                                             \
	X(S, STRING, provenance)                                                                   \
	X(S, UINT32, links)   /* 0: none, or not told */                                           \
	X(S, UINT64, seen_at) /* 0: not an observation */                                          \
	X(S, STRING, source)

#define GPUPASS_MANAGER_PROPERTIES(X, S)                                                           \
	X(S, "Version", STRING, version, CONST, MAY)                                               \
	X(S, "LibvirtConnected", BOOL, libvirt_connected, CHANGES, MAY)                            \
	X(S, "DomainsFrom", STRING, domains_from, CONST, MAY) /* "libvirt", "none" */              \
	X(S, "IommuEnabled", BOOL, iommu_enabled, CHANGES, MAY)                                    \
	X(S, "ScannedAt", UINT64, scanned_at, CHANGES, MAY) /* 0: not yet */                       \
	X(S, "Notes", STRINGS, notes, CHANGES, MAY)                                                \
	X(S, "AuditSequence", UINT64, audit_sequence, CHANGES, MAY) /* 0: no record yet */

#define GPUPASS_GROUP_PROPERTIES(X, S)                                                             \
	X(S, "Name", STRING, name, CONST, MUST)                                                    \
	X(S, "State", STRING, state, CHANGES, MUST)                                                \
	X(S, "Reason", STRING, reason, CHANGES, MAY)                                               \
	X(S, "Provenance", STRING, provenance, CHANGES, MAY)                                       \
	X(S, "Source", STRING, source, CHANGES, MAY)                                               \
	X(S, "Reasoning", STRING, reasoning, CHANGES, MAY)                                         \
	X(S, "Evidence", EVIDENCE, evidence, CHANGES, MAY)    /* strongest first */                \
	X(S, "EvidenceAt", UINT64, evidence_at, CHANGES, MAY) /* 0: never */                       \
	X(S, "Model", STRING, model, CHANGES, MAY)                                                 \
	X(S, "Link", STRING, link, CHANGES, MAY)                                                   \
	X(S, "Links", UINT32, links, CHANGES, MAY)                                                 \
	X(S, "LinksExpected", UINT32, links_expected, CHANGES, MAY)                                \
	X(S, "Gpus", PATHS, gpus, CHANGES, MAY)                                                    \
	X(S, "GpuAddresses", STRINGS, gpu_addresses, CHANGES, MUST)                                \
	X(S, "Functions", STRINGS, functions, CHANGES, MAY)                                        \
	X(S, "IommuGroups", INT32S, iommu_groups, CHANGES, MAY)                                    \
	X(S, "NumaNodes", INT32S, numa_nodes, CHANGES, MAY)                                        \
	X(S, "Driver", STRING, driver, CHANGES, MAY)                                               \
	X(S, "DomainName", STRING, domain_name, CHANGES, MAY)                                      \
	X(S, "DomainUuid", STRING, domain_uuid, CHANGES, MAY)                                      \
	X(S, "Assignable", BOOL, assignable, CHANGES, MAY)                                         \
	X(S, "Kept", STRING, kept, CHANGES, MAY) /* "asked", "setting", or "no" */                 \
	X(S, "Job", PATH, job, CHANGES, MAY)                                                       \
	X(S, "TenantState", STRING, tenant_state, CHANGES, MAY) /* of the worst of its boards */   \
	X(S, "Verified", STRING, verified, CHANGES, MAY)	/* what its guest said last */     \
	X(S, "VerifiedAt", UINT64, verified_at, CHANGES, MAY)	/* 0: never */                     \
	X(S, "PastGuestWord", STRING, past_guest_word, CHANGES, MAY) /* "": none */

#define GPUPASS_GPU_PROPERTIES(X, S)                                                               \
	X(S, "Address", STRING, address, CONST, MUST)                                              \
	X(S, "Name", STRING, name, CONST, MAY)                                                     \
	X(S, "Model", STRING, model, CONST, MAY)                                                   \
	X(S, "VendorId", UINT16, vendor_id, CONST, MAY)                                            \
	X(S, "DeviceId", UINT16, device_id, CONST, MAY)                                            \
	X(S, "SubsystemVendorId", UINT16, subsystem_vendor_id, CONST, MAY)                         \
	X(S, "SubsystemDeviceId", UINT16, subsystem_device_id, CONST, MAY)                         \
	X(S, "Nvlink", STRING, nvlink, CONST, MAY)                                                 \
	X(S, "NvlinkNote", STRING, nvlink_note, CONST, MAY)                                        \
	X(S, "NvlinkGeneration", UINT32, nvlink_generation, CONST, MAY) /* 0: no bridge */         \
	X(S, "NvlinkLinks", UINT32, nvlink_links, CONST, MAY)                                      \
	X(S, "NvlinkGroupSize", UINT32, nvlink_group_size, CONST, MAY)                             \
	X(S, "Functions", FUNCTIONS, functions, CHANGES, MAY)                                      \
	X(S, "Driver", STRING, driver, CHANGES, MAY)                                               \
	X(S, "IommuGroup", INT32, iommu_group, CHANGES, MAY)                                       \
	X(S, "NumaNode", INT32, numa_node, CHANGES, MAY)                                           \
	X(S, "PhysicalSlot", STRING, physical_slot, CHANGES, MAY)                                  \
	X(S, "UpstreamPath", STRINGS, upstream_path, CHANGES, MAY)                                 \
	X(S, "BarSizes", UINT64S, bar_sizes, CHANGES, MAY) /* bytes */                             \
	X(S, "ResetMethods", STRINGS, reset_methods, CHANGES, MAY)                                 \
	X(S, "BootVga", BOOL, boot_vga, CHANGES, MAY)                                              \
	X(S, "VirtualFunctions", BOOL, virtual_functions, CHANGES, MAY)                            \
	X(S, "MigMode", STRING, mig_mode, CHANGES, MAY)	      /* at the last probe */              \
	X(S, "MigPending", STRING, mig_pending, CHANGES, MAY) /* after a reset */                  \
	X(S, "PowerState", STRING, power_state, CHANGES, MAY)                                      \
	X(S, "Health", STRING, health, CHANGES, MAY)                                               \
	X(S, "HealthReason", STRING, health_reason, CHANGES, MAY)                                  \
	X(S, "LinkWidth", UINT32, link_width, CHANGES, MAY) /* lanes */                            \
	X(S, "LinkSpeed", STRING, link_speed, CHANGES, MAY)                                        \
	X(S, "MaxLinkWidth", UINT32, max_link_width, CHANGES, MAY) /* lanes */                     \
	X(S, "MaxLinkSpeed", STRING, max_link_speed, CHANGES, MAY)                                 \
	X(S, "AerCorrectable", UINT64, aer_correctable, CHANGES, MAY)                              \
	X(S, "AerNonFatal", UINT64, aer_nonfatal, CHANGES, MAY)                                    \
	X(S, "AerFatal", UINT64, aer_fatal, CHANGES, MAY)                                          \
	X(S, "Uuid", STRING, uuid, CHANGES, MAY)                                                   \
	X(S, "SerialNumber", STRING, serial_number, CHANGES, MAY)                                  \
	X(S, "TenantState", STRING, tenant_state, CHANGES, MAY)                                    \
	X(S, "Tenant", STRING, tenant, CHANGES, MAY) /* UUID of who had it last */                 \
	X(S, "TenantName", STRING, tenant_name, CHANGES, MAY)                                      \
	X(S, "TenantReason", STRING, tenant_reason, CHANGES, MAY)                                  \
	X(S, "Group", PATH, group, CHANGES, MAY)

#define GPUPASS_ASSIGNMENT_PROPERTIES(X, S)                                                        \
	X(S, "DomainName", STRING, domain_name, CHANGES, MUST)                                     \
	X(S, "DomainUuid", STRING, domain_uuid, CONST, MUST)                                       \
	X(S, "GroupName", STRING, group_name, CHANGES, MUST)                                       \
	X(S, "Group", PATH, group, CHANGES, MAY)                                                   \
	X(S, "Applies", STRINGS, applies, CHANGES, MAY) /* fit, numa */                            \
	X(S, "Functions", STRINGS, functions, CONST, MAY)                                          \
	X(S, "CreatedAt", UINT64, created_at, CONST, MAY)                                          \
	X(S, "CreatedByUid", UINT32, created_by_uid, CONST, MAY)

#define GPUPASS_JOB_PROPERTIES(X, S)                                                               \
	X(S, "Id", UINT32, id, CONST, MUST)                                                        \
	X(S, "Operation", STRING, operation, CONST, MAY)                                           \
	X(S, "GroupName", STRING, group_name, CHANGES, MAY)                                        \
	X(S, "DomainName", STRING, domain_name, CHANGES, MAY)                                      \
	X(S, "DomainUuid", STRING, domain_uuid, CHANGES, MAY)                                      \
	X(S, "State", STRING, state, CHANGES, MUST)                                                \
	X(S, "Steps", STEPS, steps, CHANGES, MAY)                                                  \
	X(S, "Changed", BOOL, changed, CHANGES, MAY)                                               \
	X(S, "ErrorName", STRING, error_name, CHANGES, MAY)                                        \
	X(S, "ErrorMessage", LINES, error_message, CHANGES, MAY)                                   \
	X(S, "Warnings", STRINGS, warnings, CHANGES, MAY)                                          \
	X(S, "CreatedAt", UINT64, created_at, CONST, MAY)                                          \
	X(S, "DurationUsec", UINT64, duration_usec, CHANGES, MAY)                                  \
	X(S, "CallerUid", UINT32, caller_uid, CONST, MAY)                                          \
	X(S, "Result", STRING, result, CHANGES, MAY) /* JSON, of some operations */                \
	X(S, "CancelRequested", BOOL, cancel_requested, CHANGES, MAY)                              \
	X(S, "CancelledByUid", UINT32, cancelled_by_uid, CHANGES, MAY) /* where it was */
