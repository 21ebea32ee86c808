/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/fit/domain.h"

#include "core/domain/xml-tree.h"
#include "util/text.h"
#include "util/xalloc.h"

/* QEMU's default address width for a guest's CPU (TCG_PHYS_ADDR_BITS). */
#define BITS_DEFAULT 40
#define VCPUS_MAX 4096

static uint64_t unit_of(const char *unit)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = {
		{ "b", 1 },
		{ "bytes", 1 },
		{ "KB", 1000 },
		{ "k", UINT64_C(1) << 10 },
		{ "KiB", UINT64_C(1) << 10 },
		{ "MB", 1000000 },
		{ "M", UINT64_C(1) << 20 },
		{ "MiB", UINT64_C(1) << 20 },
		{ "GB", 1000000000 },
		{ "G", UINT64_C(1) << 30 },
		{ "GiB", UINT64_C(1) << 30 },
		{ "TB", 1000000000000 },
		{ "T", UINT64_C(1) << 40 },
		{ "TiB", UINT64_C(1) << 40 },
	};

	for (size_t i = 0; unit && i < ELEMENTS(units); i++)
		if (strcmp(units[i].name, unit) == 0)
			return units[i].bytes;
	return UINT64_C(1) << 10; /* libvirt's default */
}

static uint64_t scaled(const char *number, const char *unit)
{
	unsigned long long value;
	uint64_t bytes = unit_of(unit);

	if (!number || str_to_unsigned(number, 10, UINT64_MAX / bytes, &value) < 0)
		return 0;
	return value * bytes;
}

/* "<memory unit='GiB'>64</memory>" in bytes; 0: absent, or not a number. */
static uint64_t size_of(const xmlNode *node)
{
	_cleanup_xml_char_ xmlChar *content = node ? xmlNodeGetContent(node) : NULL;

	return content ? scaled(str_strip((char *)content), xml_attribute(node, "unit")) : 0;
}

static void read_memory(const xmlNode *root, FitDomain *d)
{
	const xmlNode *backing = xml_child(xml_child(root, "memoryBacking"), "hugepages");
	const xmlNode *page = xml_child(backing, "page");
	uint64_t maximum = size_of(xml_child(root, "maxMemory"));

	d->memory_bytes = size_of(xml_child(root, "memory"));
	d->memory_max_bytes = maximum > d->memory_bytes ? maximum : d->memory_bytes;
	d->hard_limit_bytes = size_of(xml_child(xml_child(root, "memtune"), "hard_limit"));
	d->hugepages = backing != NULL;
	if (page)
		d->page_bytes = scaled(xml_attribute(page, "size"), xml_attribute(page, "unit"));
}

static void read_firmware(const xmlNode *root, FitDomain *d)
{
	const xmlNode *os = xml_child(root, "os"), *type = xml_child(os, "type");
	const xmlNode *loader = xml_child(os, "loader");
	const char *arch = type ? xml_attribute(type, "arch") : NULL;

	if (arch && strcmp(arch, "x86_64") != 0)
		d->firmware = FIRMWARE_OTHER;
	else if ((os && xml_attribute_is(os, "firmware", "efi")) ||
		 (loader && xml_attribute_is(loader, "type", "pflash")))
		d->firmware = FIRMWARE_OVMF;
	else if (loader)
		d->firmware = FIRMWARE_OTHER;
}

static void read_cpu(const xmlNode *root, FitDomain *d)
{
	const xmlNode *cpu = xml_child(root, "cpu"), *bits = xml_child(cpu, "maxphysaddr");

	/* KVM gives guests the host's vendor (QEMU, x86_cpu_load_model()) unless told otherwise. */
	d->kvm = xml_attribute_is(root, "type", "kvm") && !xml_child(cpu, "vendor");
	if (!cpu)
		return;
	d->has_cpu = xml_attribute(cpu, "mode") != NULL;
	d->cpu_host = xml_attribute_is(cpu, "mode", "host-passthrough") ||
		      xml_attribute_is(cpu, "mode", "maximum");
	if (!bits)
		return;
	d->has_maxphysaddr = true;
	d->bits_of_host = xml_attribute_is(bits, "mode", "passthrough");
	xml_number(bits, "bits", 64, &d->bits);
	xml_number(bits, "limit", 64, &d->bits_max);
}

/* ---- where it runs ---- */

static void bind_cpus(FitDomain *d, const char *text)
{
	CpuSet set;

	if (!text || cpu_set_parse(text, &set) < 0)
		return;
	d->cpus_bound = true;
	for (size_t i = 0; i < ELEMENTS(set.bits); i++)
		d->cpus.bits[i] |= set.bits[i];
}

