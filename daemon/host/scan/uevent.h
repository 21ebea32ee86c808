/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's messages about devices that come, go, or change their driver, and how the part that
 * hears them tells the daemon: a line for each message, with the address of the function that it is
 * about, or an empty one: something has changed, and nobody knows what.
 */
#pragma once

#include "host/scan/scan.h"
#include "util/bdf.h"

/* With its newline; a longer one is none of ours. */
#define UEVENT_LINE_MAX BDF_TEXT_MAX

typedef enum UeventKind {
	UEVENT_OTHER,	 /* about no PCI device */
	UEVENT_FUNCTION, /* about this one */
	UEVENT_UNKNOWN,	 /* about a PCI device that it does not name, or messages were lost */
} UeventKind;

/*
 * What a message is about: "ACTION@DEVPATH", then KEY=VALUE, each with its NUL
 * (lib/kobject_uevent.c), PCI_SLOT_NAME among them (drivers/pci/pci-driver.c).
 */
UeventKind uevent_parse(const char *message, size_t size, Bdf *ret);
/*
 * Reads one message from a netlink socket of the kernel's group, without waiting. Returns a
 * UeventKind; -EAGAIN: there is none; < 0: the socket is of no use any more.
 */
int uevent_receive(int fd, Bdf *ret);

/* What has changed, as far as it was told. */
typedef struct UeventChanges {
	Bdf functions[SCAN_CHANGED_MAX];
	size_t n_functions;
	bool unknown; /* other ones, too: nobody knows which */
} UeventChanges;

/* What a part has told. All zero at its beginning. */
typedef struct UeventLines {
	char line[UEVENT_LINE_MAX];
	size_t n; /* of a line whose end is still to come */
	bool overlong;
} UeventLines;

/* Anything but lines as above counts as an empty line; so does what is too much to remember. */
void uevent_lines_read(UeventLines *lines, const char *bytes, size_t n, UeventChanges *changes);
