/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/engines.h"
#include "export/text.h"

/* Four bits of the capability that Cloud Hypervisor adds to the GPU's configuration space. */
#define CLIQUES 16

static const char head[] =
	"#!/bin/sh\n"
	"# From gpupass export. It starts Cloud Hypervisor with the GPUs, and with the arguments\n"
	"# that it gets itself: sh FILE --memory size=64G ... The functions must be on vfio-pci,\n"
	"# as after gpupass bind.\n"
	"# A clique tells the guest's driver that its GPUs may also reach each other over PCIe.\n"
	"# NVLink does not need it; where the host's PCIe ports do not route between the GPUs\n"
	"# (gpupass topology), take x_nv_gpudirect_clique out.\n";

static void print_gpu(FILE *to, const ExportGpu *gpu, size_t clique)
{
	for (size_t i = 0; i < gpu->n_functions; i++) {
		fprintf(to, " \\\n\t\tpath=/sys/bus/pci/devices/" ADDRESS_FORMAT "/",
			ADDRESS_ARGUMENTS(&gpu->functions[i]));
		if (i == 0 && clique < CLIQUES)
			fprintf(to, ",x_nv_gpudirect_clique=%zu", clique);
	}
}

/* One option with many values: older versions do not take it twice. */
void export_cloud_hypervisor(FILE *to, const Export *e)
{
	fputs(head, to);
	export_print_groups(to, e, "# ");
	fputs("exec cloud-hypervisor \"$@\" \\\n\t--device", to);
	for (size_t i = 0; i < e->n_groups; i++)
		for (size_t k = 0; k < e->groups[i].n_gpus; k++)
			print_gpu(to, &e->groups[i].gpus[k], i);
	fputc('\n', to);
}
