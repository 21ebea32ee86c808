/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/guest-bus.h"

#include "util/text.h"

/* An argument for QEMU may be a bridge, and each takes a number. */
static bool adds_bridge(const DomainXml *xml)
{
	static const char *const models[] = { "pxb",	"root-port", "-bridge",	 "ioh3420",
					      "x3130-", "xio3130-",  "i82801b11" };
	const xmlNode *line = xml_child_of(xml->root, QEMU_NAMESPACE, "commandline");

	for (xmlNode *i = xml_first(line); i; i = xml_next(i)) {
		const char *value = str_or_empty(xml_attribute(i, "value"));

		if (SOME(models, ELEMENTS(models), strstr(value, *it)))
			return true;
	}
	return false;
}

static void read_controller(const xmlNode *controller, GuestBus buses[GUEST_BUSES])
{
	unsigned index, number;
	GuestBus bus = { .controller = controller, .number = -1 };

	if (xml_number(controller, "index", GUEST_BUSES - 1, &index) < 0 || index == 0)
		return;
	bus.is_root = xml_attribute_is(controller, "model", "pcie-expander-bus");
	if (bus.is_root &&
	    xml_number(xml_child(controller, "target"), "busNr", GUEST_BUSES - 1, &number) == 0)
		bus.number = (int)number;
	else if (bus.is_root || xml_guest_address(controller, &bus.at) < 0)
		bus.controller = NULL;
	if (buses[index].controller)
		bus = (GuestBus){ .number = -1 };
	buses[index] = bus;
}

/* The bridge on this bus that firmware finds next, after the place `after`; NULL: none. */
static GuestBus *next_bridge(GuestBus buses[GUEST_BUSES], unsigned index, int after)
{
	GuestBus *next = NULL;

	for (size_t i = 1; i < GUEST_BUSES; i++) {
		GuestBus *bus = &buses[i];
		int place = bus->at.device << 3 | bus->at.function;

		if (bus->controller && !bus->is_root && bus->at.bus == index && place > after &&
		    (!next || place < (next->at.device << 3 | next->at.function)))
			next = bus;
	}
	return next;
}

/* What is below a bus whose number is known. Returns the last number that was given; `end`: full. */
static int number_below(GuestBus buses[GUEST_BUSES], unsigned index, int last, int end)
{
	int after = -1;
	GuestBus *bus;

	while (last + 1 < end && (bus = next_bridge(buses, index, after))) {
		after = bus->at.device << 3 | bus->at.function;
		bus->number = ++last;
		last = number_below(buses, (unsigned)(bus - buses), last, end);
	}
	return last;
}

/* The numbers of a root bus end where the next root bus begins. */
static int end_of(const GuestBus buses[GUEST_BUSES], const GuestBus *root)
{
	int end = GUEST_BUSES;

	for (size_t i = 0; i < GUEST_BUSES; i++)
		if (buses[i].is_root && buses[i].number > root->number && buses[i].number < end)
			end = buses[i].number;
	return end;
}

void guest_buses_read(const DomainXml *xml, GuestBus ret[GUEST_BUSES])
{
	const xmlNode *type = xml_child(xml_child(xml->root, "os"), "type");

	for (size_t i = 0; i < GUEST_BUSES; i++)
		ret[i] = (GuestBus){ .number = -1 };
	if (!strstr(str_or_empty(xml_attribute(type, "machine")), "q35") || adds_bridge(xml))
		return;
	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i))
		if (xml_is_pci_controller(i))
			read_controller(i, ret);
	ret[0] = (GuestBus){ .is_root = true };
	for (unsigned i = 0; i < GUEST_BUSES; i++)
		if (ret[i].is_root && ret[i].number >= 0)
			number_below(ret, i, ret[i].number, end_of(ret, &ret[i]));
}

void guest_buses_find(const GuestBus buses[GUEST_BUSES], DomainHostdev *hostdev)
{
	const GuestBus *bus = &buses[hostdev->guest.bus];
	_cleanup_free_ char *path = strf("%02x.%x", hostdev->guest.device, hostdev->guest.function);

	if (bus->number < 0)
		return;
	hostdev->seen = hostdev->guest;
	hostdev->seen.bus = (uint8_t)bus->number;
	/* Each one that has a number is below a root bus. */
	for (; !bus->is_root; bus = &buses[bus->at.bus]) {
		char *longer = strf("%02x.%x/%s", bus->at.device, bus->at.function, path);

		free(path);
		path = longer;
	}
	if (strlen(path) + sizeof("00/") <= sizeof(hostdev->path))
		snprintf(hostdev->path, sizeof(hostdev->path), "%02x/%s", bus->number, path);
}
