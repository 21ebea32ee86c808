/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds a group to a domain's XML. */
#include <inttypes.h>

#include "core/base/limits.h"
#include "core/domain/ref.h"
#include "core/domain/xml-tree.h"
#include "util/text.h"
#include "util/xalloc.h"

#define PCI_FUNCTIONS 8

/* The guest slot of one GPU: slot 0 behind a root port, or a slot of bus 0. */
typedef struct Place {
	unsigned bus, slot;
} Place;

static void set_host_address(xmlNode *hostdev, const Bdf *bdf, const char *type)
{
	xmlNode *address = xml_append(xml_append(hostdev, "source"), "address");

	if (type)
		xml_set(address, "type", "%s", type);
	xml_set(address, "domain", "0x%04x", bdf->segment);
	xml_set(address, "bus", "0x%02x", bdf->bus);
	xml_set(address, "slot", "0x%02x", bdf->device);
	xml_set(address, "function", "0x%x", bdf->function);
}

static void set_model(xmlNode *hostdev)
{
	xmlNode *driver = xml_append(hostdev, "driver");

	xml_set(driver, "name", "vfio");
	xml_set(driver, "model", "vfio-pci");
}

/*
 * managed='no': gpupass binds drivers; with 'yes' libvirt would do so, too. Since 10.0 libvirt then
 * chooses among the variants of vfio-pci, unless the hostdev names a model. It reads none with
 * 'no' (virHostdevPreparePCIDevicesImpl() in src/hypervisor/virhostdev.c): that is for a person who
 * makes it 'yes'.
 */
static void fill_hostdev(xmlNode *hostdev, const char *stem, unsigned long number, const Bdf *bdf,
			 bool names_model)
{
	xml_set(hostdev, "mode", "subsystem");
	xml_set(hostdev, "type", "pci");
	xml_set(hostdev, "managed", "no");
	if (names_model)
		set_model(hostdev);
	set_host_address(hostdev, bdf, NULL);
	xml_mark(hostdev, stem, "", number);
}

/* FNV-1a of all. The first byte says: of one device, and chosen by whoever runs it. */
char *domain_vf_mac(const char *uuid, const Bdf *vf, uint64_t host)
{
	_cleanup_free_ char *of = strf("%s %s %" PRIx64, uuid, BDF_TEXT(vf), host);
	uint64_t hash = 0xcbf29ce484222325;
	uint8_t bytes[6];

	for (const char *c = of; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	memcpy(bytes, &hash, sizeof(bytes));
	return strf("%02x:%02x:%02x:%02x:%02x:%02x", (bytes[0] & 0xfc) | 0x02, bytes[1], bytes[2],
		    bytes[3], bytes[4], bytes[5]);
}

/* libvirt sets both by the NIC before the guest has the VF, which cannot change them then. */
static void fill_interface(xmlNode *interface, const char *stem, unsigned long number,
			   const Bdf *bdf, const char *mac, unsigned vlan)
{
	xml_set(interface, "type", "hostdev");
	xml_set(interface, "managed", "no");
	xml_set(xml_append(interface, "mac"), "address", "%s", mac);
	set_host_address(interface, bdf, "pci");
	if (vlan > 0)
		xml_set(xml_append(xml_append(interface, "vlan"), "tag"), "id", "%u", vlan);
	xml_mark(interface, stem, "", number);
}

static xmlNode *new_device(xmlDoc *doc, const char *name)
{
	xmlNode *device = xmlNewDocNode(doc, NULL, (const xmlChar *)name, NULL);

	xmlDocSetRootElement(doc, device);
	return device;
}

char *domain_xml_hostdev(const char *group, size_t index, const Bdf *bdf)
{
	_cleanup_(xml_doc_freep) xmlDoc *doc = xmlNewDoc((const xmlChar *)"1.0");
	_cleanup_free_ char *stem = domain_alias_stem(group);

	fill_hostdev(new_device(doc, "hostdev"), stem, index, bdf, false);
	return xml_to_text(doc, 0);
}

char *domain_xml_interface(const char *group, size_t index, const Bdf *bdf, const char *mac,
			   unsigned vlan)
{
	_cleanup_(xml_doc_freep) xmlDoc *doc = xmlNewDoc((const xmlChar *)"1.0");
	_cleanup_free_ char *stem = domain_alias_stem(group);

	fill_interface(new_device(doc, "interface"), stem, index, bdf, mac, vlan);
	return xml_to_text(doc, 0);
}

/*
 * Only QEMU takes VFIO devices. libvirt would refuse other hypervisors, too, but not say why.
 * 'test' is libvirt's test driver.
 */
static int domain_xml_check_kind(const DomainXml *xml, Problem **ret_problem)
{
	const char *machine = xml_machine(xml);
	const char *kind = str_or_empty(xml_attribute(xml->root, "type"));

	if (!str_equal(kind, "kvm") && !str_equal(kind, "qemu") && !str_equal(kind, "test"))
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			.reason = xstrdup("its hypervisor takes no VFIO devices"),
			.cause = strf("%s is a domain of type '%.32s'", xml->name, kind),
			.remedy = xstrdup("use a domain of type kvm"));
	if (domain_xml_is_pcie(xml) || !*machine || str_equal(machine, "pc") ||
	    str_starts_with(machine, "pc-i440fx"))
		return 0;
	return problem_refuse(ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			      .reason = xstrdup("its machine type is not supported"),
			      .cause = strf("%s has machine type '%.64s'", xml->name, machine),
			      .remedy =
				      xstrdup("use machine type q35 (or pc, or virt on aarch64)"));
}

