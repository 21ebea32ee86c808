/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a domain's XML. */
#include "core/domain/xml-tree.h"

#include "util/text.h"

/*
 * i440fx: slot 0 is the host bridge; slot 1 is the PIIX3, some functions of which libvirt does not
 * list; slot 2 is kept free by libvirt for the primary display.
 */
#define FIRST_FREE_SLOT 3

static xmlNode *element_from(xmlNode *node)
{
	while (node && node->type != XML_ELEMENT_NODE)
		node = node->next;
	return node;
}

xmlNode *xml_first(const xmlNode *parent)
{
	return parent ? element_from(parent->children) : NULL;
}

xmlNode *xml_next(const xmlNode *node)
{
	return element_from(node->next);
}

bool xml_is(const xmlNode *node, const char *name)
{
	return node->type == XML_ELEMENT_NODE && !node->ns &&
	       strcmp((const char *)node->name, name) == 0;
}

xmlNode *xml_child(const xmlNode *parent, const char *name)
{
	for (xmlNode *i = parent ? parent->children : NULL; i; i = i->next)
		if (xml_is(i, name))
			return i;
	return NULL;
}

bool xml_is_of(const xmlNode *node, const char *namespace, const char *name)
{
	return node->ns && str_equal((const char *)node->ns->href, namespace) &&
	       str_equal((const char *)node->name, name);
}

xmlNode *xml_child_of(const xmlNode *parent, const char *namespace, const char *name)
{
	for (xmlNode *i = xml_first(parent); i; i = xml_next(i))
		if (xml_is_of(i, namespace, name))
			return i;
	return NULL;
}

xmlNode *xml_devices(const DomainXml *xml)
{
	return xml_first(xml_child(xml->root, "devices"));
}

const char *xml_attribute(const xmlNode *node, const char *name)
{
	const xmlAttr *attribute = xmlHasNsProp(node, (const xmlChar *)name, NULL);

	if (!attribute)
		return NULL;
	/* Without a DTD there are no entities left to resolve: the value is one text node. */
	return attribute->children ? (const char *)attribute->children->content : "";
}

bool xml_attribute_is(const xmlNode *node, const char *name, const char *value)
{
	return str_equal(xml_attribute(node, name), value);
}

bool xml_is_clique(const xmlNode *property)
{
	return xml_is_of(property, QEMU_NAMESPACE, "property") &&
	       xml_attribute_is(property, "name", QEMU_CLIQUE_PROPERTY) &&
	       xml_attribute_is(property, "value", "0");
}

int xml_number(const xmlNode *node, const char *name, unsigned max, unsigned *ret)
{
	const char *value = xml_attribute(node, name);
	unsigned long long number = 0;
	int r;

	if (!value)
		return -ENOENT;
	r = str_to_unsigned(value, 0, max, &number);
	if (r < 0)
		return r;
	*ret = (unsigned)number;
	return 0;
}

bool xml_is_pci_hostdev(const xmlNode *node)
{
	return xml_is(node, "hostdev") && xml_attribute_is(node, "mode", "subsystem") &&
	       xml_attribute_is(node, "type", "pci");
}

bool xml_is_pci_device(const xmlNode *node)
{
	return xml_is_pci_hostdev(node) ||
	       (xml_is(node, "interface") && xml_attribute_is(node, "type", "hostdev"));
}

const char *xml_mdev_uuid(const xmlNode *hostdev)
{
	const xmlNode *address = xml_child(xml_child(hostdev, "source"), "address");

	if (!address || !xml_is(hostdev, "hostdev") ||
	    !xml_attribute_is(hostdev, "mode", "subsystem") ||
	    !xml_attribute_is(hostdev, "type", "mdev"))
		return NULL;
	return xml_attribute(address, "uuid");
}

bool xml_is_pci_controller(const xmlNode *node)
{
	return xml_is(node, "controller") && xml_attribute_is(node, "type", "pci");
}

