/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a guest finds a board, by the controllers of its domain. */
#include "rig/test.h"

#include "core/domain/xml.h"
#include "util/text.h"

#define Q35 "pc-q35-7.2"
#define ADDRESS(bus, slot, function)                                                               \
	"<address type='pci' domain='0' bus='" bus "' slot='" slot "' function='" function "'/>"
#define CONTROLLER(index, model, inner)                                                            \
	"<controller type='pci' index='" index "' model='" model "'>" inner "</controller>"
#define PORT(index, bus, slot, function)                                                           \
	CONTROLLER(index, "pcie-root-port", ADDRESS(bus, slot, function))
#define EXPANDER(index, number)                                                                    \
	CONTROLLER(index, "pcie-expander-bus",                                                     \
		   "<target busNr='" number "'/>" ADDRESS("0", "9", "0"))
#define BOARD(bus)                                                                                 \
	"<hostdev mode='subsystem' type='pci'><source>" ADDRESS(                                   \
		"0x41", "0", "0") "</source>" ADDRESS(bus, "0", "0") "</hostdev>"

TEST(a_guest_finds_a_board_where_its_firmware_numbers_buses)
{
	static const struct {
		const char *what, *machine, *devices, *arguments, *seen, *path;
	} rows[] = {
		{ "bus 0", Q35, BOARD("0"), "", "0000:00:00.0", "00/00.0" },
		/* By slot and function, not by index. */
		{ "ports", Q35,
		  PORT("1", "0", "2", "1") PORT("7", "0", "2", "0") PORT("3", "0", "1", "3")
			  BOARD("1"),
		  "", "0000:03:00.0", "00/02.1/00.0" },
		/* Depth first. */
		{ "bridges", Q35,
		  PORT("1", "0", "1", "0")
			  CONTROLLER("2", "pcie-to-pci-bridge", ADDRESS("1", "0", "0"))
				  PORT("3", "0", "2", "0") BOARD("3"),
		  "", "0000:03:00.0", "00/02.0/00.0" },
		{ "an expander", Q35,
		  EXPANDER("1", "0xe0") PORT("2", "1", "0", "0") PORT("3", "1", "1", "0")
			  BOARD("3"),
		  "", "0000:e2:00.0", "e0/01.0/00.0" },
		/* The numbers of one end where the next begins. */
		{ "no numbers left", Q35,
		  EXPANDER("1", "8") EXPANDER("2", "9") PORT("3", "1", "0", "0") BOARD("3"), "", "",
		  "08/00.0/00.0" },
		{ "the last number", Q35, EXPANDER("1", "254") PORT("3", "1", "0", "0") BOARD("3"),
		  "", "0000:ff:00.0", "fe/00.0/00.0" },
		{ "none after 255", Q35, EXPANDER("1", "255") PORT("3", "1", "0", "0") BOARD("3"),
		  "", "", "ff/00.0/00.0" },
		{ "an expander without a number", Q35,
		  CONTROLLER("1", "pcie-expander-bus", ADDRESS("0", "9", "0"))
			  PORT("2", "1", "0", "0") BOARD("2"),
		  "", "", "" },
		{ "a port without a place", Q35, CONTROLLER("1", "pcie-root-port", "") BOARD("1"),
		  "", "", "" },
		{ "no port", Q35, BOARD("1"), "", "", "" },
		{ "two of one index", Q35,
		  PORT("1", "0", "1", "0") PORT("1", "0", "2", "0") BOARD("1"), "", "", "" },
		{ "a circle", Q35, PORT("1", "2", "1", "0") PORT("2", "1", "2", "0") BOARD("1"), "",
		  "", "" },
		{ "i440fx", "pc-i440fx-7.2", BOARD("0"), "", "0000:00:00.0", "00/00.0" },
		{ "virt", "virt-7.2", PORT("1", "0", "1", "0") BOARD("1"), "", "", "00/01.0/00.0" },
		{ "a bridge past libvirt", Q35, PORT("1", "0", "1", "0") BOARD("1"),
		  "pcie-root-port,id=x", "", "00/01.0/00.0" },
		{ "a bridge of the network", Q35, PORT("1", "0", "1", "0") BOARD("1"),
		  "bridge,id=n0,helper=/usr/lib/qemu/qemu-bridge-helper", "0000:01:00.0",
		  "00/01.0/00.0" },
		{ "another argument", Q35, PORT("1", "0", "1", "0") BOARD("1"), "-cpu",
		  "0000:01:00.0", "00/01.0/00.0" },
	};
	Bdf board = { .bus = 0x41 };

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(domain_use_clear) DomainUse use = { 0 };
		_cleanup_free_ char *text =
			strf("<domain type='kvm' xmlns:qemu='" QEMU_NAMESPACE "'><name>vm</name>"
			     "<uuid>4dea22b3-1d52-d8f3-2516-782e98ab3fa0</uuid>"
			     "<os><type machine='%s'>hvm</type></os><devices>%s</devices>"
			     "<qemu:commandline><qemu:arg value='%s'/></qemu:commandline></domain>",
			     rows[i].machine, rows[i].devices, rows[i].arguments);
		const DomainHostdev *hostdev;

		assert_int_equal(domain_use_from_xml(text, NULL, &use, NULL), 0);
		hostdev = domain_use_hostdev(&use, &board);
		if (!str_equal(hostdev->path, rows[i].path) ||
		    !str_equal(hostdev->has_seen ? BDF_TEXT(&hostdev->seen) : "", rows[i].seen))
			fail_msg("%s: %s, %s", rows[i].what, BDF_TEXT(&hostdev->seen),
				 hostdev->path);
	}
}
