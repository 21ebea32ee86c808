/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edits a domain's XML, and adds a group to it. xml-remove.c takes it out again. */
#include <inttypes.h>
#include <libxml/xmlsave.h>
#include <stdarg.h>

#include "core/base/limits.h"
#include "core/domain/ref.h"
#include "core/domain/xml-tree.h"
#include "util/text.h"
#include "util/xalloc.h"

static const xmlChar *xml_of(const char *s)
{
	return (const xmlChar *)s;
}

static bool is_blank(const xmlNode *node)
{
	return node && xmlIsBlankNode(node);
}

static xmlNode *new_line(xmlDoc *doc, unsigned depth)
{
	_cleanup_free_ char *s = strf("\n%*s", (int)depth * 2, "");

	return xmlNewDocText(doc, xml_of(s));
}

static unsigned depth_of(const xmlNode *node)
{
	unsigned depth = 0;

	for (; node && node->type == XML_ELEMENT_NODE; node = node->parent)
		depth++;
	return depth;
}

static xmlNode *indent_before(xmlNode *node)
{
	xmlAddPrevSibling(node, new_line(node->doc, depth_of(node->parent)));
	return node;
}

static xmlNode *new_element(const xmlNode *where, const char *name)
{
	return xmlNewDocNode(where->doc, NULL, xml_of(name), NULL);
}

/* The first element of its parent: adds a line break before it, and one before the closing tag. */
static xmlNode *append_first(xmlNode *parent, const char *name)
{
	xmlNode *node = xmlAddChild(parent, new_element(parent, name));

	xmlAddNextSibling(node, new_line(parent->doc, depth_of(parent) - 1));
	return indent_before(node);
}

xmlNode *xml_append(xmlNode *parent, const char *name)
{
	xmlNode *last = parent->last;

	if (!last)
		return append_first(parent, name);
	if (!is_blank(last)) /* the XML has no line breaks here: add none */
		return xmlAddChild(parent, new_element(parent, name));
	return indent_before(xmlAddPrevSibling(last, new_element(parent, name)));
}

xmlNode *xml_insert_after(xmlNode *after, const char *name)
{
	xmlNode *node = xmlAddNextSibling(after, new_element(after, name));

	return is_blank(after->prev) ? indent_before(node) : node;
}

void xml_set(xmlNode *node, const char *name, const char *format, ...)
{
	_cleanup_free_ char *value = NULL;
	va_list ap;

	va_start(ap, format);
	value = vstrf(format, ap);
	va_end(ap);
	xmlSetProp(node, xml_of(name), xml_of(value));
}

void xml_remove(xmlNode *node)
{
	xmlNode *blank = node->prev;

	if (is_blank(blank)) {
		xmlUnlinkNode(blank);
		xmlFreeNode(blank);
	}
	xmlUnlinkNode(node);
	xmlFreeNode(node);
}

static bool refers_to(const xmlNode *node, const xmlNs *ns)
{
	if (node->type != XML_ELEMENT_NODE)
		return false;
	if (node->ns == ns)
		return true;
	for (const xmlAttr *i = node->properties; i; i = i->next)
		if (i->ns == ns)
			return true;
	return false;
}

/* The next node of the tree in document order, without recursion: `root` may be deep. */
static const xmlNode *next_node(const xmlNode *node, const xmlNode *root)
{
	if (node->type == XML_ELEMENT_NODE && node->children)
		return node->children;
	while (node != root && !node->next)
		node = node->parent;
	return node == root ? NULL : node->next;
}

bool xml_remove_namespace(xmlNode *element, const char *href)
{
	xmlNs **at = &element->nsDef, *gone;

	while (*at && !xmlStrEqual((*at)->href, xml_of(href)))
		at = &(*at)->next;
	gone = *at;
	if (!gone)
		return false;
	for (const xmlNode *i = element; i; i = next_node(i, element))
		if (refers_to(i, gone))
			return false;
	*at = gone->next;
	gone->next = NULL;
	xmlFreeNs(gone);
	return true;
}

bool xml_is_empty(const xmlNode *node)
{
	for (const xmlNode *i = node->children; i; i = i->next)
		if (!is_blank(i))
			return false;
	return true;
}

void xml_remove_if_empty(xmlNode *node)
{
	if (!xml_is_empty(node))
		return;
	if (node->properties || node->nsDef)
		xmlNodeSetContent(node, NULL);
	else
		xml_remove(node);
}

/*
 * By itself libxml2 lets a buffer grow by what is added, a few kilobytes, and may move all of it
 * each time. Since 2.14 it doubles the buffer, and takes no wishes.
 */
