/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Writes a byte to `out`, a socket, for every message of the kernel about a PCI device, until the
 * other side has closed it. 0, or what cannot be done, once.
 */
int uevents_follow(int out);
