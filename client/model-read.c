/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a{sv} to structs, by one table a kind. A property of another type than expected is an
 * error that names it; one that is not known here is skipped, so that a newer daemon can add
 * properties.
 */
#include <string.h>

#include "bus.h"
#include "model.h"
#include "text.h"

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

#define PROPERTIES_MAX 64 /* bits of the mask of those seen */

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
	P(Gpu, "Group", "o", group, 0),
};

static const Property assignment_properties[] = {
	P(Assignment, "DomainName", "s", domain_name, PROPERTY_REQUIRED),
	P(Assignment, "DomainUuid", "s", domain_uuid, PROPERTY_REQUIRED),
	P(Assignment, "GroupName", "s", group_name, PROPERTY_REQUIRED),
	P(Assignment, "Group", "o", group, 0),
	P(Assignment, "Functions", "as", functions, 0),
	P(Assignment, "CreatedAt", "t", created_at, 0),
	P(Assignment, "CreatedByUid", "u", created_by_uid, 0),
};

static const Property job_properties[] = {
	P(Job, "Id", "u", id, PROPERTY_REQUIRED),
	P(Job, "Operation", "s", operation, 0),
	P(Job, "GroupName", "s", group_name, 0),
	P(Job, "DomainName", "s", domain_name, 0),
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

char *model_text(Client *c, const char *s, bool lines)
{
	if (c->options->json != JSON_OFF) /* which does its own escaping */
		return strdup(s);
	return lines ? text_printable_lines(s) : text_printable(s);
}

static int read_text(Client *c, sd_bus_message *m, char type, unsigned flags, char **to)
{
	const char *s;
	char *copy;
	int r;

	r = sd_bus_message_read_basic(m, type, &s);
	if (r < 0)
		return r;
	copy = model_text(c, s, flags & PROPERTY_LINES);
	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int read_texts(Client *c, sd_bus_message *m, const char *type, char ***to)
{
	_cleanup_strv_ char **list = NULL;
	const char *s;
	int r;

	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, type);
	if (r < 0)
		return r;
	while ((r = sd_bus_message_read_basic(m, *type, &s)) > 0) {
		_cleanup_free_ char *copy = model_text(c, s, false);

		r = copy ? strv_append(&list, copy) : -ENOMEM;
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	strv_free(*to);
	*to = TAKE_PTR(list);
	return sd_bus_message_exit_container(m);
}

static int read_array(sd_bus_message *m, char type, void **items, size_t *n_items, size_t size)
{
	const void *data;
	size_t bytes;
	void *copy;
	int r;

	r = sd_bus_message_read_array(m, type, &data, &bytes);
	if (r < 0)
		return r;
	copy = malloc(bytes > 0 ? bytes : 1);
	if (!copy)
		return -ENOMEM;
	if (bytes > 0)
		memcpy(copy, data, bytes);
	free(*items);
	*items = copy;
	*n_items = bytes / size;
	return 0;
}

static void functions_clear(FunctionList *l)
{
	for (size_t i = 0; i < l->n_items; i++) {
		free(l->items[i].address);
		free(l->items[i].driver);
	}
	free(l->items);
	*l = (FunctionList){ 0 };
}

static FunctionList functions_take(FunctionList *from)
{
	FunctionList list = *from;

	*from = (FunctionList){ 0 };
	return list;
}

static int read_functions(Client *c, sd_bus_message *m, FunctionList *to)
{
	_cleanup_(functions_clear) FunctionList list = { 0 };
	const char *address, *driver;
	int32_t iommu_group;
	uint32_t class_code;
	int r;

	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "(ssiu)");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_read(m, "(ssiu)", &address, &driver, &iommu_group,
					&class_code)) > 0) {
		Function *bigger = reallocarray(list.items, list.n_items + 1, sizeof(Function));

		if (!bigger)
			return -ENOMEM;
		list.items = bigger;
		list.items[list.n_items++] = (Function){ .address = model_text(c, address, false),
							 .driver = model_text(c, driver, false),
							 .iommu_group = iommu_group,
							 .class_code = class_code };
		if (!list.items[list.n_items - 1].address || !list.items[list.n_items - 1].driver)
			return -ENOMEM;
	}
	if (r < 0)
		return r;
	functions_clear(to);
	*to = functions_take(&list);
	return sd_bus_message_exit_container(m);
}

static void steps_clear(StepList *l)
{
	for (size_t i = 0; i < l->n_items; i++) {
		free(l->items[i].name);
		free(l->items[i].state);
		free(l->items[i].detail);
	}
	free(l->items);
	*l = (StepList){ 0 };
}

static StepList steps_take(StepList *from)
{
	StepList list = *from;

	*from = (StepList){ 0 };
	return list;
}

