/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The formats: each is a function, and a row of the table at the end. Those that take more have a
 * file of their own.
 */
#include <inttypes.h>

#include "base/text.h"
#include "export/export.h"
#include "util/domain-devices.h"

/* ---- libvirt ---- */

/*
 * What gpupassd's core/domain/xml-edit.c writes into a definition, for one that another tool keeps.
 * tests/bus/test-export compares the two. A comment of XML cannot have two dashes.
 */
static const char libvirt_head[] =
	"<!-- From gpupass export: devices of a domain with machine type q35 or virt.\n"
	"The numbers of the ports (index, bus) must be free in that domain; the option first\n"
	"of gpupass export chooses others. managed='no': the functions must be on vfio-pci, as\n"
	"after gpupass bind. On a host with gpupassd, a domain that gpupass did not assign the\n"
	"group to starts with it only if the group is declared with ForeignUse=yes:\n"
	"gpupassd.conf(5).\n";

static void print_libvirt_port(FILE *to, const char *stem, size_t number, size_t bus)
{
	fprintf(to,
		"  <controller type='pci' index='%zu' model='pcie-root-port'>\n"
		"    <alias name='%s" DOMAIN_ALIAS_PORT "%zu'/>\n"
		"  </controller>\n",
		bus, stem, number);
}

/* libvirt sets MAC address and VLAN of a VF where it is an interface. */
static void print_libvirt_hostdev(FILE *to, const ExportGpu *gpu, size_t i, const char *alias,
				  size_t bus)
{
	const Bdf *host = &gpu->functions[i];
	unsigned function = domain_guest_function(gpu->functions[0].function, host->function, i);
	bool multi = function == 0 && gpu->n_functions > 1, vf = str_equal(gpu->kind, "vf");
	_cleanup_free_ char *vlan =
		strf("    <vlan>\n      <tag id='%u'/>\n    </vlan>\n", gpu->vlan);

	fprintf(to,
		"  <%s managed='no'>\n"
		"    <source>\n"
		"      <address %sdomain='0x%04x' bus='0x%02x' slot='0x%02x' "
		"function='0x%x'/>\n"
		"    </source>\n"
		"%s"
		"    <alias name='%s'/>\n"
		"    <address type='pci' domain='0x0000' bus='0x%02zx' slot='0x00' "
		"function='0x%x'%s/>\n"
		"  </%s>\n",
		vf ? "interface type='hostdev'" : "hostdev mode='subsystem' type='pci'",
		vf ? "type='pci' " : "", host->segment, host->bus, host->device, host->function,
		gpu->vlan > 0 ? vlan : "", alias, bus, function, multi ? " multifunction='on'" : "",
		vf ? "interface" : "hostdev");
}

static void print_libvirt_group(FILE *to, const ExportGroup *group, size_t bus)
{
	_cleanup_free_ char *stem = domain_alias_stem(group->name);
	size_t number = 0;

	for (size_t i = 0; i < group->n_gpus; i++)
		print_libvirt_port(to, stem, i, bus + i);
	for (size_t i = 0; i < group->n_gpus; i++)
		for (size_t k = 0; k < group->gpus[i].n_functions; k++) {
			_cleanup_free_ char *alias = strf("%s%zu", stem, number++);

			print_libvirt_hostdev(to, &group->gpus[i], k, alias, bus + i);
		}
}

static void print_libvirt(FILE *to, const Export *e)
{
	size_t bus = e->first;

	fputs("-->\n<devices>\n", to);
	for (size_t i = 0; i < e->n_groups; i++) {
		print_libvirt_group(to, &e->groups[i], bus);
		bus += e->groups[i].n_gpus;
	}
	fputs("</devices>\n", to);
}

/* ---- QEMU ---- */

static const char qemu_head[] =
	"#!/bin/sh\n"
	"# From gpupass export. It starts QEMU with the GPUs, and with the arguments that it gets\n"
	"# itself: sh FILE -accel kvm -cpu host -m 64G ... The functions must be on vfio-pci, as\n"
	"# after gpupass bind. No other port of the machine may have the same chassis: --first=N.\n";

