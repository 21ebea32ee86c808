/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/text.h"
#include "export/engines.h"
#include "export/text.h"

/* Of the part of a resource's name behind the '/'. */
#define NAME_MAX_LENGTH 63

static const char head[] =
	"# From gpupass export: which PCI devices virtual machines may ask for. Put it into the\n"
	"# KubeVirt resource, beside what its list has already:\n"
	"#   kubectl -n kubevirt edit kubevirt kubevirt\n"
	"# KubeVirt cannot say \"pair\": it counts GPUs of a model, and gives a machine any that are\n"
	"# free. A machine that asks for two may get two of different groups, without a bridge\n"
	"# between them, and so split both groups. It gets whole ones only on nodes with one group\n"
	"# of the model, or if it asks for all GPUs of the model that its node has.\n"
	"# The functions must be on vfio-pci, as after gpupass bind --persist.\n";

static bool is_same_model(const ExportGpu *a, const ExportGpu *b)
{
	return a->vendor_id == b->vendor_id && a->device_id == b->device_id;
}

/* An earlier one was of the same model. */
static bool is_printed(const Export *e, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_same_model(export_gpu(e, k), export_gpu(e, i)))
			return true;
	return false;
}

static void print_model(FILE *to, const ExportGpu *gpu)
{
	_cleanup_free_ char *word = export_word(gpu->name);

	if (strlen(word) > NAME_MAX_LENGTH)
		word[NAME_MAX_LENGTH - (word[NAME_MAX_LENGTH - 1] == '_')] = '\0';
	fprintf(to,
		"      - pciVendorSelector: \"%04X:%04X\"\n"
		"        resourceName: \"nvidia.com/%s\"\n",
		gpu->vendor_id, gpu->device_id, *word ? word : "GPU");
}

void export_kubevirt(FILE *to, const Export *e)
{
	const ExportGpu *gpu;

	fputs(head, to);
	export_print_groups(to, e, "# ");
	fputs("spec:\n"
	      "  configuration:\n"
	      "    permittedHostDevices:\n"
	      "      pciHostDevices:\n",
	      to);
	for (size_t i = 0; (gpu = export_gpu(e, i)); i++)
		if (!is_printed(e, i))
			print_model(to, gpu);
}
