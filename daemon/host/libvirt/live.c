/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/libvirt/live.h"

#include <string.h>

#include "core/domain/xml.h"
#include "host/libvirt/error.h"
#include "util/xalloc.h"

void live_device_clear(LiveDevice *device)
{
	free(device->alias);
	*device = (LiveDevice){ 0 };
}

/* Fills in what the live XML says of the function. */
static int find_live(const char *xml, const Bdf *function, LiveDevice *into, Problem **ret_problem)
{
	_cleanup_(domain_xml_freep) DomainXml *parsed = NULL;
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	const DomainHostdev *hostdev;
	int r;

	r = domain_use_from_xml(xml, NULL, &use, ret_problem);
	if (r != 0)
		return r;
	r = domain_xml_parse(xml, &parsed, ret_problem);
	if (r != 0)
		return r;
	into->acpi = domain_xml_sees_hotplug(parsed);
	hostdev = domain_use_hostdev(&use, function);
	into->present = hostdev != NULL;
	into->alias = hostdev ? xstrdup(hostdev->alias) : NULL;
	return 0;
}

int virt_live_device(const VirtCall *call, virDomainPtr domain, const Bdf *function,
		     LiveDevice *ret, Problem **ret_problem)
{
	_cleanup_(live_device_clear) LiveDevice device = { 0 };
	const char *name = virt_domain_name(domain);
	_cleanup_free_ char *xml = NULL;
	int active, r;

	active = virDomainIsActive(domain);
	if (active > 0)
		xml = virDomainGetXMLDesc(domain, 0);
	if ((active < 0 || (active > 0 && !xml)) && !virt_error_is_no_domain())
		return virt_read_problem(call, name, ret_problem);
	if (xml) {
		device.running = true;
		r = find_live(xml, function, &device, ret_problem);
		if (r != 0)
			return r;
	}
	*ret = device;
	device = (LiveDevice){ 0 };
	return 0;
}
