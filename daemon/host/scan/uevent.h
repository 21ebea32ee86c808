/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's messages about devices that come, go, or change their driver. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether a message is about a PCI device: "ACTION@DEVPATH", then KEY=VALUE, each with its NUL
 * (lib/kobject_uevent.c).
 */
bool uevent_is_of_pci(const char *message, size_t size);
/*
 * Reads one message from a netlink socket of the kernel's group, without waiting. 1: it is about a
 * PCI device, or messages were lost, of which one may have been; 0: it is not, or did not come from
 * the kernel; -EAGAIN: there is none; < 0: the socket is of no use any more.
 */
int uevent_receive(int fd);
