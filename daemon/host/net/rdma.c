/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/rdma.h"

#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>

#include "util/text.h"
#include "util/xalloc.h"

/* In the kernel's order, older ones first. */
static const struct {
	int command;
	uint16_t table;
	bool is_new; /* a kernel may not know it yet; a context is an open file, too */
} objects[] = {
	{ RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, false },
	{ RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID, false },
	{ RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ, false },
	{ RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR, false },
	{ RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, false },
	{ RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX, true },
};

typedef struct Teller {
	const char *device, *module;
	const NetLinks *links;
	NicUse *use;
	uint32_t index; /* the kernel's, of that device */
	bool found, is_ib;
	uint16_t table;
} Teller;

static int find_index(const struct nlmsghdr *message, void *userdata)
{
	NetlinkAttributes of;
	Teller *teller = userdata;
	_cleanup_free_ char *name = NULL, *protocol = NULL;

	(void)netlink_body(message, message->nlmsg_type, 0, &of);
	name = netlink_text(of.of[RDMA_NLDEV_ATTR_DEV_NAME]);
	protocol = netlink_text(of.of[RDMA_NLDEV_ATTR_DEV_PROTOCOL]);
	if (str_equal(name, teller->device) && of.of[RDMA_NLDEV_ATTR_DEV_INDEX]) {
		teller->found = true;
		teller->index = netlink_number(of.of[RDMA_NLDEV_ATTR_DEV_INDEX]);
		teller->is_ib = str_equal(protocol, "ib");
	}
	return 0;
}

/* One that names nobody is somebody's. */
static void tell_object(const Teller *teller, const struct nlattr *entry)
{
	_cleanup_free_ char *name = NULL;
	NetlinkAttributes of;
	uint32_t pid;

	netlink_nested(entry, &of);
	pid = netlink_number(of.of[RDMA_NLDEV_ATTR_RES_PID]);
	name = netlink_text(of.of[RDMA_NLDEV_ATTR_RES_KERN_NAME]);
	if (pid > INT32_MAX)
		pid = 0; /* none of ours */
	/* Queue pairs 0 and 1 of each port, and what the driver has made for itself. */
	if (pid == 0 && name && (strcmp(name, "ib_core") == 0 || str_equal(name, teller->module)))
		return;
	nic_use_add(teller->use, (NicUser){ .kind = NIC_RDMA,
					    .device = xstrdup(teller->device),
					    .what = pid > 0 ? NULL
						    : name  ? strf("%s of the kernel", name)
							    : xstrdup("something that the kernel "
								       "does not name"),
					    .pid = (pid_t)pid });
}

static int tell_objects(const struct nlmsghdr *message, void *userdata)
{
	const Teller *teller = userdata;
	const struct nlattr *entry;
	NetlinkAttributes of;

	(void)netlink_body(message, message->nlmsg_type, 0, &of);
	if (of.of[teller->table])
		mnl_attr_for_each_nested(entry, of.of[teller->table]) tell_object(teller, entry);
	return 0;
}

/* One RDMA device of two ports, such as mlx5_bond_0, is in use as long as the other port is. */
static int tell_port(const struct nlmsghdr *message, void *userdata)
{
	NetlinkAttributes of;
	const Teller *teller = userdata;
	const NetLink *link;
	uint32_t index;

	(void)netlink_body(message, message->nlmsg_type, 0, &of);
	index = netlink_number(of.of[RDMA_NLDEV_ATTR_NDEV_INDEX]);
	link = net_links_find(teller->links, index);
	if (index == 0 || (link && link->over == link->index))
		return 0;
	nic_use_add(teller->use, (NicUser){ .kind = NIC_RDMA,
					    .device = xstrdup(teller->device),
					    .what = strf("the port of %s, which shares it",
							 link ? link->name : "another device") });
	return 0;
}

static int dump_of_device(const Netlink *netlink, int command, NetlinkEach each, Teller *teller)
{
	char buffer[NETLINK_REQUEST_MAX];
	void *body;
	struct nlmsghdr *request = netlink_request(buffer, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
						   NLM_F_DUMP, 0, &body);

	mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX, teller->index);
	return netlink->ask(netlink, NETLINK_RDMA, request, each, teller);
}

int rdma_tell(const Netlink *netlink, const char *device, const char *module, const NetLinks *links,
	      NicUse *use, bool *ret_ib)
{
	Teller teller = { .device = device, .module = module, .links = links, .use = use };
	int r = netlink_dump(netlink, NETLINK_RDMA,
			     RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET), 0, find_index,
			     &teller);

	if (r >= 0 && !teller.found)
		r = -ENODEV;
	*ret_ib = teller.is_ib;
	if (r >= 0)
		r = dump_of_device(netlink, RDMA_NLDEV_CMD_PORT_GET, tell_port, &teller);
	for (size_t i = 0; r >= 0 && i < ELEMENTS(objects); i++) {
		teller.table = objects[i].table;
		r = dump_of_device(netlink, objects[i].command, tell_objects, &teller);
		if ((r == -EINVAL || r == -EOPNOTSUPP) && objects[i].is_new)
			r = 0;
	}
	return r;
}
