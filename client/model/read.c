/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a{sv} to structs, by one table for each kind. A property of an unexpected type is an error
 * that names it; an unknown property is skipped, so that a newer daemon can add properties. value.c
 * has the values.
 */
#include <string.h>

#include "base/text.h"
#include "bus/bus.h"
#include "model/value.h"

typedef enum PropertyFlags {
	PROPERTY_REQUIRED = 1 << 0, /* the object means nothing without it */
	PROPERTY_LINES = 1 << 1,    /* text of several lines */
} PropertyFlags;

typedef struct Property {
	const char *name;
	const char *signature;
	size_t offset;
	unsigned flags;
} Property;

#define PROPERTIES_MAX 64 /* the mask's bits of the properties seen */

#define P(Type, name, signature, member, flags)                                                    \
	{                                                                                          \
		name, signature, offsetof(Type, member), flags                                     \
	}

static const Property manager_properties[] = {
	P(Manager, "Version", "s", version, 0),
	P(Manager, "LibvirtConnected", "b", libvirt_connected, 0),
	P(Manager, "IommuEnabled", "b", iommu_enabled, 0),
	P(Manager, "ScannedAt", "t", scanned_at, 0),
	P(Manager, "Notes", "as", notes, 0),
};

static const Property group_properties[] = {
	P(Group, "Name", "s", name, PROPERTY_REQUIRED),
	P(Group, "State", "s", state, PROPERTY_REQUIRED),
	P(Group, "Reason", "s", reason, 0),
	P(Group, "Provenance", "s", provenance, 0),
	P(Group, "Source", "s", source, 0),
	P(Group, "Reasoning", "s", reasoning, 0),
	P(Group, "Evidence", "a(suts)", evidence, 0),
	P(Group, "EvidenceAt", "t", evidence_at, 0),
	P(Group, "Model", "s", model, 0),
	P(Group, "Link", "s", link, 0),
	P(Group, "Links", "u", links, 0),
	P(Group, "LinksExpected", "u", links_expected, 0),
	P(Group, "Gpus", "ao", gpus, 0),
	P(Group, "GpuAddresses", "as", gpu_addresses, PROPERTY_REQUIRED),
	P(Group, "Functions", "as", functions, 0),
	P(Group, "IommuGroups", "ai", iommu_groups, 0),
	P(Group, "NumaNodes", "ai", numa_nodes, 0),
	P(Group, "Driver", "s", driver, 0),
	P(Group, "DomainName", "s", domain_name, 0),
	P(Group, "DomainUuid", "s", domain_uuid, 0),
	P(Group, "Assignable", "b", assignable, 0),
	P(Group, "Job", "o", job, 0),
	P(Group, "TenantState", "s", tenant_state, 0),
	P(Group, "Verified", "s", verified, 0),
	P(Group, "VerifiedAt", "t", verified_at, 0),
};

static const Property gpu_properties[] = {
	P(Gpu, "Address", "s", address, PROPERTY_REQUIRED),
	P(Gpu, "Name", "s", name, 0),
	P(Gpu, "Model", "s", model, 0),
	P(Gpu, "VendorId", "q", vendor_id, 0),
	P(Gpu, "DeviceId", "q", device_id, 0),
	P(Gpu, "SubsystemVendorId", "q", subsystem_vendor_id, 0),
	P(Gpu, "SubsystemDeviceId", "q", subsystem_device_id, 0),
	P(Gpu, "Nvlink", "s", nvlink, 0),
	P(Gpu, "NvlinkNote", "s", nvlink_note, 0),
	P(Gpu, "NvlinkGeneration", "u", nvlink_generation, 0),
	P(Gpu, "NvlinkLinks", "u", nvlink_links, 0),
	P(Gpu, "NvlinkGroupSize", "u", nvlink_group_size, 0),
	P(Gpu, "Functions", "a(ssiu)", functions, 0),
	P(Gpu, "Driver", "s", driver, 0),
	P(Gpu, "IommuGroup", "i", iommu_group, 0),
	P(Gpu, "NumaNode", "i", numa_node, 0),
	P(Gpu, "PhysicalSlot", "s", physical_slot, 0),
	P(Gpu, "UpstreamPath", "as", upstream_path, 0),
	P(Gpu, "BarSizes", "at", bar_sizes, 0),
	P(Gpu, "ResetMethods", "as", reset_methods, 0),
	P(Gpu, "BootVga", "b", boot_vga, 0),
	P(Gpu, "VirtualFunctions", "b", virtual_functions, 0),
	P(Gpu, "PowerState", "s", power_state, 0),
	P(Gpu, "Health", "s", health, 0),
	P(Gpu, "HealthReason", "s", health_reason, 0),
	P(Gpu, "LinkWidth", "u", link_width, 0),
	P(Gpu, "LinkSpeed", "s", link_speed, 0),
	P(Gpu, "MaxLinkWidth", "u", max_link_width, 0),
	P(Gpu, "MaxLinkSpeed", "s", max_link_speed, 0),
	P(Gpu, "AerCorrectable", "t", aer_correctable, 0),
	P(Gpu, "AerNonFatal", "t", aer_nonfatal, 0),
	P(Gpu, "AerFatal", "t", aer_fatal, 0),
	P(Gpu, "Uuid", "s", uuid, 0),
	P(Gpu, "SerialNumber", "s", serial_number, 0),
	P(Gpu, "TenantState", "s", tenant_state, 0),
	P(Gpu, "Tenant", "s", tenant, 0),
	P(Gpu, "TenantName", "s", tenant_name, 0),
	P(Gpu, "TenantReason", "s", tenant_reason, 0),
	P(Gpu, "Group", "o", group, 0),
};

