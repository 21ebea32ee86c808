/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/guest-bus.h"

#include "util/text.h"

/* Also in JSON. Of another word are the letters of bootfile=pxboot.0. */
static bool names_bridge(const char *argument)
{
	static const char *const models[] = { "pxb-",	   "pxb,",	 "pxb\"",   "pxb'",
					      "root-port", "pci-bridge", "ioh3420", "x3130-",
					      "xio3130-",  "i82801b11" };

	return SOME(models, ELEMENTS(models), strstr(argument, *it));
}

bool guest_has_other_bridges(const DomainXml *xml)
{
	return xml_some_argument(xml, names_bridge);
}

static void read_controller(const xmlNode *controller, GuestBus buses[GUEST_BUSES])
{
	unsigned index, number = 0;
	GuestBus bus = { .controller = controller };
	bool known;

	if (xml_number(controller, "index", GUEST_BUSES - 1, &index) < 0 || index == 0)
		return;
	bus.is_root = xml_attribute_is(controller, "model", "pcie-expander-bus");
	known = bus.is_root ? xml_number(xml_child(controller, "target"), "busNr", GUEST_BUSES - 1,
					 &number) == 0
			    : xml_guest_address(controller, &bus.at) == 0;
	bus.number = bus.is_root ? (int)number : -1;
	buses[index] = known && !buses[index].controller ? bus : (GuestBus){ .number = -1 };
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

/* What is below a bus whose number is known. Returns the last number given; `end`: full. */
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
	for (size_t i = 0; i < GUEST_BUSES; i++)
		ret[i] = (GuestBus){ .number = -1 };
	for (xmlNode *i = xml_devices(xml); i; i = xml_next(i))
		if (xml_is_pci_controller(i))
			read_controller(i, ret);
	ret[0] = (GuestBus){ .is_root = true };
	if (!strstr(xml_machine(xml), "q35") || guest_has_other_bridges(xml))
		return;
	for (unsigned i = 0; i < GUEST_BUSES; i++)
		if (ret[i].is_root)
			number_below(ret, i, ret[i].number, end_of(ret, &ret[i]));
}

void guest_buses_find(const GuestBus buses[GUEST_BUSES], DomainHostdev *hostdev)
{
	const GuestBus *bus = &buses[hostdev->guest.bus];
	_cleanup_free_ char *path = strf("%02x.%x", hostdev->guest.device, hostdev->guest.function);

	if (bus->number >= 0) {
		hostdev->has_seen = true;
		hostdev->seen = hostdev->guest;
		hostdev->seen.bus = (uint8_t)bus->number;
	}
	/* Controllers may be in a circle. */
	for (; !bus->is_root && strlen(path) < sizeof(hostdev->path); bus = &buses[bus->at.bus]) {
		_cleanup_free_ char *below = path;

		path = strf("%02x.%x/%s", bus->at.device, bus->at.function, below);
		if (!bus->controller)
			return;
	}
	if (strlen(path) + sizeof("00/") <= sizeof(hostdev->path))
		snprintf(hostdev->path, sizeof(hostdev->path), "%02x/%s", bus->number, path);
}
