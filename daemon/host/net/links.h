/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The network devices of this name space, and what the host does by those of one NIC: rtnetlink. */
#pragma once

#include "core/facts/nic.h"
#include "gpupass/cleanup.h"
#include "host/net/netlink.h"

typedef struct NetLink {
	unsigned index;
	unsigned master, lower; /* indexes; 0: none here */
	/*
	 * The NIC's own device that this one stands on, be it as its master, as a VLAN of that, or
	 * as one of its own; 0: it has nothing to do with the NIC.
	 */
	unsigned over;
	bool up;
	char *name;
	char *kind;	 /* "vlan", "bridge"; NULL: a board's */
	char *port_kind; /* what its master is: "bridge", "bond", "openvswitch"; NULL: not said */
	char *parent;	 /* the board's address; NULL: the kernel does not say (before 5.14) */
} NetLink;

typedef struct NetLinks {
	NetLink *items;
	size_t n_items;
} NetLinks;
DECLARE_CLEAR(NetLinks, net_links_clear)

int net_links_read(const Netlink *netlink, NetLinks *ret);

/*
 * Finds those of the function, by the names that it has in sysfs and by what the kernel says of
 * each, and all that stands on them. *ret_missing: a name that is not among them; NULL: all are.
 * Returns how many are its own.
 */
size_t net_links_choose(NetLinks *links, const Bdf *bdf, char *const *names,
			const char **ret_missing);

const NetLink *net_links_find(const NetLinks *links, unsigned index);
/* "eth5", or "br0 over eth5". */
char *net_link_text(const NetLinks *links, const NetLink *link);

/* Masters, what stands on them, addresses, and routes of all tables. */
int net_links_tell(const Netlink *netlink, const NetLinks *links, NicUse *use);

/*
 * The chosen device by which the kernel would send to this address (AF_INET, AF_INET6), in *ret;
 * NULL: by another one, or by none.
 */
int net_links_way(const Netlink *netlink, const NetLinks *links, int family, const void *address,
		  const NetLink **ret);