static const Property assignment_properties[] = {
	P(Assignment, "DomainName", "s", domain_name, PROPERTY_REQUIRED),
	P(Assignment, "DomainUuid", "s", domain_uuid, PROPERTY_REQUIRED),
	P(Assignment, "GroupName", "s", group_name, PROPERTY_REQUIRED),
	P(Assignment, "Group", "o", group, 0),
	P(Assignment, "Applies", "as", applies, 0),
	P(Assignment, "Functions", "as", functions, 0),
	P(Assignment, "CreatedAt", "t", created_at, 0),
	P(Assignment, "CreatedByUid", "u", created_by_uid, 0),
};

static const Property job_properties[] = {
	P(Job, "Id", "u", id, PROPERTY_REQUIRED),
	P(Job, "Operation", "s", operation, 0),
	P(Job, "GroupName", "s", group_name, 0),
	P(Job, "DomainName", "s", domain_name, 0),
	P(Job, "DomainUuid", "s", domain_uuid, 0),
	P(Job, "State", "s", state, PROPERTY_REQUIRED),
	P(Job, "Steps", "a(ssst)", steps, 0),
	P(Job, "Changed", "b", changed, 0),
	P(Job, "ErrorName", "s", error_name, 0),
	P(Job, "ErrorMessage", "s", error_message, PROPERTY_LINES),
	P(Job, "Warnings", "as", warnings, 0),
	P(Job, "CreatedAt", "t", created_at, 0),
	P(Job, "DurationUsec", "t", duration_usec, 0),
	P(Job, "CallerUid", "u", caller_uid, 0),
	P(Job, "Result", "s", result, 0),
};

static const struct {
	const char *interface;
	const Property *properties;
	size_t n_properties;
} kinds[] = {
	[OBJECT_MANAGER] = { GPUPASS_IFACE_MANAGER, manager_properties,
			     ELEMENTS(manager_properties) },
	[OBJECT_GROUP] = { GPUPASS_IFACE_GROUP, group_properties, ELEMENTS(group_properties) },
	[OBJECT_GPU] = { GPUPASS_IFACE_GPU, gpu_properties, ELEMENTS(gpu_properties) },
	[OBJECT_ASSIGNMENT] = { GPUPASS_IFACE_ASSIGNMENT, assignment_properties,
				ELEMENTS(assignment_properties) },
	[OBJECT_JOB] = { GPUPASS_IFACE_JOB, job_properties, ELEMENTS(job_properties) },
};

const char *object_interface(ObjectKind kind)
{
	return kinds[kind].interface;
}

_Static_assert(ELEMENTS(gpu_properties) <= PROPERTIES_MAX, "the mask is too small");

static int read_property(Client *c, ObjectKind kind, sd_bus_message *m, void *object,
			 uint64_t *seen)
{
	const char *name, *contents;
	const Property *p = NULL;
	int r;

	r = sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &name);
	if (r < 0)
		return r;
	for (size_t i = 0; i < kinds[kind].n_properties; i++)
		if (strcmp(kinds[kind].properties[i].name, name) == 0) {
			p = &kinds[kind].properties[i];
			*seen |= UINT64_C(1) << i;
		}
	if (!p)
		return sd_bus_message_skip(m, "v");
	r = sd_bus_message_peek_type(m, NULL, &contents);
	if (r < 0)
		return r;
	if (strcmp(contents, p->signature) != 0) {
		_cleanup_free_ char *what =
			strf("%s.%s has the type '%s', not '%s'", kinds[kind].interface, name,
			     contents, p->signature);

		return bus_bad_reply(c, what);
	}
	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, contents);
	if (r < 0)
		return r;
	r = value_read(c, m, p->signature, p->flags & PROPERTY_LINES, (char *)object + p->offset);
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

/* A property that was not sent gets the value that means "not known". */
static int fill_missing(Client *c, ObjectKind kind, uint64_t seen, void *object)
{
	for (size_t i = 0; i < kinds[kind].n_properties; i++) {
		const Property *p = &kinds[kind].properties[i];
		void *to = (char *)object + p->offset;

		if (seen & UINT64_C(1) << i)
			continue;
		if (p->flags & PROPERTY_REQUIRED) {
			_cleanup_free_ char *what = strf("an object lacks the property %s.%s",
							 kinds[kind].interface, p->name);

			return bus_bad_reply(c, what);
		}
		if (strcmp(p->signature, "i") == 0) {
			*(int32_t *)to = -1;
		} else if (strchr("so", *p->signature) && !*(char **)to) {
			*(char **)to = strdup("");
			if (!*(char **)to)
				return -ENOMEM;
		}
	}
	return 0;
}

int object_read(Client *c, ObjectKind kind, sd_bus_message *m, bool whole, void *object)
{
	uint64_t seen = 0;
	int r;

	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
		r = read_property(c, kind, m, object, &seen);
		if (r < 0)
			return r;
		r = sd_bus_message_exit_container(m);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	r = sd_bus_message_exit_container(m);
	if (r < 0)
		return r;
	return whole ? fill_missing(c, kind, seen, object) : 0;
}

void object_clear(ObjectKind kind, void *object)
{
	char **path = object; /* the first member of every kind */

	free(*path);
	*path = NULL;
	for (size_t i = 0; i < kinds[kind].n_properties; i++) {
		const Property *p = &kinds[kind].properties[i];

		value_clear(p->signature, (char *)object + p->offset);
	}
}