int xml_address(const xmlNode *address, Bdf *ret)
{
	unsigned segment = 0, bus, slot, function = 0;
	int r = xml_number(address, "domain", UINT32_MAX, &segment);

	if (r < 0 && r != -ENOENT)
		return r;
	r = xml_number(address, "bus", UINT8_MAX, &bus);
	if (r < 0)
		return r;
	r = xml_number(address, "slot", 0x1f, &slot);
	if (r < 0)
		return r;
	r = xml_number(address, "function", 7, &function);
	if (r < 0 && r != -ENOENT)
		return r;
	*ret = (Bdf){
		.segment = segment,
		.bus = (uint8_t)bus,
		.device = (uint8_t)slot,
		.function = (uint8_t)function,
	};
	return 0;
}

int xml_host_address(const xmlNode *hostdev, Bdf *ret)
{
	const xmlNode *address = xml_child(xml_child(hostdev, "source"), "address");

	return address && xml_address(address, ret) == 0 ? 0 : -EBADMSG;
}

int xml_guest_address(const xmlNode *device, Bdf *ret)
{
	const xmlNode *address = xml_child(device, "address");

	if (!xml_attribute_is(address, "type", "pci"))
		return -ENOENT;
	return xml_address(address, ret) == 0 ? 0 : -ENOENT;
}

const char *xml_alias(const xmlNode *device)
{
	return xml_attribute(xml_child(device, "alias"), "name");
}

void xml_used_slots(const DomainXml *xml, bool used[PCI_SLOTS])
{
	for (size_t i = 0; i < PCI_SLOTS; i++)
		used[i] = i < FIRST_FREE_SLOT;
	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i)) {
		Bdf guest;

		if (xml_guest_address(i, &guest) == 0 && guest.bus == 0)
			used[guest.device] = true;
	}
}

unsigned xml_take_slot(bool used[PCI_SLOTS])
{
	for (unsigned slot = 0; slot < PCI_LAST_PORT_SLOT; slot++)
		if (!used[slot]) {
			used[slot] = true;
			return slot;
		}
	return 0;
}

const char *domain_xml_uuid(const DomainXml *xml)
{
	return xml->uuid;
}

const char *domain_xml_name(const DomainXml *xml)
{
	return xml->name;
}

const char *xml_machine(const DomainXml *xml)
{
	return str_or_empty(
		xml_attribute(xml_child(xml_child(xml->root, "os"), "type"), "machine"));
}

static bool is_virt(const DomainXml *xml)
{
	const char *machine = xml_machine(xml);

	return str_equal(machine, "virt") || str_starts_with(machine, "virt-");
}

static bool is_controller(const xmlNode *device, unsigned index)
{
	unsigned number;

	return xml_is_pci_controller(device) &&
	       xml_number(device, "index", UINT8_MAX, &number) == 0 && number == index;
}

static bool takes_no_hotplug(const xmlNode *controller)
{
	return xml_attribute_is(xml_child(controller, "target"), "hotplug", "off");
}

bool domain_xml_is_pcie(const DomainXml *xml)
{
	/* libvirt adds the root complex to every definition that it parses. */
	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i))
		if (is_controller(i, 0))
			return xml_attribute_is(i, "model", "pcie-root");
	return strstr(xml_machine(xml), "q35") || is_virt(xml);
}

bool domain_xml_sees_hotplug(const DomainXml *xml)
{
	return xml_child(xml_child(xml->root, "features"), "acpi") || is_virt(xml);
}

bool domain_xml_bus_hotplug(const DomainXml *xml, unsigned bus)
{
	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i))
		if (is_controller(i, bus) && takes_no_hotplug(i))
			return false;
	return true;
}

/* The downstream port of a switch takes a hotplug, too. */
static bool is_hotplug_port(const xmlNode *device)
{
	return xml_is_pci_controller(device) && !takes_no_hotplug(device) &&
	       (xml_attribute_is(device, "model", "pcie-root-port") ||
		xml_attribute_is(device, "model", "pcie-switch-downstream-port"));
}