/* A guest's cell that has no <memnode> is where <memory> says. NULL: it may be on any node. */
static char *memory_nodes(const xmlNode *root, const char *nodeset)
{
	const xmlNode *tune = xml_child(root, "numatune"), *cpu = xml_child(root, "cpu");
	_cleanup_strv_ char **nodes = NULL;
	size_t cells = 0, placed = 0;

	for (xmlNode *i = xml_first(xml_child(cpu, "numa")); i; i = xml_next(i))
		cells += xml_is(i, "cell");
	for (xmlNode *i = xml_first(tune); i; i = xml_next(i)) {
		const char *of_cell = xml_is(i, "memnode") ? xml_attribute(i, "nodeset") : NULL;

		if (!of_cell)
			continue;
		placed++;
		if (!strv_contains(nodes, of_cell))
			strv_append(&nodes, of_cell);
	}
	if (placed > 0 && placed >= cells)
		return strv_join(nodes, ",");
	if (!nodeset)
		return NULL;
	if (!strv_contains(nodes, nodeset))
		strv_append(&nodes, nodeset);
	return strv_join(nodes, ",");
}

static void read_placement(const xmlNode *root, FitDomain *d)
{
	const xmlNode *vcpu = xml_child(root, "vcpu");
	const xmlNode *memory = xml_child(xml_child(root, "numatune"), "memory");
	_cleanup_xml_char_ xmlChar *count = vcpu ? xmlNodeGetContent(vcpu) : NULL;
	const char *nodeset = memory ? xml_attribute(memory, "nodeset") : NULL;
	unsigned long long n;
	bool pinned = false;

	if (count && str_to_unsigned(str_strip((char *)count), 10, VCPUS_MAX, &n) >= 0)
		d->vcpus = (unsigned)n;
	d->cpus_auto = vcpu && xml_attribute_is(vcpu, "placement", "auto");
	/* Without a nodeset it is placed by numad (virDomainNumatuneParseXML()). */
	d->memory_auto = memory && !nodeset;
	/* The cpuset of <vcpu> is only for vCPUs without a <vcpupin>. */
	for (xmlNode *i = xml_first(xml_child(root, "cputune")); i; i = xml_next(i))
		if (xml_is(i, "vcpupin")) {
			bind_cpus(d, xml_attribute(i, "cpuset"));
			pinned = true;
		}
	if (!pinned && vcpu)
		bind_cpus(d, xml_attribute(vcpu, "cpuset"));
	d->nodeset = memory_nodes(root, nodeset);
}

static void read_security(const xmlNode *root, FitDomain *d)
{
	const xmlNode *security = xml_child(root, "launchSecurity");
	const char *type = security ? xml_attribute(security, "type") : NULL;

	if (security)
		d->security = xstrdup(type ? type : "of no type");
}

/* ---- devices, and arguments to QEMU ---- */

static void read_devices(const xmlNode *root, FitDomain *d)
{
	for (xmlNode *i = xml_first(xml_child(root, "devices")); i; i = xml_next(i)) {
		if (xml_is(i, "iommu"))
			d->viommu = true;
		if (xml_is_pci_device(i))
			d->n_hostdevs++;
	}
}

static void read_argument(FitDomain *d, const char *value)
{
	const char *window = strstr(value, MMIO_WINDOW_KEY);
	const char *string = window ? strstr(window, "string=") : NULL;
	unsigned long long mb;

	if (strstr(value, "x-nv-gpudirect-clique"))
		d->clique = true;
	if (string && str_to_unsigned(string + strlen("string="), 10, UINT64_MAX >> 20, &mb) >= 0)
		d->mmio_mb = mb;
}

/* What --peer-access wrote has a warning of its own, and drift one if nobody asked for it. */
static bool is_our_clique(const xmlNode *node)
{
	return xml_is_clique(node) &&
	       str_starts_with(str_or_empty(xml_attribute(node->parent->parent, "alias")),
			       DOMAIN_ALIAS_PREFIX);
}

/* <qemu:commandline> is two elements deep, <qemu:override> five. */
static void read_qemu(const xmlNode *node, FitDomain *d, unsigned depth)
{
	for (xmlNode *i = xml_first(node); i && depth > 0; i = xml_next(i)) {
		const char *value = xml_attribute(i, "value"), *name = xml_attribute(i, "name");

		if (!i->ns || !str_equal((const char *)i->ns->href, QEMU_NAMESPACE))
			continue;
		if (is_our_clique(i))
			continue;
		if (value)
			read_argument(d, value);
		if (name)
			read_argument(d, name);
		read_qemu(i, d, depth - 1);
	}
}

FitDomain fit_domain_read(const DomainXml *xml)
{
	FitDomain d = { .name = domain_xml_name(xml), .pcie = domain_xml_is_pcie(xml) };

	read_firmware(xml->root, &d);
	read_memory(xml->root, &d);
	read_cpu(xml->root, &d);
	read_devices(xml->root, &d);
	read_qemu(xml->root, &d, 5);
	read_placement(xml->root, &d);
	read_security(xml->root, &d);
	return d;
}

#include "domain.inc"

unsigned fit_domain_bits(const FitDomain *d, const HostFacts *host)
{
	unsigned bits = host ? host->physical_bits : 0;

	if (d->has_maxphysaddr && !d->bits_of_host)
		return d->bits > 0 ? d->bits : BITS_DEFAULT;
	if (!d->bits_of_host && !d->cpu_host)
		return BITS_DEFAULT;
	return d->bits_max > 0 && d->bits_max < bits ? d->bits_max : bits;
}