static int read_steps(Client *c, sd_bus_message *m, StepList *to)
{
	_cleanup_(steps_clear) StepList list = { 0 };
	const char *name, *state, *detail;
	uint64_t usec;
	int r;

	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "(ssst)");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_read(m, "(ssst)", &name, &state, &detail, &usec)) > 0) {
		Step *bigger = reallocarray(list.items, list.n_items + 1, sizeof(Step)), *step;

		if (!bigger)
			return -ENOMEM;
		list.items = bigger;
		step = &list.items[list.n_items++];
		*step = (Step){ .name = model_text(c, name, false),
				.state = model_text(c, state, false),
				.detail = model_text(c, detail, false),
				.duration_usec = usec };
		if (!step->name || !step->state || !step->detail)
			return -ENOMEM;
	}
	if (r < 0)
		return r;
	steps_clear(to);
	*to = steps_take(&list);
	return sd_bus_message_exit_container(m);
}

static void evidence_clear(EvidenceList *l)
{
	for (size_t i = 0; i < l->n_items; i++) {
		free(l->items[i].provenance);
		free(l->items[i].source);
	}
	free(l->items);
	*l = (EvidenceList){ 0 };
}

static EvidenceList evidence_take(EvidenceList *from)
{
	EvidenceList list = *from;

	*from = (EvidenceList){ 0 };
	return list;
}

static int read_evidence(Client *c, sd_bus_message *m, EvidenceList *to)
{
	_cleanup_(evidence_clear) EvidenceList list = { 0 };
	const char *provenance, *source;
	uint32_t links;
	uint64_t seen_at;
	int r;

	r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "(suts)");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_read(m, "(suts)", &provenance, &links, &seen_at, &source)) > 0) {
		Evidence *bigger = reallocarray(list.items, list.n_items + 1, sizeof(Evidence)),
			 *item;

		if (!bigger)
			return -ENOMEM;
		list.items = bigger;
		item = &list.items[list.n_items++];
		*item = (Evidence){ .provenance = model_text(c, provenance, false),
				    .links = links,
				    .seen_at = seen_at,
				    .source = model_text(c, source, false) };
		if (!item->provenance || !item->source)
			return -ENOMEM;
	}
	if (r < 0)
		return r;
	evidence_clear(to);
	*to = evidence_take(&list);
	return sd_bus_message_exit_container(m);
}

static int read_bool(sd_bus_message *m, bool *to)
{
	int value, r;

	r = sd_bus_message_read_basic(m, SD_BUS_TYPE_BOOLEAN, &value);
	if (r >= 0)
		*to = value;
	return r;
}

static int read_int_list(sd_bus_message *m, IntList *to)
{
	void *items = to->items;
	int r;

	r = read_array(m, SD_BUS_TYPE_INT32, &items, &to->n_items, sizeof(*to->items));
	to->items = items;
	return r;
}

static int read_size_list(sd_bus_message *m, SizeList *to)
{
	void *items = to->items;
	int r;

	r = read_array(m, SD_BUS_TYPE_UINT64, &items, &to->n_items, sizeof(*to->items));
	to->items = items;
	return r;
}

static int read_value(Client *c, sd_bus_message *m, const Property *p, void *to)
{
	const char *s = p->signature;

	if (strcmp(s, "s") == 0 || strcmp(s, "o") == 0)
		return read_text(c, m, *s, p->flags, to);
	if (strcmp(s, "b") == 0)
		return read_bool(m, to);
	if (strcmp(s, "as") == 0 || strcmp(s, "ao") == 0)
		return read_texts(c, m, s + 1, to);
	if (strcmp(s, "ai") == 0)
		return read_int_list(m, to);
	if (strcmp(s, "at") == 0)
		return read_size_list(m, to);
	if (strcmp(s, "a(ssiu)") == 0)
		return read_functions(c, m, to);
	if (strcmp(s, "a(ssst)") == 0)
		return read_steps(c, m, to);
	if (strcmp(s, "a(suts)") == 0)
		return read_evidence(c, m, to);
	return sd_bus_message_read_basic(m, *s, to); /* q, i, u, t */
}

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
	r = read_value(c, m, p, (char *)object + p->offset);
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

/* What was not sent gets the value that means "not known". */
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
		void *at = (char *)object + p->offset;

		if (strcmp(p->signature, "s") == 0 || strcmp(p->signature, "o") == 0) {
			free(*(char **)at);
			*(char **)at = NULL;
		} else if (strcmp(p->signature, "as") == 0 || strcmp(p->signature, "ao") == 0) {
			*(char ***)at = strv_free(*(char ***)at);
		} else if (strcmp(p->signature, "ai") == 0) {
			free(((IntList *)at)->items);
			*(IntList *)at = (IntList){ 0 };
		} else if (strcmp(p->signature, "at") == 0) {
			free(((SizeList *)at)->items);
			*(SizeList *)at = (SizeList){ 0 };
		} else if (strcmp(p->signature, "a(ssiu)") == 0) {
			functions_clear(at);
		} else if (strcmp(p->signature, "a(ssst)") == 0) {
			steps_clear(at);
		} else if (strcmp(p->signature, "a(suts)") == 0) {
			evidence_clear(at);
		}
	}
}
