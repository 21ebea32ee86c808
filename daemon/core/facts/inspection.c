/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/inspection.h"

#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/xalloc.h"

/* Any user can make very many of them. */
#define UNSEEN_TOLD_MAX 8

const FunctionFacts *inspection_find(const Inspection *inspection, const Bdf *bdf)
{
	return BDF_FIND(inspection->functions, inspection->n_functions, bdf);
}

static bool is_one_of(const char *driver, const char *const *drivers, size_t n)
{
	return SOME_OF(drivers, n, str_equal(driver, it));
}

bool function_facts_driver_is_usual(const FunctionFacts *facts)
{
	static const char *const of_boards[] = {
		"nvidia", "nouveau", "NovaCore", "snd_hda_intel", "xhci_hcd", "nvidia-gpu",
	};
	/* A NIC or an NVMe is on its own, unless it is kept from that, or DPDK has it. */
	static const char *const of_no_maker[] = {
		"pci-stub",
		"xen-pciback",
		"uio_pci_generic",
		"igb_uio",
	};

	if (!facts->driver || function_facts_on_vfio(facts))
		return true;
	return facts->network || facts->nvme
		       ? !is_one_of(facts->driver, of_no_maker, ELEMENTS(of_no_maker))
		       : is_one_of(facts->driver, of_boards, ELEMENTS(of_boards));
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

static char *unseen_text(const Unseen *unseen)
{
	static const char *const reasons[] = { UNSEEN_REASONS(STRING_TABLE_WORDS_) };

	return strf("whether %s (pid %ld, uid %lu) holds a device is not known: %s",
		    str_or_empty(unseen->command), (long)unseen->pid, (unsigned long)unseen->uid,
		    reasons[unseen->reason]);
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

static void vgpu_vf_write(json_t *o, const char *key, const void *function)
{
	const FunctionFacts *facts = function;

	if (facts->vgpus > 0)
		json_set_bdf(o, key, &facts->vgpu_vf);
}

static void vgpu_vf_read(JsonReader *reader, const char *key, void *of)
{
	FunctionFacts *facts = of;

	if (facts->vgpus > 0)
		json_read_bdf(reader, key, &facts->vgpu_vf);
	else if (json_object_get(reader->object, key))
		json_reader_fail(reader, key, "is of no vGPU");
}

#include "inspection.inc"

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
