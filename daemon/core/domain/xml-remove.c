/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes from a domain's XML exactly what belongs to a group. */

#include "core/domain/xml-tree.h"
#include "core/domain/xml-tune.h"
#include "core/domain/xml.h"
#include "util/xalloc.h"

static bool remove_hostdevs(xmlNode *devices, const char *stem, const Bdf *functions, size_t n)
{
	xmlNode *next = xml_first(devices);
	bool changed = false;

	while (next) {
		xmlNode *hostdev = next;
		Bdf bdf;

		next = xml_next(hostdev);
		if (!xml_is_pci_device(hostdev))
			continue;
		if (!alias_is(xml_alias(hostdev), stem, "") &&
		    !(xml_host_address(hostdev, &bdf) == 0 && bdf_in(&bdf, functions, n)))
			continue;
		xml_remove(hostdev);
		changed = true;
	}
	return changed;
}

static bool needs_bus(const xmlNode *device, const xmlNode *port, unsigned bus)
{
	Bdf own, guest;

	if (xml_guest_address(device, &guest) < 0)
		return false;
	return (guest.bus == bus && bus != 0) || (xml_guest_address(port, &own) == 0 &&
						  own.function == 0 && bdf_same_slot(&guest, &own));
}

/*
 * The device sits behind the port; or the port is function 0 of its slot, without which the guest
 * would not find the slot's other functions (libvirt packs root ports into one slot, ours together
 * with others'); or it is a port of another group with a higher index: libvirt defines a port again
 * for each lower index that has none (qemuDomainPCIAddressSetCreate()), and nobody would take that
 * one away.
 */
static bool needs_port(const xmlNode *device, const xmlNode *port, const char *stem)
{
	unsigned bus, index;

	if (device == port)
		return false;
	if (xml_number(port, "index", UINT8_MAX, &bus) < 0 || needs_bus(device, port, bus))
		return true;
	return alias_other_stem(xml_alias(device), stem) && xml_is_pci_controller(device) &&
	       xml_number(device, "index", UINT8_MAX, &index) == 0 && index > bus;
}

static bool port_in_use(const xmlNode *devices, const xmlNode *port, const char *stem)
{
	for (const xmlNode *i = xml_first(devices); i; i = xml_next(i))
		if (needs_port(i, port, stem))
			return true;
	return false;
}

/* The alias of a device of another group that needs the port; NULL: none does. */
static const char *port_heir(const xmlNode *devices, const xmlNode *port, const char *stem)
{
	for (const xmlNode *i = xml_first(devices); i; i = xml_next(i))
		if (alias_other_stem(xml_alias(i), stem) && needs_port(i, port, stem))
			return xml_alias(i);
	return NULL;
}

static bool is_our_port(const xmlNode *node, const char *stem)
{
	return xml_is_pci_controller(node) && alias_is(xml_alias(node), stem, DOMAIN_ALIAS_PORT);
}

static bool remove_unused_ports(xmlNode *devices, const char *stem)
{
	bool changed = false;

	for (xmlNode *i = xml_first(devices), *next; i; i = next) {
		next = xml_next(i);
		if (!is_our_port(i, stem) || port_in_use(devices, i, stem))
			continue;
		xml_remove(i);
		changed = true;
	}
	return changed;
}

static void hand_over_port(xmlNode *devices, xmlNode *port, const char *stem)
{
	const char *heir = port_heir(devices, port, stem);
	_cleanup_free_ char *its = heir ? xstrndup(heir, alias_other_stem(heir, stem)) : NULL;
	unsigned long n = heir ? xml_free_mark(devices, its, DOMAIN_ALIAS_PORT, 0) : 0;

	/* libvirt writes one alias, but others may have written the text. */
	while (is_our_port(port, stem))
		xml_remove(xml_child(port, "alias"));
	if (heir)
		xml_mark(port, its, DOMAIN_ALIAS_PORT, n);
}

/*
 * A port that is in use stays. Where another group of ours needs it, it has that one's mark from
 * now on, and goes with it; else it has none, and is no longer ours.
 */
static bool remove_ports(xmlNode *devices, const char *stem)
{
	bool changed = false;

	/* Ports share slots, so that removing one may free another. */
	while (remove_unused_ports(devices, stem))
		changed = true;
	for (xmlNode *i = xml_first(devices); i; i = xml_next(i))
		if (is_our_port(i, stem)) {
			hand_over_port(devices, i, stem);
			changed = true;
		}
	return changed;
}

void domain_xml_remove_devices(DomainXml *xml, const char *group, const Bdf *functions,
			       size_t n_functions, bool *ret_changed)
{
	_cleanup_free_ char *stem = domain_alias_stem(group);
	xmlNode *devices = xml_child(xml->root, "devices");

	*ret_changed = remove_hostdevs(devices, stem, functions, n_functions);
	*ret_changed |= remove_ports(devices, stem);
	if (*ret_changed)
		xml_remove_if_empty(devices);
	*ret_changed |= xml_remove_cliques(xml, stem);
}

void domain_xml_remove_group(DomainXml *xml, const char *group, const Bdf *functions,
			     size_t n_functions, bool *ret_changed)
{
	bool changed, untuned = false, unnamed = false;

	domain_xml_remove_devices(xml, group, functions, n_functions, &changed);
	if (xml_names_only(xml, group))
		domain_xml_untune(xml, &untuned);
	domain_xml_unname_group(xml, group, &unnamed);
	*ret_changed = changed || untuned || unnamed;
}
