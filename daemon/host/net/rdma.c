/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/rdma.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>
#include <string.h>

#include "util/text.h"
#include "util/xalloc.h"

/* In the kernel's order, older ones first. */
static const struct {
	int command;
	uint16_t table, entry;
	bool is_new; /* a kernel may not know it yet; a context is an open file, too */
} objects[] = {
	{ RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY, false },
	{ RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY,
	  false },
	{ RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY, false },
	{ RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY, false },
	{ RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY, false },
	{ RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY,
	  true },
};

typedef struct Teller {
	const char *device;
	const NetLinks *links;
	NicUse *use;
	uint32_t index; /* the kernel's, of that device */
	bool found;
	uint16_t table, entry;
} Teller;

static bool is_text(const struct nlattr *attribute, const char *text)
{
	return mnl_attr_get_payload_len(attribute) == strlen(text) + 1 &&
	       memcmp(mnl_attr_get_payload(attribute), text, strlen(text) + 1) == 0;
}

static bool get_number(const struct nlattr *attribute, uint32_t *ret)
{
	if (mnl_attr_get_payload_len(attribute) != sizeof(*ret))
		return false;
	*ret = mnl_attr_get_u32(attribute);
	return true;
}

static char *text_of(const struct nlattr *attribute)
{
	return xstrndup(mnl_attr_get_payload(attribute), mnl_attr_get_payload_len(attribute));
}

static int find_index(const struct nlmsghdr *message, void *userdata)
{
	Teller *teller = userdata;
	const struct nlattr *attribute;
	bool is_it = false, has_index = false;
	uint32_t index = 0;

	mnl_attr_for_each(attribute, message, 0)
	{
		if (mnl_attr_get_type(attribute) == RDMA_NLDEV_ATTR_DEV_NAME)
			is_it = is_text(attribute, teller->device);
		else if (mnl_attr_get_type(attribute) == RDMA_NLDEV_ATTR_DEV_INDEX)
			has_index = get_number(attribute, &index);
	}
	if (!is_it)
		return 0;
	teller->found = has_index;
	teller->index = index;
	return 0;
}

/* One that names nobody is somebody's. */
static void tell_object(const Teller *teller, const struct nlattr *entry)
{
	_cleanup_free_ char *name = NULL;
	const struct nlattr *attribute;
	uint32_t pid = 0;

	mnl_attr_for_each_nested(attribute, entry)
	{
		if (mnl_attr_get_type(attribute) == RDMA_NLDEV_ATTR_RES_PID)
			get_number(attribute, &pid);
		else if (mnl_attr_get_type(attribute) == RDMA_NLDEV_ATTR_RES_KERN_NAME && !name)
			name = text_of(attribute);
	}
	if (pid == 0 && nic_rdma_is_own(name))
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
	const struct nlattr *table, *entry;

	mnl_attr_for_each(table, message, 0)
	{
		if (mnl_attr_get_type(table) != teller->table)
			continue;
		mnl_attr_for_each_nested(entry,
					 table) if (mnl_attr_get_type(entry) == teller->entry)
			tell_object(teller, entry);
	}
	return 0;
}

/* One RDMA device of two ports, such as mlx5_bond_0, is in use as long as the other port is. */
static int tell_port(const struct nlmsghdr *message, void *userdata)
{
	const Teller *teller = userdata;
	const struct nlattr *attribute;
	const NetLink *link;
	uint32_t index = 0;

	mnl_attr_for_each(attribute, message,
			  0) if (mnl_attr_get_type(attribute) == RDMA_NLDEV_ATTR_NDEV_INDEX)
		get_number(attribute, &index);
	link = net_links_find(teller->links, index);
	if (index == 0 || (link && link->over == link->index))
		return 0;
	nic_use_add(teller->use, (NicUser){ .kind = NIC_RDMA,
					    .device = xstrdup(teller->device),
					    .what = strf("the port of %s, which shares it",
							 link ? link->name : "another device") });
	return 0;
}

static int dump(const Netlink *netlink, int command, bool of_device, NetlinkEach each,
		Teller *teller)
{
	char buffer[NETLINK_REQUEST_MAX];
	void *body;
	struct nlmsghdr *request = netlink_request(buffer, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
						   NLM_F_DUMP, 0, &body);

	if (of_device)
		mnl_attr_put_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX, teller->index);
	return netlink->ask(netlink, NETLINK_RDMA, request, each, teller);
}

int rdma_tell(const Netlink *netlink, const char *device, const NetLinks *links, NicUse *use)
{
	Teller teller = { .device = device, .links = links, .use = use };
	int r = dump(netlink, RDMA_NLDEV_CMD_GET, false, find_index, &teller);

	if (r >= 0 && !teller.found)
		r = -ENODEV;
	if (r >= 0)
		r = dump(netlink, RDMA_NLDEV_CMD_PORT_GET, true, tell_port, &teller);
	for (size_t i = 0; r >= 0 && i < ELEMENTS(objects); i++) {
		teller.table = objects[i].table;
		teller.entry = objects[i].entry;
		r = dump(netlink, objects[i].command, true, tell_objects, &teller);
		if ((r == -EINVAL || r == -EOPNOTSUPP) && objects[i].is_new)
			r = 0;
	}
	return r;
}
