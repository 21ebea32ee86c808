/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Placement counts whole groups, so that a machine lands on a node that has a free one. Which
 * boards it gets there is decided by nova's PCI tracker, which knows no groups.
 */

#include "base/text.h"
#include "export/export.h"

static const char limits[] =
	"# What Nova cannot express: that the GPUs of a request belong together. Its PCI tracker takes\n"
	"# any free ones of the model, so a machine may get GPUs of two groups, even where the\n"
	"# resource class says that a whole group is free. It is right only where a machine\n"
	"# takes all GPUs of the model that a node has. If the groups are declared with\n"
	"# ForeignUse=yes, gpupass-hook(8) keeps a machine with a part of a group from starting.\n"
	"# For nova.conf: device_spec on this node; alias on it and where nova-api runs. Where\n"
	"# /sys/bus/pci/devices/ADDRESS/sriov_totalvfs exists, device_type must be type-PF.\n"
	"# Releases that know it take \"managed\": \"no\" in device_spec: then the drivers stay as\n"
	"# gpupass has bound them.\n"
	"# [pci]\n";

/* Groups that are alike are one resource class: CUSTOM_GPUPASS_RTX_A6000_X2. */
static bool is_alike(const ExportGroup *a, const ExportGroup *b)
{
	return strcmp(a->model, b->model) == 0 && a->n_gpus == b->n_gpus;
}

static bool is_first(const Export *e, size_t i)
{
	return !SOME(e->groups, i, is_alike(it, &e->groups[i]));
}

static size_t count(const Export *e, size_t i, bool held)
{
	return COUNT(e->groups, e->n_groups, is_alike(it, &e->groups[i]) && (!held || it->held));
}

static void print_inventory(FILE *to, const Export *e, size_t i)
{
	_cleanup_free_ char *model = export_capitals(e->groups[i].model);
	size_t n = count(e, i, false);

	fprintf(to,
		"    - CUSTOM_GPUPASS_%s_X%zu:\n"
		"        total: %zu\n"
		"        reserved: %zu\n"
		"        min_unit: 1\n"
		"        max_unit: %zu\n"
		"        step_size: 1\n"
		"        allocation_ratio: 1.0\n",
		model, e->groups[i].n_gpus, n, count(e, i, true), n);
}

static void add_once(char ***list, char *text)
{
	if (!strv_contains(*list, text))
		strv_append(list, text);
}

static void add_traits(const ExportGroup *group, char ***traits)
{
	_cleanup_free_ char *word = export_capitals(group->model);
	_cleanup_free_ char *model = strf("CUSTOM_GPUPASS_%s", word);
	_cleanup_free_ char *generation =
		strf("CUSTOM_GPUPASS_NVLINK_%u", group->gpus[0].nvlink_generation);
	_cleanup_free_ char *links = strf("CUSTOM_GPUPASS_LINKS_%u", group->links);

	add_once(traits, model);

	/* A GPU alone has no links, whatever its board could have. */
	if (group->n_gpus == 1)
		return;
	if (group->gpus[0].nvlink_generation > 0)
		add_once(traits, generation);
	if (group->links > 0)
		add_once(traits, links);
}

static void print_provider(FILE *to, const Export *e)
{
	_cleanup_strv_ char **traits = NULL;

	fputs("meta:\n"
	      "  schema_version: '1.0'\n"
	      "providers:\n"
	      "- identification:\n"
	      "    uuid: '$COMPUTE_NODE'\n"
	      "  inventories:\n"
	      "    additional:\n",
	      to);
	for (size_t i = 0; i < e->n_groups; i++) {
		if (is_first(e, i))
			print_inventory(to, e, i);
		add_traits(&e->groups[i], &traits);
	}
	fputs("  traits:\n"
	      "    additional:\n",
	      to);
	for (char **trait = traits; trait && *trait; trait++)
		fprintf(to, "    - %s\n", *trait);
}

static void print_device(FILE *to, const ExportGpu *gpu)
{
	const Bdf *a = &gpu->functions[0];

	if (a->segment > UINT16_MAX)
		fprintf(to, "# left out, since Nova takes no segment above ffff: %s\n",
			BDF_TEXT(a));
	else
		fprintf(to,
			"# device_spec = {\"vendor_id\": \"%04x\", \"product_id\": \"%04x\", "
			"\"address\": \"%s\"}\n",
			gpu->vendor_id, gpu->device_id, BDF_TEXT(a));
}

static void print_alias(FILE *to, const ExportGroup *group)
{
	_cleanup_free_ char *model = export_capitals(group->model);

	fprintf(to,
		"# alias = {\"name\": \"gpupass-%s\", \"vendor_id\": \"%04x\", \"product_id\": "
		"\"%04x\", \"device_type\": \"type-PCI\"}\n",
		model, group->gpus[0].vendor_id, group->gpus[0].device_id);
}

/* What a flavor needs for one group of this kind. */
static void print_flavor(FILE *to, const ExportGroup *group)
{
	_cleanup_free_ char *model = export_capitals(group->model);

	fprintf(to,
		"# Properties of a flavor for one group: resources:CUSTOM_GPUPASS_%s_X%zu=1 "
		"pci_passthrough:alias=gpupass-%s:%zu\n",
		model, group->n_gpus, model, group->n_gpus);
}

static void print_devices(FILE *to, const ExportGroup *group)
{
	if (group->held)
		fprintf(to, "# left out, since gpupass has assigned it: %s\n", group->name);
	for (size_t i = 0; !group->held && i < group->n_gpus; i++)
		print_device(to, &group->gpus[i]);
}

void export_nova(FILE *to, const Export *e)
{
	print_provider(to, e);
	fputs(limits, to);
	for (size_t i = 0; i < e->n_groups; i++)
		print_devices(to, &e->groups[i]);
	for (size_t i = 0; i < e->n_groups; i++)
		if (!SOME(e->groups, i, strcmp(it->model, e->groups[i].model) == 0))
			print_alias(to, &e->groups[i]);
	for (size_t i = 0; i < e->n_groups; i++)
		if (is_first(e, i))
			print_flavor(to, &e->groups[i]);
}