static void print_qemu_gpu(FILE *to, const char *port, const ExportGpu *gpu)
{
	for (size_t i = 0; i < gpu->n_functions; i++) {
		const Bdf *host = &gpu->functions[i];
		unsigned function =
			domain_guest_function(gpu->functions[0].function, host->function, i);
		bool multi = function == 0 && gpu->n_functions > 1;

		fprintf(to, " \\\n\t-device vfio-pci,host=%s,bus=%s,addr=00.%x%s", BDF_TEXT(host),
			port, function, multi ? ",multifunction=on" : "");
	}
}

static void print_qemu_group(FILE *to, const ExportGroup *group, size_t chassis)
{
	for (size_t i = 0; i < group->n_gpus; i++) {
		_cleanup_free_ char *port = strf("gpupass-%s-port%zu", group->name, i);

		fprintf(to, " \\\n\t-device pcie-root-port,id=%s,bus=pcie.0,chassis=%zu", port,
			chassis + i);
		print_qemu_gpu(to, port, &group->gpus[i]);
	}
}

static void print_qemu(FILE *to, const Export *e)
{
	size_t chassis = e->first;

	fputs("exec qemu-system-x86_64 -machine q35 \"$@\"", to);
	for (size_t i = 0; i < e->n_groups; i++) {
		print_qemu_group(to, &e->groups[i], chassis);
		chassis += e->groups[i].n_gpus;
	}
	fputc('\n', to);
}

/* ---- Cloud Hypervisor ---- */

/* Four bits of the capability that Cloud Hypervisor adds to the GPU's configuration space. */
#define CLIQUES 16

static const char cloud_hypervisor_head[] =
	"#!/bin/sh\n"
	"# From gpupass export. It starts Cloud Hypervisor with the GPUs, and with the arguments\n"
	"# that it gets itself: sh FILE --memory size=64G ... The functions must be on vfio-pci,\n"
	"# as after gpupass bind.\n"
	"# A clique tells the guest's driver that its GPUs may also reach each other over PCIe.\n"
	"# NVLink does not need it; where the host's PCIe ports do not route between the GPUs\n"
	"# (gpupass topology), take x_nv_gpudirect_clique out.\n";

static void print_cloud_hypervisor_gpu(FILE *to, const ExportGpu *gpu, size_t clique)
{
	for (size_t i = 0; i < gpu->n_functions; i++) {
		fprintf(to, " \\\n\t\tpath=/sys/bus/pci/devices/%s/", BDF_TEXT(&gpu->functions[i]));
		if (i == 0 && !gpu->kind && clique < CLIQUES)
			fprintf(to, ",x_nv_gpudirect_clique=%zu", clique);
	}
}

/* One option with many values: older versions do not take it twice. */
static void print_cloud_hypervisor(FILE *to, const Export *e)
{
	fputs("exec cloud-hypervisor \"$@\" \\\n\t--device", to);
	for (size_t i = 0; i < e->n_groups; i++)
		for (size_t k = 0; k < e->groups[i].n_gpus; k++)
			print_cloud_hypervisor_gpu(to, &e->groups[i].gpus[k], i);
	fputc('\n', to);
}

/* ---- ESXi ---- */

#define GIB (1ULL << 30)

static const char esxi_head[] =
	"# From gpupass export: lines for the .vmx of a machine that is off, with UEFI firmware and\n"
	"# all of its memory reserved (sched.mem.pin). To be filled in on the ESXi host:\n"
	"# - systemId of each: what `esxcli system uuid get` prints.\n"
	"# - id of each, if ESXi gives the board another address than this host does: see\n"
	"#   `esxcli hardware pci list`. Its form is segment:bus:device.function, all decimal.\n"
	"# Other functions of a board (audio) that ESXi lists are added in the same way. DirectPath\n"
	"# I/O must be enabled for all of them, and nothing in ESXi keeps the GPUs of a group\n"
	"# together: give a machine all of them.\n";

