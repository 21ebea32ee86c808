/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plays the kernel's netlink: its answers are messages, one behind the other, as a kernel has sent
 * them (tests/fixtures/netlink) or a test has made them.
 */
#pragma once

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

#include "host/net/netlink.h"

typedef struct NetlinkReplay {
	Netlink netlink;
	const void *messages; /* at an address for which a struct nlmsghdr may be */
	size_t size;
	int fails; /* a type of request, which fails with `error` */
	int error;
} NetlinkReplay;

static inline uint32_t replay_rdma_index(const struct nlmsghdr *message)
{
	NetlinkAttributes of;

	(void)netlink_body(message, message->nlmsg_type, 0, &of);
	return netlink_number(of.of[RDMA_NLDEV_ATTR_DEV_INDEX]);
}

/* A question about all is answered by many; one about RDMA's objects by those of its device. */
static inline bool replay_answers(const struct nlmsghdr *message, const struct nlmsghdr *request,
				  bool rdma, bool dump)
{
	uint32_t index = rdma ? replay_rdma_index(request) : 0;

	/* RTM_NEWLINK is what RTM_GETLINK is answered by: two less. */
	return message->nlmsg_type == request->nlmsg_type - (rdma ? 0 : 2) &&
	       dump == ((message->nlmsg_flags & NLM_F_MULTI) != 0) &&
	       (index == 0 || index == replay_rdma_index(message));
}

static inline int netlink_replay(const Netlink *netlink, int protocol,
				 const struct nlmsghdr *request, NetlinkEach each, void *userdata)
{
	const NetlinkReplay *replay = (const NetlinkReplay *)netlink;
	bool rdma = protocol == NETLINK_RDMA, dump = request->nlmsg_flags & NLM_F_DUMP;
	const struct nlmsghdr *message = replay->messages;
	int left = (int)replay->size;

	if (request->nlmsg_type == replay->fails)
		return replay->error;
	for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
		int r = replay_answers(message, request, rdma, dump) ? each(message, userdata) : 0;

		if (r < 0 || (!dump && replay_answers(message, request, rdma, dump)))
			return r;
	}
	return dump ? 0 : -ENETUNREACH;
}
