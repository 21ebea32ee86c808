/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of nic.c: what of the kernel needs netlink. Built without libmnl, it is without-mnl.c instead. */
#pragma once

#include "core/facts/nic.h"
#include "host/device/roots.h"
#include "host/net/folder.h"
#include "host/net/netlink.h"

void nic_users_tell(const Roots *roots, const Netlink *netlink, const NicFolder *folder,
		    NicUse *use);
