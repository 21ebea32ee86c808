/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/xml-hostdevs.h"

#include "core/domain/xml.h"

int xml_read_hostdevs(const DomainXml *xml, DomainHostdev **ret, size_t *ret_n,
		      const xmlNode **ret_bad)
{
	DomainUse use = { 0 }; /* so that domain_use_clear() can free what there is */
	int r;

	for (xmlNode *i = xml_first(xml_child(xml->root, "devices")); i; i = xml_next(i)) {
		DomainHostdev hostdev = { .managed = xml_attribute_is(i, "managed", "yes") };

		if (!xml_takes_pci_function(i))
			continue;
		*ret_bad = i;
		r = xml_host_address(i, &hostdev.bdf);
		hostdev.has_guest = xml_guest_address(i, &hostdev.guest) == 0;
		if (r == 0)
			r = domain_use_add(&use, &hostdev, xml_alias(i));
		if (r < 0) {
			domain_use_clear(&use);
			return r;
		}
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
