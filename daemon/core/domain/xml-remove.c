/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes from a domain's XML exactly what belongs to a group. */
#include "core/domain/xml-marks.h"
#include "core/domain/xml-names.h"
#include "core/domain/xml-tune.h"
#include "core/domain/xml.h"
#include "util/text.h"

static bool remove_hostdevs(xmlNode *devices, const char *stem, const Bdf *functions, size_t n)
{
	xmlNode *next = xml_first(devices);
	bool changed = false;

	while (next) {
		xmlNode *hostdev = next;
		Bdf bdf;

		next = xml_next(hostdev);
		if (!xml_is_pci_hostdev(hostdev))
			continue;
		if (!alias_is(xml_alias(hostdev), stem, "") &&
		    !(xml_host_address(hostdev, &bdf) == 0 && bdf_in(&bdf, functions, n)))
			continue;
		xml_remove(hostdev);
		changed = true;
	}
	return changed;
}

/*
 * A device sits behind the port; or the port is function 0 of a slot, without which the guest would
 * not find the slot's other functions. libvirt packs root ports into one slot, ours together with
 * others'.
 */
static bool port_in_use(const xmlNode *devices, const xmlNode *port)
{
	bool placed;
	unsigned bus;
	Bdf own;

	if (xml_number(port, "index", UINT8_MAX, &bus) < 0)
		return true;
	placed = xml_guest_address(port, &own) == 0;
	for (xmlNode *i = xml_first(devices); i; i = xml_next(i)) {
		Bdf guest;

		if (i == port || xml_guest_address(i, &guest) < 0)
			continue;
		if (guest.bus == bus && bus != 0)
			return true;
		if (placed && own.function == 0 && bdf_same_slot(&guest, &own))
			return true;
	}
	return false;
}

static bool is_our_port(const xmlNode *node, const char *stem)
{
	return xml_is_pci_controller(node) && alias_is(xml_alias(node), stem, ALIAS_PORT);
}

static bool remove_unused_ports(xmlNode *devices, const char *stem)
{
	bool changed = false;

	for (xmlNode *i = xml_first(devices), *next; i; i = next) {
		next = xml_next(i);
		if (!is_our_port(i, stem) || port_in_use(devices, i))
			continue;
		xml_remove(i);
		changed = true;
	}
	return changed;
}

/* A port that is in use stays, but loses our mark: it is no longer ours. */
static bool remove_ports(xmlNode *devices, const char *stem)
{
	bool changed = false;

	/* Ports share slots, so that removing one may free another. */
	while (remove_unused_ports(devices, stem))
		changed = true;
	for (xmlNode *i = xml_first(devices); i; i = xml_next(i))
		/* libvirt writes one alias, but others may have written the text. */
		while (is_our_port(i, stem)) {
			xml_remove(xml_child(i, "alias"));
			changed = true;
		}
	return changed;
}

int domain_xml_remove_devices(DomainXml *xml, const char *group, const Bdf *functions,
			      size_t n_functions, bool *ret_changed)
{
	_cleanup_free_ char *stem = alias_stem(group);
	xmlNode *devices = xml_child(xml->root, "devices");
	bool changed;

	if (!stem)
		return -ENOMEM;
	changed = remove_hostdevs(devices, stem, functions, n_functions);
	changed |= remove_ports(devices, stem);
	if (changed)
		xml_remove_if_empty(devices);
	*ret_changed = changed;
	return 0;
}

int domain_xml_remove_group(DomainXml *xml, const char *group, const Bdf *functions,
			    size_t n_functions, bool *ret_changed)
{
	bool changed, untuned = false, unnamed = false;
	int r = domain_xml_remove_devices(xml, group, functions, n_functions, &changed);

	if (r < 0)
		return r;
	if (xml_names_only(xml, group))
		domain_xml_untune(xml, &untuned);
	r = domain_xml_unname_group(xml, group, &unnamed);
	*ret_changed = changed || untuned || unnamed;
	return r;
}
