/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/guest-path.h"

#include "core/domain/xml-tree.h"
#include "util/text.h"

/* A switch adds two. The kernel itself has no such depth. */
#define DEPTH_MAX 16

static const xmlNode *find_device(const DomainXml *xml, const Bdf *host)
{
	for (const xmlNode *i = xml_devices(xml); i; i = xml_next(i)) {
		Bdf bdf;

		if (xml_is_pci_device(i) && xml_host_address(i, &bdf) == 0 && bdf_equal(&bdf, host))
			return i;
	}
	return NULL;
}

static const xmlNode *find_controller(const DomainXml *xml, unsigned wanted)
{
	for (const xmlNode *i = xml_devices(xml); i; i = xml_next(i)) {
		unsigned index;

		if (xml_is_pci_controller(i) && xml_number(i, "index", UINT8_MAX, &index) == 0 &&
		    index == wanted)
			return i;
	}
	return NULL;
}

char *domain_xml_guest_path(const DomainXml *xml, const Bdf *host)
{
	const xmlNode *node = find_device(xml, host);
	_cleanup_free_ char *below = xstrdup("");
	Bdf at;

	for (size_t depth = 0; depth < DEPTH_MAX && node && xml_guest_address(node, &at) == 0;
	     depth++) {
		_cleanup_free_ char *further = below;
		unsigned number = 0;

		below = NULL;
		node = find_controller(xml, at.bus);
		/* An expander's number is its bus in the guest, too. */
		if (xml_attribute_is(node, "model", "pcie-expander-bus") &&
		    xml_number(xml_child(node, "target"), "busNr", UINT8_MAX, &number) < 0)
			return NULL;
		if (at.bus == 0 || number > 0)
			return strf("0000:%02x:%02x.%x%s", number, at.device, at.function, further);
		below = strf("/%02x.%x%s", at.device, at.function, further);
	}
	return NULL;
}
