/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a guest finds its devices. libvirt's addresses name a bus by the index of its controller; a
 * guest names it by the number that its firmware gave. Where a device is below its root buses is
 * certain; of the numbers only the root buses' are. Those between are an expectation: SeaBIOS
 * (pci_bios_init_bus_rec()) and EDK II (PciScanBus()) number each bridge as they find it, depth
 * first, and reserve no numbers unless a port asks for them.
 */
#pragma once

#include "core/domain/xml-tree.h"

#define GUEST_BUSES 256

/* A controller of PCI, in the place of its index. */
typedef struct GuestBus {
	const xmlNode *controller; /* NULL: there is none of this index, or two */
	int number;		   /* in the guest; -1: not known */
	Bdf at;			   /* its bus is the index of that above it; not of a root bus */
	bool is_root;
} GuestBus;

/* An argument for QEMU adds a bridge, and each takes a number. */
bool guest_has_other_bridges(const DomainXml *xml);
/* With such bridges, and for a machine that is not q35, root buses alone have numbers. */
void guest_buses_read(const DomainXml *xml, GuestBus ret[GUEST_BUSES]);

/* Fills what follows ->guest, which is known. */
void guest_buses_find(const GuestBus buses[GUEST_BUSES], DomainHostdev *hostdev);
