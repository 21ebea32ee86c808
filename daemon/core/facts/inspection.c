/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/inspection.h"

#include <string.h>

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FUNCTIONS_MAX 4096
#define HOLDERS_MAX 65536
#define BAR_HOLDERS_MAX 64
#define UNSEEN_MAX 4096
/* Any user can make very many of them. */
#define UNSEEN_TOLD_MAX 8

DEFINE_STRING_TABLE(unseen_reason, UnseenReason, UNSEEN_REASONS)

const FunctionFacts *inspection_find(const Inspection *inspection, const Bdf *bdf)
{
	for (size_t i = 0; i < inspection->n_functions; i++)
		if (bdf_equal(&inspection->functions[i].bdf, bdf))
			return &inspection->functions[i];
	return NULL;
}

bool function_facts_driver_is_usual(const FunctionFacts *facts)
{
	static const char *const drivers[] = {
		"nvidia", "nouveau", "NovaCore", "snd_hda_intel", "xhci_hcd", "nvidia-gpu",
	};

	if (!facts->driver || function_facts_on_vfio(facts))
		return true;
	for (size_t i = 0; i < ELEMENTS(drivers); i++)
		if (str_equal(facts->driver, drivers[i]))
			return true;
	return false;
}

bool inspection_excuse(Inspection *inspection, const Bdf *bdf, pid_t pid)
{
	bool found = false;

	for (size_t i = 0; pid > 0 && i < inspection->n_holders; i++) {
		Holder *holder = &inspection->holders[i];

		if (holder->vfio || holder->pid != pid || !bdf_equal(&holder->bdf, bdf))
			continue;
		holder->lets_go = true;
		found = true;
	}
	for (size_t i = 0; pid > 0 && i < inspection->n_unseen; i++)
		found |= inspection->unseen[i].pid == pid;
	return found;
}

char *holder_text(const Holder *holder)
{
	return strf("%s: %s by %s (pid %ld%s%s%s%s)", BDF_TEXT(&holder->bdf),
		    str_or_empty(holder->path), str_or_empty(holder->command), (long)holder->pid,
		    holder->unit ? ", unit " : "", str_or_empty(holder->unit),
		    holder->container ? ", container " : "", str_or_empty(holder->container));
}

static const char *unseen_what(UnseenReason reason)
{
	switch (reason) {
	case UNSEEN_REFUSED:
		return "the kernel does not let gpupass look into it";
	case UNSEEN_FILES:
		return "its open files could not all be looked at in time";
	case UNSEEN_MAPPINGS:
		return "its memory mappings could not all be looked at in time";
	case UNSEEN_MOVING:
		return "its memory mappings changed whenever they were looked at";
	case UNSEEN_VFIO_DEVICE:
		return "it has a device of vfio open, and this kernel does not tell which";
	}
	return "";
}

static char *unseen_text(const Unseen *unseen)
{
	return strf("whether %s (pid %ld, uid %lu) holds a device is not known: %s",
		    str_or_empty(unseen->command), (long)unseen->pid, (unsigned long)unseen->uid,
		    unseen_what(unseen->reason));
}

void inspection_tell_unseen(const Inspection *inspection, char ***lines)
{
	size_t n = inspection->n_unseen < UNSEEN_TOLD_MAX ? inspection->n_unseen : UNSEEN_TOLD_MAX;

	for (size_t i = 0; i < n; i++)
		strv_append_take(lines, unseen_text(&inspection->unseen[i]));
	if (inspection->all_unseen > n)
		strv_appendf(lines, "whether %zu more processes hold a device is not known either",
			     inspection->all_unseen - n);
}

static void write_vgpu_vf(json_t *o, const char *key, const void *function)
{
	const FunctionFacts *facts = function;

	if (facts->vgpus > 0)
		json_set_bdf(o, key, &facts->vgpu_vf);
}

static void read_vgpu_vf(JsonReader *reader, const char *key, void *of)
{
	FunctionFacts *facts = of;

	if (facts->vgpus > 0)
		json_read_bdf(reader, key, &facts->vgpu_vf);
	else if (json_object_get(reader->object, key))
		json_reader_fail(reader, key, "is of no vGPU");
}

static const JsonMember bar_holder_members[] = {
	JSON_INDEX_IF_ANY(BarHolder, bar),
	JSON_PLAIN_IF_ANY(BarHolder, name),
	JSON_END,
};

