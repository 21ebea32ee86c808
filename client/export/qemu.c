/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"
#include "export/engines.h"
#include "export/text.h"
#include "util/domain-devices.h"

static const char head[] =
	"#!/bin/sh\n"
	"# From gpupass export. It starts QEMU with the GPUs, and with the arguments that it gets\n"
	"# itself: sh FILE -accel kvm -cpu host -m 64G ... The functions must be on vfio-pci, as\n"
	"# after gpupass bind. No other port of the machine may have the same chassis: --first=N.\n";

static void print_gpu(FILE *to, const char *port, const ExportGpu *gpu)
{
	for (size_t i = 0; i < gpu->n_functions; i++) {
		const Address *host = &gpu->functions[i];
		unsigned function =
			domain_guest_function(gpu->functions[0].function, host->function, i);
		bool multi = function == 0 && gpu->n_functions > 1;

		fprintf(to, " \\\n\t-device vfio-pci,host=" ADDRESS_FORMAT ",bus=%s,addr=00.%x%s",
			ADDRESS_ARGUMENTS(host), port, function, multi ? ",multifunction=on" : "");
	}
}

static void print_group(FILE *to, const ExportGroup *group, size_t chassis)
{
	for (size_t i = 0; i < group->n_gpus; i++) {
		_cleanup_free_ char *port = strf("gpupass-%s-port%zu", group->name, i);

		fprintf(to, " \\\n\t-device pcie-root-port,id=%s,bus=pcie.0,chassis=%zu", port,
			chassis + i);
		print_gpu(to, port, &group->gpus[i]);
	}
}

void export_qemu(FILE *to, const Export *e)
{
	size_t chassis = e->first;

	fputs(head, to);
	export_print_groups(to, e, "# ");
	fputs("exec qemu-system-x86_64 -machine q35 \"$@\"", to);
	for (size_t i = 0; i < e->n_groups; i++) {
		print_group(to, &e->groups[i], chassis);
		chassis += e->groups[i].n_gpus;
	}
	fputc('\n', to);
}