unsigned domain_xml_free_root_ports(const DomainXml *xml)
{
	bool port[UINT8_MAX + 1] = { false };
	unsigned index;
	Bdf guest;

	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i))
		if (is_hotplug_port(i) && xml_number(i, "index", UINT8_MAX, &index) == 0)
			port[index] = true;
	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i))
		if (xml_guest_address(i, &guest) == 0)
			port[guest.bus] = false;
	return (unsigned)COUNT(port, ELEMENTS(port), *it);
}

unsigned domain_xml_free_slots(const DomainXml *xml)
{
	bool used[PCI_SLOTS];

	if (!domain_xml_bus_hotplug(xml, 0))
		return 0;
	xml_used_slots(xml, used);
	return (unsigned)COUNT(used, PCI_SLOTS, !*it);
}

/* ---- our element in <metadata> ---- */

bool xml_is_ours(const char *href)
{
	return str_equal(href, DOMAIN_XML_NAMESPACE) ||
	       str_equal(href, DOMAIN_XML_FORMER_NAMESPACE);
}

bool xml_is_in_ours(const xmlNode *node)
{
	return node->ns && xml_is_ours((const char *)node->ns->href);
}

static bool is_ours(const xmlNode *node, const char *name)
{
	return xml_is_in_ours(node) && str_equal((const char *)node->name, name);
}

static bool is_assignment(const xmlNode *node)
{
	return is_ours(node, "assignment") && xml_is(node->parent, "metadata");
}

/* From this one on. */
static xmlNode *find_assignment(xmlNode *node)
{
	while (node && !is_assignment(node))
		node = xml_next(node);
	return node;
}

xmlNode *xml_assignment(const DomainXml *xml)
{
	return find_assignment(xml_first(xml_child(xml->root, "metadata")));
}

xmlNode *xml_next_assignment(const xmlNode *assignment)
{
	return assignment ? find_assignment(xml_next(assignment)) : NULL;
}

/* NULL: it names none. */
static const char *group_of(const xmlNode *element)
{
	const char *group = xml_attribute(element, "group");

	return str_is_empty(group) ? NULL : group;
}

/* Each of our elements, and behind it what is in it. */
static xmlNode *next_in_ours(const DomainXml *xml, const xmlNode *at)
{
	const xmlNode *assignment;
	xmlNode *next;

	if (!at)
		return xml_assignment(xml);
	assignment = is_assignment(at) ? at : at->parent;
	next = at == assignment ? xml_first(at) : xml_next(at);
	return next ? next : xml_next_assignment(assignment);
}

xmlNode *xml_next_named(const DomainXml *xml, const xmlNode *after)
{
	xmlNode *i = next_in_ours(xml, after);

	while (i && !((is_assignment(i) || is_ours(i, XML_ALSO)) && group_of(i)))
		i = next_in_ours(xml, i);
	return i;
}

xmlNode *xml_find_named(const DomainXml *xml, const char *group)
{
	xmlNode *i = NULL;

	for (size_t n = 0; n < XML_NAMES_MAX && (i = xml_next_named(xml, i)); n++)
		if (str_equal(group_of(i), group))
			return i;
	return NULL;
}

bool xml_names_only(const DomainXml *xml, const char *group)
{
	const xmlNode *first = xml_next_named(xml, NULL);

	return first && str_equal(group_of(first), group) && !xml_next_named(xml, first);
}

char **domain_xml_groups(const DomainXml *xml)
{
	char **groups = NULL;
	const xmlNode *i = NULL;

	for (size_t n = 0; n < XML_NAMES_MAX && (i = xml_next_named(xml, i)); n++)
		if (!strv_contains(groups, group_of(i)))
			strv_append(&groups, group_of(i));
	return groups;
}

bool domain_xml_has_former(const DomainXml *xml)
{
	for (xmlNode *i = xml_assignment(xml); i; i = xml_next_assignment(i))
		if (xml_is_of(i, DOMAIN_XML_FORMER_NAMESPACE, "assignment"))
			return true;
	return false;
}