static const JsonMember function_members[] = {
	JSON_BDF(FunctionFacts, bdf),
	JSON_TEXT_IF_ANY(FunctionFacts, driver),
	JSON_BOOL_IF_ANY(FunctionFacts, vfio_dev),
	JSON_PLAIN_IF_ANY(FunctionFacts, driver_override),
	JSON_NUMBER_OR_0(FunctionFacts, num_vfs, UINT32_MAX),
	JSON_NUMBER_IF_ANY(FunctionFacts, vgpus, UINT16_MAX),
	JSON_NUMBER_IF_ANY(FunctionFacts, vgpu_type, UINT32_MAX),
	JSON_OTHER("vgpu_vf", read_vgpu_vf, write_vgpu_vf),
	JSON_TEXT_IF_ANY(FunctionFacts, uuid),
	JSON_INDEX_IF_ANY(FunctionFacts, device_minor),
	JSON_TEXT_IF_ANY(FunctionFacts, serial_number),
	JSON_TEXT_IF_ANY(FunctionFacts, link_speed),
	JSON_TEXT_IF_ANY(FunctionFacts, link_speed_max),
	JSON_NUMBER_OR_0(FunctionFacts, link_width, UINT32_MAX),
	JSON_NUMBER_OR_0(FunctionFacts, link_width_max, UINT32_MAX),
	JSON_BOOL_IF_ANY(FunctionFacts, config_all_ones),
	JSON_BOOL_IF_ANY(FunctionFacts, left_asleep),
	JSON_BOOL_IF_ANY(FunctionFacts, resource_read),
	JSON_NUMBER_IF_ANY(FunctionFacts, bars_unset, 0x3f),
	JSON_ARRAY_IF_ANY(FunctionFacts, bar_holders, BarHolder, bar_holder_members,
			  BAR_HOLDERS_MAX),
	JSON_PLAIN_IF_ANY(FunctionFacts, direct_region),
	JSON_BOOL_IF_ANY(FunctionFacts, regions_read),
	JSON_END,
};

/*
 * Any user can choose names of processes and files: prctl(PR_SET_NAME) takes any bytes. The holder
 * is reported all the same.
 */
static const JsonMember holder_members[] = {
	JSON_BDF(Holder, bdf),
	JSON_NUMBER(Holder, pid, INT32_MAX),
	JSON_PLAIN_IF_ANY(Holder, command),
	JSON_PLAIN_IF_ANY(Holder, unit),
	JSON_PLAIN_IF_ANY(Holder, container),
	JSON_PLAIN_IF_ANY(Holder, path),
	JSON_BOOL_IF_ANY(Holder, vfio),
	JSON_END,
};

static const JsonMember unseen_members[] = {
	JSON_NUMBER(Unseen, pid, INT32_MAX),
	JSON_NUMBER(Unseen, uid, UINT32_MAX),
	JSON_PLAIN_IF_ANY(Unseen, command),
	JSON_ENUM(Unseen, reason, UnseenReason, UNSEEN_REASONS, "is none that there is"),
	JSON_END,
};

/*
 * None may be absent: a missing fact must not read as "all is well". What tells of
 * obstacles is not on every host, and says itself that it is known.
 */
static const JsonMember inspection_members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_INSPECTION),
	JSON_BOOL(Inspection, vfio_pci),
	JSON_BOOL(Inspection, vfio_loadable),
	JSON_BOOL(Inspection, noiommu),
	JSON_BOOL(Inspection, unsafe_interrupts),
	JSON_BOOL_IF_ANY(Inspection, interrupts_known),
	JSON_BOOL_IF_ANY(Inspection, interrupts_remapped),
	JSON_BOOL_IF_ANY(Inspection, iomem_read),
	JSON_BOOL(Inspection, nvidia_modeset),
	JSON_TEXT_IF_ANY(Inspection, nvidia_version),
	JSON_ARRAY(Inspection, functions, FunctionFacts, function_members, FUNCTIONS_MAX),
	JSON_ARRAY(Inspection, holders, Holder, holder_members, HOLDERS_MAX),
	JSON_ARRAY(Inspection, unseen, Unseen, unseen_members, UNSEEN_MAX),
	JSON_NUMBER(Inspection, all_unseen, INT32_MAX),
	JSON_END,
};

json_t *inspection_to_json(const Inspection *inspection)
{
	return json_struct_write(inspection_members, inspection);
}

/* It travels inside another document, so json_parse_document() has not checked its schema. */
static int check_schema(const json_t *json, char **ret_message)
{
	const char *schema = NULL;

	if (json_get_string(json, "schema", &schema) >= 0 &&
	    strcmp(schema, GPUPASS_SCHEMA_INSPECTION) == 0)
		return 0;
	if (ret_message)
		*ret_message = strf("its schema is %s, not " GPUPASS_SCHEMA_INSPECTION,
				    schema ? schema : "missing");
	return -EPROTO;
}

int inspection_from_json(const json_t *json, Inspection **ret, char **ret_message)
{
	_cleanup_(inspection_freep) Inspection *inspection = NULL;
	int r = check_schema(json, ret_message);

	if (r < 0)
		return r;
	inspection = xcalloc(1, sizeof(*inspection));
	r = json_struct_read(inspection_members, json, NULL, inspection, ret_message);
	if (r >= 0)
		*ret = TAKE_PTR(inspection);
	return r;
}

Inspection *inspection_free(Inspection *inspection)
{
	if (inspection)
		json_struct_clear(inspection_members, inspection);
	free(inspection);
	return NULL;
}
