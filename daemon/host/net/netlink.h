/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to the kernel by netlink, which it answers without a right. Read with libmnl. */
#pragma once

#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>

/* One message of the answer, whole. < 0 ends the answer with this error. */
typedef int (*NetlinkEach)(const struct nlmsghdr *message, void *userdata);

/* The kernel, or what plays it in a test. */
typedef struct Netlink Netlink;
struct Netlink {
	/*
	 * Sends the request to this protocol (NETLINK_ROUTE, NETLINK_RDMA), and hands on what comes
	 * until the answer's end. -EAGAIN: what it is about changed meanwhile, again and again.
	 */
	int (*ask)(const Netlink *netlink, int protocol, const struct nlmsghdr *request,
		   NetlinkEach each, void *userdata);
};

extern const Netlink netlink_of_kernel;

#define NETLINK_REQUEST_MAX 256
/*
 * A request in `buffer`, of which the first `size` bytes behind its header are zero; attributes
 * follow by mnl_attr_put_….
 */
struct nlmsghdr *netlink_request(char buffer[NETLINK_REQUEST_MAX], int type, int flags, size_t size,
				 void **ret_body);
/* Of all that there is of this type; the request's body is `size` zeros. */
int netlink_dump(const Netlink *netlink, int protocol, int type, size_t size, NetlinkEach each,
		 void *userdata);

/* ---- attributes: NULL and 0 where they are absent, or not of their size ---- */

#define NETLINK_ATTRIBUTES_MAX 128
typedef struct NetlinkAttributes {
	const struct nlattr *of[NETLINK_ATTRIBUTES_MAX]; /* by type */
} NetlinkAttributes;

/* The message's body, of `size`, and what follows it. NULL: it is of another type, or too short. */
const void *netlink_body(const struct nlmsghdr *message, int type, size_t size,
			 NetlinkAttributes *ret);
void netlink_nested(const struct nlattr *attribute, NetlinkAttributes *ret);
uint32_t netlink_number(const struct nlattr *attribute);
char *netlink_text(const struct nlattr *attribute);
