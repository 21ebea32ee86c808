/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/xml-hostdevs.h"

#include "core/domain/xml.h"
#include "util/text.h"

typedef enum Teller { ITSELF, SOURCE, ADDRESS } Teller;

static const struct HostPlace {
	const char *element, *type;
	Teller teller;
} places[] = {
#define X(element, type, teller) { element, type, teller },
	XML_HOST_PLACES(X)
#undef X
};

static const struct HostPlace *find_place(const xmlNode *node)
{
	for (size_t i = 0; i < ELEMENTS(places); i++)
		if (xml_is(node, places[i].element) &&
		    xml_attribute_is(node, "type", places[i].type))
			return &places[i];
	return NULL;
}

/* It gives the guest a PCI function of the host. */
static bool takes_function(const xmlNode *node)
{
	const struct HostPlace *place = find_place(node);
	const xmlNode *source = xml_child(node, "source");

	if (!place || place->teller == ITSELF)
		return place && xml_is_pci_hostdev(node);
	return xml_attribute_is(place->teller == SOURCE ? source : xml_child(source, "address"),
				"type", "pci");
}

static bool is_device(const xmlNode *root, const xmlNode *node)
{
	return node != root && node->parent != root && node->parent->parent == root &&
	       xml_is(node->parent, "devices");
}

/* <address> of a device itself: that in the guest. */
static bool is_guest_address(const xmlNode *root, const xmlNode *address)
{
	return address->parent != root && is_device(root, address->parent);
}

/*
 * A PCI address of the host where no row of the table has one. What a later libvirt means by it is
 * not known, so it counts as one that the guest gets.
 */
static bool is_stray_address(const xmlNode *root, const xmlNode *node)
{
	const char *type;

	if (!xml_is(node, "address") || node == root || is_guest_address(root, node) ||
	    xml_is(node->parent, XML_HOST_PARENT))
		return false;
	if (xml_is(node->parent, "source") && takes_function(node->parent->parent) &&
	    xml_child(node->parent->parent, "source") == node->parent &&
	    xml_child(node->parent, "address") == node)
		return false;
	type = xml_attribute(node, "type");
	if (type)
		return str_equal(type, "pci");
	return xml_attribute(node, "domain") || xml_attribute(node, "slot") ||
	       xml_attribute(node, "function");
}

static int read_function(const xmlNode *node, bool stray, DomainUse *use)
{
	DomainHostdev hostdev = { .managed = xml_attribute_is(node, "managed", "yes") };
	int r = stray ? xml_address(node, &hostdev.bdf) : xml_host_address(node, &hostdev.bdf);

	if (r < 0)
		return -EBADMSG;
	/* <source managed=…> of an NVMe disk, whose own address is that of a disk. */
	if (!stray && find_place(node)->teller == SOURCE)
		hostdev.managed = xml_attribute_is(xml_child(node, "source"), "managed", "yes");
	else
		hostdev.has_guest = xml_guest_address(node, &hostdev.guest) == 0;
	domain_use_add(use, &hostdev, xml_alias(node));
	return 0;
}

/* Libvirt's own: neither metadata nor what is in a name space. */
static bool is_libvirts(const xmlNode *root, const xmlNode *node)
{
	return !node->ns && !(node->parent == root && xml_is(node, "metadata"));
}

/* The next element in document order. Without recursion: it may be deep. */
static const xmlNode *next_element(const xmlNode *root, const xmlNode *at)
{
	const xmlNode *next = is_libvirts(root, at) ? xml_first(at) : NULL;

	for (; !next && at != root; at = at->parent)
		next = xml_next(at);
	return next;
}

static int read_functions(const DomainXml *xml, bool devices, DomainUse *use,
			  const xmlNode **ret_bad)
{
	int r = 0;

	for (const xmlNode *i = xml->root; i && r == 0; i = next_element(xml->root, i)) {
		bool stray = is_stray_address(xml->root, i);

		if ((!stray && !takes_function(i)) ||
		    (!stray && is_device(xml->root, i)) != devices)
			continue;
		*ret_bad = i;
		r = read_function(i, stray, use);
	}
	return r;
}

/* Devices first: of two elements with one function theirs has an alias, and its guest address. */
int xml_read_hostdevs(const DomainXml *xml, DomainHostdev **ret, size_t *ret_n,
		      const xmlNode **ret_bad)
{
	DomainUse use = { 0 }; /* so that domain_use_clear() can free what there is */
	int r = read_functions(xml, true, &use, ret_bad);

	if (r == 0)
		r = read_functions(xml, false, &use, ret_bad);
	if (r < 0) {
		domain_use_clear(&use);
		return r;
	}
	*ret = use.hostdevs;
	*ret_n = use.n_hostdevs;
	return 0;
}

bool domain_xml_in_shared_slot(const DomainXml *xml, const Bdf *function)
{
	const xmlNode *devices = xml_child(xml->root, "devices");
	const xmlNode *mine = NULL;
	Bdf place, other;

	for (const xmlNode *d = xml_first(devices); d && !mine; d = xml_next(d))
		if (xml_is_pci_hostdev(d) && xml_host_address(d, &other) == 0 &&
		    bdf_equal(&other, function))
			mine = d;
	if (!mine || xml_guest_address(mine, &place) < 0)
		return false;
	for (const xmlNode *d = xml_first(devices); d; d = xml_next(d))
		if (d != mine && xml_guest_address(d, &other) == 0 && bdf_same_slot(&other, &place))
			return true;
	return false;
}

int domain_xml_hostdevs(const DomainXml *xml, DomainHostdev **ret, size_t *ret_n)
{
	const xmlNode *bad;

	return xml_read_hostdevs(xml, ret, ret_n, &bad);
}
