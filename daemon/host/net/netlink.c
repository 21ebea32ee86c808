/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/netlink.h"

#include <libmnl/libmnl.h>

#include "gpupass/cleanup.h"
#include "util/xalloc.h"

/* More than one message of a dump (32 KiB), and than a link with its VFs, a list of 64 KiB. */
#define ANSWER_MAX 131072
#define TRIES 4
#define SEQUENCE 1U

struct nlmsghdr *netlink_request(char buffer[NETLINK_REQUEST_MAX], int type, int flags, size_t size,
				 void **ret_body)
{
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);

	request->nlmsg_type = (uint16_t)type;
	request->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	request->nlmsg_seq = SEQUENCE;
	*ret_body = size > 0 ? mnl_nlmsg_put_extra_header(request, size) : NULL;
	return request;
}

int netlink_dump(const Netlink *netlink, int protocol, int type, size_t size, NetlinkEach each,
		 void *userdata)
{
	char buffer[NETLINK_REQUEST_MAX];
	void *body;

	return netlink->ask(netlink, protocol,
			    netlink_request(buffer, type, NLM_F_DUMP, size, &body), each, userdata);
}

/* ---- attributes ---- */

static int keep_attribute(const struct nlattr *attribute, void *userdata)
{
	NetlinkAttributes *attributes = userdata;

	if (mnl_attr_get_type(attribute) < NETLINK_ATTRIBUTES_MAX)
		attributes->of[mnl_attr_get_type(attribute)] = attribute;
	return MNL_CB_OK;
}

const void *netlink_body(const struct nlmsghdr *message, int type, size_t size,
			 NetlinkAttributes *ret)
{
	*ret = (NetlinkAttributes){ 0 };
	if (message->nlmsg_type != type || mnl_nlmsg_get_payload_len(message) < size)
		return NULL;
	mnl_attr_parse(message, (unsigned)size, keep_attribute, ret);
	return mnl_nlmsg_get_payload(message);
}

void netlink_nested(const struct nlattr *attribute, NetlinkAttributes *ret)
{
	*ret = (NetlinkAttributes){ 0 };
	if (attribute)
		mnl_attr_parse_nested(attribute, keep_attribute, ret);
}

uint32_t netlink_number(const struct nlattr *attribute)
{
	return attribute && mnl_attr_get_payload_len(attribute) == sizeof(uint32_t)
		       ? mnl_attr_get_u32(attribute)
		       : 0;
}

char *netlink_text(const struct nlattr *attribute)
{
	return attribute
		       ? xstrndup(mnl_attr_get_str(attribute), mnl_attr_get_payload_len(attribute))
		       : NULL;
}

/* ---- the kernel ---- */

typedef struct Reader {
	NetlinkEach each;
	void *userdata;
	int error; /* what `each` said: the library hands on only that it failed */
} Reader;

static int hand_on(const struct nlmsghdr *message, void *userdata)
{
	Reader *reader = userdata;

	reader->error = reader->each(message, reader->userdata);
	return reader->error < 0 ? MNL_CB_ERROR : MNL_CB_OK;
}

/* A dump's end is a message; of another answer, it is its only one. */
static int receive(struct mnl_socket *socket, bool dump, Reader *reader)
{
	char buffer[ANSWER_MAX];
	int more = MNL_CB_OK;

	while (more == MNL_CB_OK) {
		ssize_t n = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));

		if (n < 0)
			return -errno;
		more = mnl_cb_run(buffer, (size_t)n, SEQUENCE, mnl_socket_get_portid(socket),
				  hand_on, reader);
		if (more < 0)
			return reader->error < 0 ? reader->error : -errno;
		if (!dump)
			break;
	}
	return 0;
}

static void close_socket(struct mnl_socket **socket)
{
	if (*socket)
		mnl_socket_close(*socket);
}

static int ask_once(int protocol, const struct nlmsghdr *request, Reader *reader)
{
	_cleanup_(close_socket) struct mnl_socket *socket =
		mnl_socket_open2(protocol, SOCK_CLOEXEC);

	if (!socket || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		return -errno;
	return receive(socket, request->nlmsg_flags & NLM_F_DUMP, reader);
}

/*
 * -EINTR: the kernel says that a dump is of no one time (NLM_F_DUMP_INTR). What came of it is not
 * taken back: each message was true when it was sent.
 */
static int ask_kernel(const Netlink *netlink, int protocol, const struct nlmsghdr *request,
		      NetlinkEach each, void *userdata)
{
	Reader reader = { .each = each, .userdata = userdata };
	int r = -EINTR;

	for (int i = 0; r == -EINTR && i < TRIES; i++)
		r = ask_once(protocol, request, &reader);
	return r == -EINTR ? -EAGAIN : r;
}

const Netlink netlink_of_kernel = { ask_kernel };
