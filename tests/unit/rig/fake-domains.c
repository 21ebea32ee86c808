/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domain XML edited as libvirt edits it, as far as plans depend on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include <libxml/xmlsave.h>

#include "core/domain/xml-tree.h"
#include "fake-host.h"
#include "rig/domains.h"
#include "util/text.h"

static xmlNode *devices_of(const DomainXml *xml)
{
	xmlNode *devices = xml_child(xml->root, "devices");

	assert_non_null(devices);
	return devices;
}

static bool is_root_port(const xmlNode *device)
{
	return xml_is_pci_controller(device) && xml_attribute_is(device, "model", "pcie-root-port");
}

static bool address_taken(const xmlNode *devices, unsigned bus, unsigned slot, int function)
{
	for (xmlNode *i = xml_first(devices); i; i = xml_next(i)) {
		Bdf at;

		if (xml_guest_address(i, &at) == 0 && at.bus == bus && at.device == slot &&
		    (function < 0 || at.function == function))
			return true;
	}
	return false;
}

/* Behind the last root port, in its slot while that has a function left. */
static void choose_port_address(const xmlNode *devices, unsigned *ret_slot, unsigned *ret_function)
{
	for (xmlNode *i = xml_first(devices); i; i = xml_next(i)) {
		Bdf at;

		if (!is_root_port(i) || xml_guest_address(i, &at) < 0)
			continue;
		for (unsigned function = 0; function < 8; function++) {
			*ret_slot = at.device;
			*ret_function = function;
			if (!address_taken(devices, 0, at.device, (int)function))
				return;
		}
	}
	*ret_function = 0;
	for (*ret_slot = 1; address_taken(devices, 0, *ret_slot, -1); (*ret_slot)++)
		;
}

static void place_port(xmlNode *devices, xmlNode *port)
{
	unsigned slot, function;
	xmlNode *address;

	choose_port_address(devices, &slot, &function);
	xml_set(xml_append(port, "model"), "name", "pcie-root-port");
	xml_set(xml_append(port, "target"), "chassis", "%s", xml_attribute(port, "index"));
	address = xml_append(port, "address");
	xml_set(address, "type", "pci");
	xml_set(address, "domain", "0x0000");
	xml_set(address, "bus", "0x00");
	xml_set(address, "slot", "0x%02x", slot);
	xml_set(address, "function", "0x%x", function);
	if (function == 0)
		xml_set(address, "multifunction", "on");
}

static void add_spare_port(xmlNode *devices)
{
	unsigned highest = 0, index;
	xmlNode *port;

	for (xmlNode *i = xml_first(devices); i; i = xml_next(i))
		if (xml_is_pci_controller(i) && xml_number(i, "index", UINT8_MAX, &index) == 0 &&
		    index > highest)
			highest = index;
	port = xml_append(devices, "controller");
	xml_set(port, "type", "pci");
	xml_set(port, "index", "%u", highest + 1);
	xml_set(port, "model", "pcie-root-port");
}

/* libvirt writes devices by kind: all interfaces before all hostdevs (virDomainDefFormat()). */
static void sort_kinds(xmlNode *devices)
{
	xmlNode *first = xml_child(devices, "hostdev"), *next;

	for (xmlNode *i = first ? xml_next(first) : NULL; i; i = next) {
		next = xml_next(i);
		if (xml_is(i, "interface"))
			xmlAddPrevSibling(first, i);
	}
}

/* It gives root ports an address, a chassis and a model of their own. */
char *fake_xml_define(const char *text, bool add_port)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
	xmlNode *devices = devices_of(xml);

	if (add_port)
		add_spare_port(devices);
	for (xmlNode *i = xml_first(devices); i; i = xml_next(i)) {
		Bdf at;

		if (is_root_port(i) && xml_guest_address(i, &at) < 0)
			place_port(devices, i);
	}
	sort_kinds(devices);
	return domain_xml_to_text(xml);
}