static xmlBuffer *new_buffer(void)
{
	xmlBuffer *buffer = xmlBufferCreate();

#if LIBXML_VERSION < 21400
	xmlBufferSetAllocationScheme(buffer, XML_BUFFER_ALLOC_DOUBLEIT);
#endif
	return buffer;
}

char *xml_to_text(xmlDoc *doc, int options)
{
	xmlBuffer *buffer = new_buffer();
	xmlSaveCtxt *save =
		xmlSaveToBuffer(buffer, "UTF-8", options | XML_SAVE_NO_DECL | XML_SAVE_AS_XML);
	char *text;

	if (xmlSaveDoc(save, doc) < 0 || xmlSaveClose(save) < 0)
		impossible("libxml2 cannot write what it has read, so this process ends");
	text = xstrdup((const char *)xmlBufferContent(buffer));
	xmlBufferFree(buffer);
	return text;
}

char *domain_xml_to_text(const DomainXml *xml)
{
	return xml_to_text(xml->doc, 0);
}

/* ---- marks ---- */

/* What of the alias, which may be NULL, is behind this stem and kind; NULL: they are not its. */
static const char *alias_rest(const char *alias, const char *stem, const char *kind)
{
	size_t n = strlen(stem);

	return alias && strncmp(alias, stem, n) == 0 && str_starts_with(alias + n, kind)
		       ? alias + n + strlen(kind)
		       : NULL;
}

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

bool alias_is(const char *alias, const char *stem, const char *kind)
{
	const char *rest = alias_rest(alias, stem, kind);

	return rest && is_number(rest);
}

void xml_mark(xmlNode *device, const char *stem, const char *kind, unsigned long number)
{
	xml_set(xml_append(device, "alias"), "name", "%s%s%lu", stem, kind, number);
}

/* One pass, since others choose the aliases of a domain, and may choose many. */
unsigned long xml_free_mark(const xmlNode *devices, const char *stem, const char *kind,
			    unsigned long from)
{
	_cleanup_free_ bool *taken = NULL;
	unsigned long long number;
	size_t n = 0, at = 0;

	for (xmlNode *i = xml_first(devices); i; i = xml_next(i))
		n++;
	taken = xcalloc(n + 1, sizeof(bool));
	for (xmlNode *i = xml_first(devices); i; i = xml_next(i)) {
		const char *rest = alias_rest(xml_alias(i), stem, kind);

		if (rest && str_to_unsigned(rest, 10, ULONG_MAX, &number) == 0 && number >= from &&
		    number - from < n)
			taken[number - from] = true;
	}
	while (taken[at])
		at++;
	return from + at;
}

size_t alias_other_stem(const char *alias, const char *stem)
{
	const char *tail, *number;

	if (!alias || !str_starts_with(alias, DOMAIN_ALIAS_PREFIX) || alias_is(alias, stem, "") ||
	    alias_is(alias, stem, DOMAIN_ALIAS_PORT))
		return 0;
	tail = strrchr(alias, '-') + 1;
	number = str_starts_with(tail, DOMAIN_ALIAS_PORT) ? tail + strlen(DOMAIN_ALIAS_PORT) : tail;
	if (!is_number(number) || tail == alias + strlen(DOMAIN_ALIAS_PREFIX))
		return 0;
	return (size_t)(tail - alias);
}

/* ---- our element in <metadata> ---- */

/* In libvirt's order: the domain's description, then <metadata>, then its resources. */
static xmlNode *metadata_new(xmlNode *root)
{
	const char *before[] = { "name", "uuid", "genid", "title", "description" };
	xmlNode *after = NULL;

	for (xmlNode *i = xml_first(root); i; i = xml_next(i))
		for (size_t k = 0; k < ELEMENTS(before); k++)
			if (xml_is(i, before[k]))
				after = i;
	return after ? xml_insert_after(after, "metadata") : xml_append(root, "metadata");
}

static xmlNode *assignment_new(DomainXml *xml)
{
	xmlNode *metadata = xml_child(xml->root, "metadata");
	xmlNode *assignment;

	if (!metadata)
		metadata = metadata_new(xml->root);
	assignment = xml_append(metadata, "assignment");
	xmlSetNs(assignment, xmlNewNs(assignment, (const xmlChar *)DOMAIN_XML_NAMESPACE,
				      (const xmlChar *)"gpupass"));
	return assignment;
}

void xml_name_group(DomainXml *xml, const char *group)
{
	xmlNode *element = xml_assignment(xml), *also;

	if (xml_find_named(xml, group))
		return;
	if (!element)
		element = assignment_new(xml);
	if (!str_is_empty(xml_attribute(element, "group"))) {
		also = xml_append(element, XML_ALSO);
		xmlSetNs(also, element->ns);
		element = also;
	}
	xml_set(element, "group", "%s", group);
}

