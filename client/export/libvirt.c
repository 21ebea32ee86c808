/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What gpupassd's core/domain/xml-edit.c writes into a definition, for one that another tool keeps.
 * tests/bus/test-export compares the two.
 */
#include "base/text.h"
#include "export/engines.h"
#include "export/text.h"
#include "util/domain-devices.h"

/* A comment of XML cannot have two dashes. */
static const char head[] =
	"<!-- From gpupass export: devices of a domain with machine type q35 or virt.\n"
	"The numbers of the ports (index, bus) must be free in that domain; the option first\n"
	"of gpupass export chooses others. managed='no': the functions must be on vfio-pci, as\n"
	"after gpupass bind. On a host with gpupassd, a domain that gpupass did not assign the\n"
	"group to starts with it only if the group is declared with ForeignUse=yes:\n"
	"gpupassd.conf(5).\n";

static void print_port(FILE *to, const char *stem, size_t number, size_t bus)
{
	fprintf(to,
		"  <controller type='pci' index='%zu' model='pcie-root-port'>\n"
		"    <alias name='%s" DOMAIN_ALIAS_PORT "%zu'/>\n"
		"  </controller>\n",
		bus, stem, number);
}

static void print_hostdev(FILE *to, const char *alias, const Address *host, size_t bus,
			  unsigned function, bool multi)
{
	fprintf(to,
		"  <hostdev mode='subsystem' type='pci' managed='no'>\n"
		"    <source>\n"
		"      <address domain='0x%04" PRIx64 "' bus='0x%02x' slot='0x%02x' "
		"function='0x%x'/>\n"
		"    </source>\n"
		"    <alias name='%s'/>\n"
		"    <address type='pci' domain='0x0000' bus='0x%02zx' slot='0x00' "
		"function='0x%x'%s/>\n"
		"  </hostdev>\n",
		host->segment, host->bus, host->device, host->function, alias, bus, function,
		multi ? " multifunction='on'" : "");
}

static void print_gpu(FILE *to, const char *stem, size_t *number, const ExportGpu *gpu, size_t bus)
{
	for (size_t i = 0; i < gpu->n_functions; i++) {
		_cleanup_free_ char *alias = strf("%s%zu", stem, (*number)++);
		const Address *host = &gpu->functions[i];
		unsigned function =
			domain_guest_function(gpu->functions[0].function, host->function, i);

		print_hostdev(to, alias, host, bus, function,
			      function == 0 && gpu->n_functions > 1);
	}
}

static void print_group(FILE *to, const ExportGroup *group, size_t bus)
{
	_cleanup_free_ char *stem = domain_alias_stem(group->name);
	size_t number = 0;

	for (size_t i = 0; i < group->n_gpus; i++)
		print_port(to, stem, i, bus + i);
	for (size_t i = 0; i < group->n_gpus; i++)
		print_gpu(to, stem, &number, &group->gpus[i], bus + i);
}

void export_libvirt(FILE *to, const Export *e)
{
	size_t bus = e->first;

	fputs(head, to);
	export_print_groups(to, e, "");
	fputs("-->\n<devices>\n", to);
	for (size_t i = 0; i < e->n_groups; i++) {
		print_group(to, &e->groups[i], bus);
		bus += e->groups[i].n_gpus;
	}
	fputs("</devices>\n", to);
}
