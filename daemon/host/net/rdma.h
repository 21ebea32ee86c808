/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has objects of an RDMA device: what `rdma resource show` shows (RDMA netlink, NLDEV). */
#pragma once

#include "core/facts/nic.h"
#include "host/net/links.h"

/*
 * Tells of processes, by number, and of what of the kernel has queue pairs, connections, completion
 * queues, memory, protection domains or contexts of this device; and of a port whose network device
 * is none of the NIC's. What `module`, the device's driver (NULL: not known), has for itself is no
 * use. *ret_ib: it is InfiniBand, not Ethernet. -ENODEV: there is no such device here.
 */
int rdma_tell(const Netlink *netlink, const char *device, const char *module, const NetLinks *links,
	      NicUse *use, bool *ret_ib);
