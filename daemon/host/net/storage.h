/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Storage of this host that the way over a NIC leads to: NFS servers, and NVMe over fabrics. */
#pragma once

#include "host/device/roots.h"
#include "host/net/links.h"

int storage_tell(const Roots *roots, const Netlink *netlink, const NetLinks *links, NicUse *use);