bool domain_xml_unmark(DomainXml *xml)
{
	xmlNode *assignment = xml_assignment(xml), *metadata;

	if (!assignment)
		return false;
	metadata = assignment->parent;
	xml_remove(assignment);
	xml_remove_if_empty(metadata);
	return true;
}

void domain_xml_rename_group(DomainXml *xml, const char *from, const char *to)
{
	xmlNode *element = xml_find_named(xml, from);

	if (element)
		xml_set(element, "group", "%s", to);
}

void domain_xml_unname_group(DomainXml *xml, const char *group, bool *ret_changed)
{
	xmlNode *element, *assignment;

	*ret_changed = false;
	while ((element = xml_find_named(xml, group))) {
		*ret_changed = true;
		if (xml_names_only(xml, group)) {
			domain_xml_unmark(xml);
			continue;
		}
		assignment = xml_assignment(xml);
		/* Then the next one takes the place that older versions read. */
		if (element == assignment) {
			element = xml_next_named(xml, assignment);
			xml_set(assignment, "group", "%s", xml_attribute(element, "group"));
		}
		xml_remove(element);
		xml_remove_if_empty(assignment);
	}
}

/* ---- a group ---- */

#define PCI_FUNCTIONS 8
/* Behind it are those that q35 has of its own: USB, sound, the ISA bridge. */
#define LAST_PORT_SLOT 0x1a

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
	xmlNode *device = xmlNewDocNode(doc, NULL, xml_of(name), NULL);

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
	const xmlNode *type = xml_child(xml_child(xml->root, "os"), "type");
	const char *machine = type ? str_or_empty(xml_attribute(type, "machine")) : "";
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

/*
 * The first bus number that no controller or device uses. libvirt gives controllers without an
 * index the lowest free numbers, so as many numbers are skipped as there are such controllers.
 */
static unsigned first_free_bus(const DomainXml *xml)
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
	unsigned bus = first_free_bus(xml);

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
 * A slot of the root complex that nobody uses; 0: there is none. Left to itself libvirt packs ports
 * into the slot of an operator's, which thereby becomes multifunction='on', and stays so.
 */
static unsigned port_slot(const DomainXml *xml)
{
	bool used[PCI_SLOTS];

	xml_used_slots(xml, used);
	for (unsigned slot = 0; slot < LAST_PORT_SLOT; slot++)
		if (!used[slot])
			return slot;
	return 0;
}

/* Where no slot is left, libvirt chooses the port's address. Its chassis it always chooses. */
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

static void add_gpu(const DomainXml *xml, xmlNode *devices, const char *stem, unsigned long *number,
		    const DomainXmlGpu *gpu, const Place *place)
{
	unsigned first = gpu->functions[0].function;

	for (size_t i = 0; i < gpu->n_functions; i++) {
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
	}
}

static void insert_group(DomainXml *xml, const char *group, const DomainXmlGpu *gpus, size_t n_gpus,
			 const Place *places)
{
	xmlNode *devices = xml_child(xml->root, "devices");
	_cleanup_free_ char *stem = domain_alias_stem(group);
	unsigned long number = 0;
	unsigned slot = 0;

	if (!devices)
		devices = xml_append(xml->root, "devices");
	for (size_t i = 0; i < n_gpus; i++) {
		if (places[i].bus == 0)
			continue;
		if (i % PCI_FUNCTIONS == 0)
			slot = port_slot(xml);
		add_port(devices, stem, i, places[i].bus, slot, i + 1 < n_gpus);
	}
	for (size_t i = 0; i < n_gpus; i++)
		add_gpu(xml, devices, stem, &number, &gpus[i], &places[i]);
	xml_name_group(xml, group);
}

int domain_xml_add_group(DomainXml *xml, const char *group, const DomainXmlGpu *gpus, size_t n_gpus,
			 Problem **ret_problem)
{
	Place places[GROUP_GPUS_MAX + GROUP_COMPANIONS_MAX] = { 0 };
	int r;

	if (n_gpus == 0 || n_gpus > ELEMENTS(places))
		return -EINVAL;
	if (SOME(gpus, n_gpus, it->n_functions == 0 || it->n_functions > ELEMENTS(it->functions)))
		return -EINVAL;
	r = domain_xml_check_kind(xml, ret_problem);
	if (r == 0)
		r = domain_xml_check_absent(xml, gpus, n_gpus, ret_problem);
	if (r == 0)
		r = domain_xml_is_pcie(xml)
			    ? domain_xml_place_on_ports(xml, places, n_gpus, ret_problem)
			    : domain_xml_place_in_slots(xml, places, n_gpus, ret_problem);
	if (r != 0)
		return r;
	insert_group(xml, group, gpus, n_gpus, places);
	return 0;
}
