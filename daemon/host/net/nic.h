/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who has NICs in use. Sees the network name space that it runs in: it is to be the one that the
 * host's sysfs is of. Needs no right; names of processes only where /proc shows them.
 */
#pragma once

#include "core/facts/nic.h"
#include "host/device/roots.h"
#include "host/net/folder.h"
#include "host/net/netlink.h"

/*
 * Fills *ret, which is all zeros but for the address. What could not be seen is in ret->why.
 * -ENOENT: the function is not there.
 */
int nic_look(const Roots *roots, const Netlink *netlink, NicUse *ret);
/* The same of one with its own driver, in this folder. */
void nic_users_tell(const Roots *roots, const Netlink *netlink, const NicFolder *folder,
		    NicUse *use);
