/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/engines.h"
#include "export/text.h"

#define GIB (1ULL << 30)

static const char head[] =
	"# From gpupass export: lines for the .vmx of a machine that is off, with UEFI firmware and\n"
	"# all of its memory reserved (sched.mem.pin). To be filled in on the ESXi host:\n"
	"# - systemId of each: what `esxcli system uuid get` prints.\n"
	"# - id of each, if ESXi gives the board another address than this host does: see\n"
	"#   `esxcli hardware pci list`. Its form is segment:bus:device.function, all decimal.\n"
	"# Other functions of a board (audio) that ESXi lists are added in the same way. DirectPath\n"
	"# I/O must be enabled for all of them, and nothing in ESXi keeps the GPUs of a group\n"
	"# together: give a machine all of them.\n";

static void print_gpu(FILE *to, const ExportGpu *gpu, size_t number)
{
	const Address *a = &gpu->functions[0];

	fprintf(to,
		"pciPassthru%zu.present = \"TRUE\"\n"
		"pciPassthru%zu.id = \"%05" PRIu64 ":%03u:%02u.%u\"\n"
		"pciPassthru%zu.deviceId = \"0x%04x\"\n"
		"pciPassthru%zu.vendorId = \"0x%04x\"\n"
		"pciPassthru%zu.systemId = \"\"\n",
		number, number, a->segment, a->bus, a->device, a->function, number, gpu->device_id,
		number, gpu->vendor_id, number);
}

/* VMware's rule: the next power of two above what all BARs of the machine take. 0: not known. */
static uint64_t window_gib(const Export *e)
{
	const ExportGpu *gpu;
	uint64_t bytes = 0, gib = 1;

	for (size_t i = 0; (gpu = export_gpu(e, i)); i++) {
		if (gpu->bar_bytes == 0)
			return 0;
		if (__builtin_add_overflow(bytes, gpu->bar_bytes, &bytes))
			return 0;
	}
	while (gib * GIB <= bytes) {
		if (gib >= UINT64_MAX / GIB / 2)
			return 0;
		gib *= 2;
	}
	return gib;
}

void export_esxi(FILE *to, const Export *e)
{
	uint64_t gib = window_gib(e);
	const ExportGpu *gpu;

	fputs(head, to);
	export_print_groups(to, e, "# ");
	for (size_t i = 0; (gpu = export_gpu(e, i)); i++)
		print_gpu(to, gpu, e->first + i);
	fputs("pciPassthru.use64bitMMIO = \"TRUE\"\n", to);
	if (gib > 0)
		fprintf(to, "pciPassthru.64bitMMIOSizeGB = \"%" PRIu64 "\"\n", gib);
	else
		fputs("# pciPassthru.64bitMMIOSizeGB: the BARs are not known here\n", to);
}
