/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/engines.h"
#include "export/text.h"

static const char head[] =
	"# From gpupass export: for a machine of Proxmox VE that is off, has machine type q35, and no\n"
	"# hostpci of these numbers yet (--first=N). An address without a function means all of\n"
	"# them. One command: the machine gets all GPUs of the group, or none.\n"
	"# From Proxmox VE 9 on (qemu-server 9.0.25) append ,driver=keep to each: Proxmox then leaves\n"
	"# drivers and resets to gpupass. Without it, Proxmox resets the GPUs at each start, and\n"
	"# binds those that are not on vfio-pci yet.\n"
	"# Do not put the GPUs into one resource mapping: several paths there mean any of them.\n";

void export_proxmox(FILE *to, const Export *e)
{
	const ExportGpu *gpu;

	fputs(head, to);
	export_print_groups(to, e, "# ");
	fprintf(to, "qm set %u", e->machine);
	for (size_t i = 0; (gpu = export_gpu(e, i)); i++) {
		const Address *a = &gpu->functions[0];

		fprintf(to, " \\\n\t--hostpci%zu %04" PRIx64 ":%02x:%02x,pcie=1", e->first + i,
			a->segment, a->bus, a->device);
	}
	fputc('\n', to);
}