static int domain_xml_check_absent(const DomainXml *xml, const DomainXmlGpu *gpus, size_t n_gpus,
				   Problem **ret_problem)
{
	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i)) {
		Bdf bdf;

		if (!xml_is_pci_device(i) || xml_host_address(i, &bdf) < 0)
			continue;
		for (size_t g = 0; g < n_gpus; g++) {
			if (!bdf_in(&bdf, gpus[g].functions, gpus[g].n_functions))
				continue;
			return problem_refuse(
				ret_problem, GPUPASS_ERROR_SPLIT_GROUP,
				.reason = strf("%s has %s already", xml->name, BDF_TEXT(&bdf)),
				.remedy = strf("take that hostdev out first: virsh edit %s",
					       domain_ref_word(xml->name, xml->uuid)));
		}
	}
	return 0;
}

unsigned xml_free_index(const DomainXml *xml)
{
	unsigned highest = 0, unnumbered = 0;

	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i)) {
		unsigned index = 0;
		Bdf guest;

		if (xml_is_pci_controller(i) && xml_number(i, "index", UINT8_MAX, &index) < 0)
			unnumbered++;
		if (xml_guest_address(i, &guest) == 0 && guest.bus > index)
			index = guest.bus;
		if (index > highest)
			highest = index;
	}
	return highest + unnumbered + 1;
}

static int domain_xml_place_on_ports(const DomainXml *xml, Place *places, size_t n,
				     Problem **ret_problem)
{
	unsigned bus = xml_free_index(xml);

	if (bus + n - 1 > UINT8_MAX)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			.reason = xstrdup("it has no PCI bus number left"),
			.cause = xstrdup("its PCI controllers use indexes up to 255"),
			.remedy = xstrdup("remove unused PCI controllers from the domain"));
	for (size_t i = 0; i < n; i++)
		places[i] = (Place){ .bus = bus + (unsigned)i };
	return 0;
}

static int domain_xml_place_in_slots(const DomainXml *xml, Place *places, size_t n,
				     Problem **ret_problem)
{
	bool used[PCI_SLOTS];
	size_t found = 0;

	xml_used_slots(xml, used);
	for (unsigned slot = 0; slot < PCI_SLOTS && found < n; slot++)
		if (!used[slot])
			places[found++] = (Place){ .slot = slot };
	if (found == n)
		return 0;
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		.reason = xstrdup("it has too few PCI slots left"),
		.cause = strf("%zu needed on its bus 0, %zu free", n, found),
		.remedy = xstrdup("remove devices from the domain, or use machine type q35"));
}

static void set_guest_address(xmlNode *device, const Place *place, unsigned function, bool multi)
{
	xmlNode *address = xml_append(device, "address");

	xml_set(address, "type", "pci");
	xml_set(address, "domain", "0x0000");
	xml_set(address, "bus", "0x%02x", place->bus);
	xml_set(address, "slot", "0x%02x", place->slot);
	xml_set(address, "function", "0x%x", function);
	if (multi)
		xml_set(address, "multifunction", "on");
}

/*
 * Left to itself libvirt packs ports into the slot of an operator's, which thereby becomes
 * multifunction='on', and stays so. Where no slot is left, it chooses the port's address. Its
 * chassis it always chooses.
 */
static void add_port(xmlNode *devices, const char *stem, unsigned long number, unsigned bus,
		     unsigned slot, bool multi)
{
	unsigned long n = xml_free_mark(devices, stem, DOMAIN_ALIAS_PORT, number);
	xmlNode *port = xml_append(devices, "controller");

	xml_set(port, "type", "pci");
	xml_set(port, "index", "%u", bus);
	xml_set(port, "model", "pcie-root-port");
	xml_mark(port, stem, DOMAIN_ALIAS_PORT, n);
	if (slot > 0)
		set_guest_address(port, &(Place){ .slot = slot }, (unsigned)number % PCI_FUNCTIONS,
				  multi && number % PCI_FUNCTIONS == 0);
}

/* Call when our metadata is there: peer access notes there what namespace is declared. */
static int add_gpu(DomainXml *xml, xmlNode *devices, const char *stem, unsigned long *number,
		   const DomainXmlGpu *gpu, const Place *place)
{
	unsigned first = gpu->functions[0].function;
	int r = 0;

	for (size_t i = 0; r == 0 && i < gpu->n_functions; i++) {
		const Bdf *bdf = &gpu->functions[i];
		unsigned function = domain_guest_function(first, bdf->function, i);
		xmlNode *hostdev;

		*number = xml_free_mark(devices, stem, "", *number);
		hostdev = xml_append(devices, gpu->mac ? "interface" : "hostdev");
		if (gpu->mac)
			fill_interface(hostdev, stem, (*number)++, bdf, gpu->mac, gpu->vlan);
		else
			fill_hostdev(hostdev, stem, (*number)++, bdf, gpu->names_model);
		set_guest_address(hostdev, place, function, function == 0 && gpu->n_functions > 1);
		if (i == 0 && gpu->clique)
			r = xml_add_clique(xml, xml_alias(hostdev));
	}
	return r;
}