static unsigned free_port(const xmlNode *devices)
{
	for (xmlNode *i = xml_first(devices); i; i = xml_next(i)) {
		unsigned index;

		if (is_root_port(i) && xml_number(i, "index", UINT8_MAX, &index) == 0 &&
		    !address_taken(devices, index, 0, -1))
			return index;
	}
	fail_msg("no root port is free");
	return 0;
}

char *fake_xml_attach(const char *live_xml, const char *hostdev_xml)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(live_xml);
	_cleanup_(xml_doc_freep) xmlDoc *doc = NULL;
	_cleanup_free_ char *message = NULL;
	xmlNode *devices = devices_of(xml), *hostdev, *address;

	doc = xml_parse(hostdev_xml, XML_PARSE_NOBLANKS, &message);
	assert_non_null(doc);
	hostdev = xmlDocCopyNode(xmlDocGetRootElement(doc), xml->doc, 1);
	assert_non_null(hostdev);
	address = xml_append(hostdev, "address");
	xml_set(address, "type", "pci");
	xml_set(address, "domain", "0x0000");
	xml_set(address, "bus", "0x%02x", free_port(devices));
	xml_set(address, "slot", "0x00");
	xml_set(address, "function", "0x0");
	xmlAddChild(devices, hostdev);
	return domain_xml_to_text(xml);
}

char *fake_xml_detach(const char *live_xml, const Bdf *function)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(live_xml);
	xmlNode *next = xml_first(devices_of(xml));

	while (next) {
		xmlNode *device = next;
		Bdf bdf;

		next = xml_next(device);
		if (xml_is_pci_device(device) && xml_host_address(device, &bdf) == 0 &&
		    bdf_equal(&bdf, function))
			xml_remove(device);
	}
	return domain_xml_to_text(xml);
}

char *fake_xml_retitle(const char *text, const char *title)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
	xmlNode *node = xml_child(xml->root, "title");

	assert_non_null(node);
	xmlNodeSetContent(node, (const xmlChar *)title);
	return domain_xml_to_text(xml);
}

char *fake_xml_rename(const char *text, const char *name)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
	xmlNode *node = xml_child(xml->root, "name");

	assert_non_null(node);
	xmlNodeSetContent(node, (const xmlChar *)name);
	return domain_xml_to_text(xml);
}

char *fake_xml_unmark(const char *text)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);

	for (xmlNode *i = xml_first(devices_of(xml)); i; i = xml_next(i)) {
		xmlNode *alias = xml_child(i, "alias");

		if (!xml_is_pci_hostdev(i))
			continue;
		if (alias)
			xml_remove(alias);
		xml_set(i, "managed", "yes");
	}
	return domain_xml_to_text(xml);
}

char *fake_xml_canonical(const char *text)
{
	_cleanup_(xml_doc_freep) xmlDoc *doc = NULL;
	_cleanup_free_ char *message = NULL;

	doc = xml_parse(text, XML_PARSE_NOBLANKS, &message);
	assert_non_null(doc);
	return xml_to_text(doc, XML_SAVE_FORMAT);
}

bool fake_xml_has(const char *text, const Bdf *function)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = text ? domain_parsed(text) : NULL;

	for (xmlNode *i = xml ? xml_first(devices_of(xml)) : NULL; i; i = xml_next(i)) {
		Bdf bdf;

		if (xml_is_pci_device(i) && xml_host_address(i, &bdf) == 0 &&
		    bdf_equal(&bdf, function))
			return true;
	}
	return false;
}

Bdf fake_xml_function(const char *hostdev_xml)
{
	_cleanup_(xml_doc_freep) xmlDoc *doc = NULL;
	_cleanup_free_ char *message = NULL;
	Bdf bdf = { 0 };

	doc = xml_parse(hostdev_xml, 0, &message);
	assert_non_null(doc);
	assert_int_equal(xml_host_address(xmlDocGetRootElement(doc), &bdf), 0);
	return bdf;
}
