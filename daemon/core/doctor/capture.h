/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of a report of doctor as JSON, so that the report can be made again on another machine:
 * a test of a host that its makers cannot reach. Names, UUIDs and serial numbers are in it as they
 * are; the client replaces them before it writes them anywhere.
 */
#pragma once

#include "core/base/json-struct.h"
#include "core/checks/checks.h"
#include "core/links/evidence.h"

/* Limits of readers do not matter: a test reads what was written. */
DECLARE_JSON_OF(DomainHostdev, capture_hostdev, bdf, live(if_any), config(if_any), managed(if_any),
		argument(if_any), alias(if_any))
DECLARE_JSON_OF(DomainMdev, capture_mdev, uuid, live(if_any), config(if_any))
DECLARE_JSON_OF(DomainUse, capture_domain, uuid(as "domain_uuid"), disks(if_any),
		name(if_any, plain, as "domain_name"), vmid(if_any), active(if_any),
		persistent(if_any), migrated(if_any), unread(if_any, plain), unclear(if_any, plain),
		gpupass_groups, hostdevs(max SIZE_MAX, table capture_hostdev),
		mdevs(if_any, max SIZE_MAX, table capture_mdev))
DECLARE_JSON_OF(HostNode, capture_node, node, cpus(if_any), memory_bytes(max INT64_MAX))
/* Not its name, and nothing that changes from one moment to the next. */
DECLARE_JSON_OF(HostFacts, capture_machine, physical_bits, kernel_major, kernel_minor,
		memory_bytes(max INT64_MAX), cpu_vendor(if_any), virtual_machine(if_any),
		iommu_table(if_any), iommu_words, libvirt_version(if_any, max INT64_MAX),
		hypervisor_version(if_any, max INT64_MAX), nodes(max SIZE_MAX, table capture_node))
DECLARE_JSON_OF(TenantMark, capture_mark, bdf, state, domain_uuid(if_any))
DECLARE_JSON_OF(RecordFault, capture_fault, file(plain), what(as "kind"), why(plain),
		domain_uuid(if_any), functions(max GROUP_FUNCTIONS_MAX))
DECLARE_JSON_OF(LastReset, capture_reset, bdf, reset, what(if_any))

typedef struct CaptureFacts {
	const CheckFacts *doctor; /* of the host as a whole */
	const Declarations *declarations;
	const Evidence *evidence; /* NULL: none */
} CaptureFacts;

/*
 * { "schema": org.gpupass1.capture/1, "report": what doctor_report() returned, "facts": {…} };
 * org.gpupass1(5), CAPTURE, has the members.
 */
char *capture_to_json(const CaptureFacts *from, const char *report);
