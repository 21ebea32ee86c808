/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plays the kernel's netlink: its answers are messages, one behind the other, as a kernel has sent
 * them (tests/fixtures/netlink) or a test has made them.
 */
#pragma once

#include <errno.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>

#include "host/net/netlink.h"

typedef struct NetlinkReplay {
	Netlink netlink;
	const void *messages; /* at an address for which a struct nlmsghdr may be */
	size_t size;
	int fails; /* a type of request, which fails with `error` */
	int error;
} NetlinkReplay;

/* The device that it is about; 0: any. It is the first attribute. */
static inline uint32_t replay_rdma_index(const struct nlmsghdr *message)
{
	const struct nlattr *first = NLMSG_DATA(message);

	return message->nlmsg_len >= NLMSG_LENGTH(NLA_HDRLEN + sizeof(uint32_t)) &&
			       first->nla_type == RDMA_NLDEV_ATTR_DEV_INDEX
		       ? *(const uint32_t *)(first + 1)
		       : 0;
}

static inline bool replay_answers(const struct nlmsghdr *message, const struct nlmsghdr *request,
				  bool rdma)
{
	uint32_t index = rdma ? replay_rdma_index(request) : 0;
	bool dump = request->nlmsg_flags & NLM_F_DUMP;

	/* RTM_NEWLINK is what RTM_GETLINK is answered by: two less. */
	return message->nlmsg_type == request->nlmsg_type - (rdma ? 0 : 2) &&
	       dump == ((message->nlmsg_flags & NLM_F_MULTI) != 0) &&
	       (index == 0 || index == replay_rdma_index(message));
}

static inline int netlink_replay(const Netlink *netlink, int protocol,
				 const struct nlmsghdr *request, NetlinkEach each, void *userdata)
{
	const NetlinkReplay *replay = (const NetlinkReplay *)netlink;
	const struct nlmsghdr *message = replay->messages;
	long left = (long)replay->size; /* what is added for alignment may make it negative */
	int r = request->nlmsg_flags & NLM_F_DUMP ? 0 : -ENETUNREACH;

	if (request->nlmsg_type == replay->fails)
		return replay->error;
	for (; NLMSG_OK(message, left) && (r == 0 || r == -ENETUNREACH);
	     message = NLMSG_NEXT(message, left))
		if (replay_answers(message, request, protocol == NETLINK_RDMA))
			r = each(message, userdata);
	return r;
}