static void print_esxi_gpu(FILE *to, const ExportGpu *gpu, size_t number)
{
	const Bdf *a = &gpu->functions[0];

	fprintf(to,
		"pciPassthru%zu.present = \"TRUE\"\n"
		"pciPassthru%zu.id = \"%05u:%03u:%02u.%u\"\n"
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

	for (size_t i = 0; (gpu = export_gpu(e, i)); i++)
		if (gpu->bar_bytes == 0 || __builtin_add_overflow(bytes, gpu->bar_bytes, &bytes))
			return 0;
	while (gib * GIB <= bytes) {
		if (gib >= UINT64_MAX / GIB / 2)
			return 0;
		gib *= 2;
	}
	return gib;
}

static void print_esxi(FILE *to, const Export *e)
{
	uint64_t gib = window_gib(e);
	const ExportGpu *gpu;

	for (size_t i = 0; (gpu = export_gpu(e, i)); i++)
		print_esxi_gpu(to, gpu, e->first + i);
	fputs("pciPassthru.use64bitMMIO = \"TRUE\"\n", to);
	if (gib > 0)
		fprintf(to, "pciPassthru.64bitMMIOSizeGB = \"%" PRIu64 "\"\n", gib);
	else
		fputs("# pciPassthru.64bitMMIOSizeGB: the BARs are not known here\n", to);
}

/* ---- KubeVirt ---- */

/* Of the part of a resource's name behind the '/'. */
#define NAME_MAX_LENGTH 63

static const char kubevirt_head[] =
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

static void print_kubevirt_model(FILE *to, const ExportGpu *gpu)
{
	_cleanup_free_ char *word = export_word(gpu->name);

	if (strlen(word) > NAME_MAX_LENGTH)
		word[NAME_MAX_LENGTH - (word[NAME_MAX_LENGTH - 1] == '_')] = '\0';
	fprintf(to,
		"      - pciVendorSelector: \"%04X:%04X\"\n"
		"        resourceName: \"nvidia.com/%s\"\n",
		gpu->vendor_id, gpu->device_id, *word ? word : "GPU");
}

static void print_kubevirt(FILE *to, const Export *e)
{
	const ExportGpu *gpu;

	fputs("spec:\n"
	      "  configuration:\n"
	      "    permittedHostDevices:\n"
	      "      pciHostDevices:\n",
	      to);
	for (size_t i = 0; (gpu = export_gpu(e, i)); i++)
		if (!is_printed(e, i))
			print_kubevirt_model(to, gpu);
}

/* ---- Proxmox VE ---- */

static const char proxmox_head[] =
	"# From gpupass export: for a machine of Proxmox VE that is off, has machine type q35, and no\n"
	"# hostpci of these numbers yet (--first=N). An address without a function means all of\n"
	"# them. One command: the machine gets all GPUs of the group, or none.\n"
	"# From Proxmox VE 9 on (qemu-server 9.0.25) append ,driver=keep to each: Proxmox then leaves\n"
	"# drivers and resets to gpupass. Without it, Proxmox resets the GPUs at each start, and\n"
	"# binds those that are not on vfio-pci yet.\n"
	"# Do not put the GPUs into one resource mapping: several paths there mean any of them.\n";

static void print_proxmox(FILE *to, const Export *e)
{
	const ExportGpu *gpu;

	fprintf(to, "qm set %u", e->machine);
	for (size_t i = 0; (gpu = export_gpu(e, i)); i++) {
		const Bdf *a = &gpu->functions[0];

		fprintf(to, " \\\n\t--hostpci%zu %04x:%02x:%02x", e->first + i, a->segment, a->bus,
			a->device);
		if (gpu->kind) /* the other ports of a NIC are not the guest's */
			fprintf(to, ".%u", a->function);
		fputs(",pcie=1", to);
	}
	fputc('\n', to);
}

/* ---- the table ---- */

static const char cloud_init_head[] =
	"#cloud-config\n"
	"# From gpupass export. It installs the distribution's NVIDIA driver and the QEMU guest\n"
	"# agent at the first boot, and reports at each boot whether the links of the GPUs work.\n"
	"write_files:\n";

static const char nova_head[] =
	"# From gpupass export: a provider config for nova-compute, to be saved as a .yaml file in\n"
	"# [compute] provider_config_location (/etc/nova/provider_config). nova-compute reads it at\n"
	"# its start; write it anew when groups have come or gone. Placement then counts whole\n"
	"# groups: one unit is all GPUs of one group. It does not choose which.\n";

#define ALL_KINDS "nic, vf, nvme"

/* KubeVirt and Nova count devices of a model. ESXi makes its VFs itself. */
static const ExportFormat formats[] = {
	{ "cloud-init", SUBJECT_DOMAIN, 0, 0, cloud_init_head, NULL, NULL, export_cloud_init },
	{ "nccl-topo", SUBJECT_TREE, 0, 0, "", NULL, NULL, export_nccl },
	/* PCI buses behind bus 0 */
	{ "libvirt", SUBJECT_GROUPS, 1, 255, libvirt_head, "", ALL_KINDS, print_libvirt },
	/* the chassis of a port: a byte, and 0 is none */
	{ "qemu", SUBJECT_GROUPS, 1, 255, qemu_head, "# ", ALL_KINDS, print_qemu },
	{ "cloud-hypervisor", SUBJECT_GROUPS, 0, 0, cloud_hypervisor_head, "# ", ALL_KINDS,
	  print_cloud_hypervisor },
	/* vSphere 8 gives a machine 32 PCI devices */
	{ "esxi", SUBJECT_GROUPS, 0, 31, esxi_head, "# ", "nic, nvme", print_esxi },
	{ "kubevirt", SUBJECT_GROUPS, 0, 0, kubevirt_head, "# ", NULL, print_kubevirt },
	{ "nova", SUBJECT_HOST, 0, 0, nova_head, "# ", NULL, export_nova },
	/* MAX_HOSTPCI_DEVICES of qemu-server */
	{ "proxmox", SUBJECT_MACHINE_GROUP, 0, 15, proxmox_head, "# ", ALL_KINDS, print_proxmox },
};

const ExportFormat *export_format_find(const char *name)
{
	return FIND(formats, ELEMENTS(formats), strcmp(it->name, name) == 0);
}

char *export_format_names(void)
{
	_cleanup_strv_ char **names = NULL;

	for (size_t i = 0; i < ELEMENTS(formats); i++)
		strv_append(&names, formats[i].name);
	return strv_join(names, ", ");
}

/* A comment of XML cannot have "--": names with two of them have "-?". */
static void print_without_dashes(FILE *to, const char *text)
{
	for (const char *c = text; *c; c++)
		fputc(c > text && c[0] == '-' && c[-1] == '-' ? '?' : *c, to);
}

static const char companions_note[] =
	"%s  gpupass erases an NVMe, and sets MAC address, VLAN and spoof check of a VF, only for\n"
	"%s  domains that it assigns them to: else do it before another machine gets them.\n";

static void print_groups(FILE *to, const Export *e, const char *sign)
{
	EACH (const ExportGroup, group, e->groups, e->n_groups) {
		fputs(sign, to);
		print_without_dashes(to, group->name);
		fprintf(to, ": %zu x ", group->n_gpus - group->n_companions);
		print_without_dashes(to, group->model);
		if (group->links > 0)
			fprintf(to, ", %u NVLinks between each two", group->links);
		for (size_t k = group->n_gpus - group->n_companions; k < group->n_gpus; k++) {
			const ExportGpu *one = &group->gpus[k];

			fprintf(to, ", with %s:%s", one->kind, BDF_TEXT(one->functions));
			if (one->vlan > 0)
				fprintf(to, " (VLAN %u)", one->vlan);
		}
		fputs(group->held ? "; gpupass has assigned it to a domain\n" : "\n", to);
		if (group->n_companions > 0)
			fprintf(to, companions_note, sign, sign);
	}
	for (size_t i = 0; i < strv_length(e->left_out); i++) {
		fputs(sign, to);
		print_without_dashes(to, e->left_out[i]);
		fputc('\n', to);
	}
}

void export_print(FILE *to, const ExportFormat *format, const Export *e)
{
	fputs(format->head, to);
	if (format->sign)
		print_groups(to, e, format->sign);
	format->print(to, e);
}