static void add_ports(const DomainXml *xml, xmlNode *devices, const char *stem, size_t n_gpus,
		      const Place *places)
{
	bool used[PCI_SLOTS];
	unsigned slot = 0;

	xml_used_slots(xml, used);
	for (size_t i = 0; i < n_gpus; i++) {
		if (places[i].bus == 0)
			continue;
		if (i % PCI_FUNCTIONS == 0)
			slot = xml_take_slot(used);
		add_port(devices, stem, i, places[i].bus, slot, i + 1 < n_gpus);
	}
}

static void set_target(xmlNode *target, const MirrorNode *node)
{
	_cleanup_free_ char *cell = strf("%d", node->cell);

	if (node->role == MIRROR_EXPANDER) {
		xml_set(target, "busNr", "%d", node->bus_nr);
	} else {
		xml_set(target, "chassis", "%u", node->chassis);
		xml_set(target, "port", "0x%x", node->slot << 3);
	}
	if (node->cell != MIRROR_NONE)
		xmlNodeSetContent(xml_append(target, "node"), (const xmlChar *)cell);
}

/* A controller of a mirrored tree. Nothing of it is left to libvirt. */
static void add_controller(xmlNode *devices, const char *stem, const MirrorNode *node)
{
	unsigned long n = xml_free_mark(devices, stem, DOMAIN_ALIAS_PORT, 0);
	xmlNode *controller = xml_append(devices, "controller");

	xml_set(controller, "type", "pci");
	xml_set(controller, "index", "%d", node->index);
	xml_set(controller, "model", "%s", mirror_role_to_string(node->role));
	if (node->role != MIRROR_UPSTREAM)
		set_target(xml_append(controller, "target"), node);
	xml_mark(controller, stem, DOMAIN_ALIAS_PORT, n);
	set_guest_address(controller, &(Place){ .bus = node->bus, .slot = node->slot }, 0, false);
}

static int insert_group(DomainXml *xml, const char *group, const DomainXmlGpu *gpus, size_t n_gpus,
			const MirrorTree *mirror, const Place *places)
{
	xmlNode *devices = xml_child(xml->root, "devices");
	_cleanup_free_ char *stem = domain_alias_stem(group);
	unsigned long number = 0;
	int r = 0;

	xml_name_group(xml, group);
	if (!devices)
		devices = xml_append(xml->root, "devices");
	if (!mirror)
		add_ports(xml, devices, stem, n_gpus, places);
	for (size_t i = 0; mirror && i < mirror->n_nodes; i++)
		if (mirror->nodes[i].role != MIRROR_MEMBER)
			add_controller(devices, stem, &mirror->nodes[i]);
	for (size_t i = 0; r == 0 && i < n_gpus; i++)
		r = add_gpu(xml, devices, stem, &number, &gpus[i], &places[i]);
	return r;
}

static int find_places(const DomainXml *xml, const MirrorTree *mirror, Place *places, size_t n,
		       Problem **ret_problem)
{
	for (size_t i = 0; mirror && i < n; i++) {
		const MirrorNode *member = mirror_tree_member(mirror, i);

		if (!member)
			return -EINVAL;
		places[i] = (Place){ .bus = member->bus };
	}
	if (mirror)
		return 0;
	return domain_xml_is_pcie(xml) ? domain_xml_place_on_ports(xml, places, n, ret_problem)
				       : domain_xml_place_in_slots(xml, places, n, ret_problem);
}

int domain_xml_add_group(DomainXml *xml, const char *group, const DomainXmlGpu *gpus, size_t n_gpus,
			 const MirrorTree *mirror, Problem **ret_problem)
{
	Place places[GROUP_GPUS_MAX + GROUP_COMPANIONS_MAX] = { 0 };
	_cleanup_free_ char *stem = domain_alias_stem(group);
	int r;

	if (n_gpus == 0 || n_gpus > ELEMENTS(places))
		return -EINVAL;
	if (SOME(gpus, n_gpus, it->n_functions == 0 || it->n_functions > ELEMENTS(it->functions)))
		return -EINVAL;
	r = domain_xml_check_kind(xml, ret_problem);
	if (r == 0)
		r = domain_xml_check_absent(xml, gpus, n_gpus, ret_problem);
	if (r == 0)
		r = find_places(xml, mirror, places, n_gpus, ret_problem);
	if (r == 0 && SOME(gpus, n_gpus, it->clique))
		r = xml_check_cliques(xml, stem, ret_problem);
	if (r != 0)
		return r;
	return insert_group(xml, group, gpus, n_gpus, mirror, places);
}
