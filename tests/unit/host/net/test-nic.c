/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who uses a NIC, by answers of the kernel's layout: rtnetlink (net/core/rtnetlink.c,
 * net/ipv4/fib_semantics.c) and RDMA netlink (drivers/infiniband/core/nldev.c).
 */
#include "rig/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>
#include <sched.h>

#include "host/net/nic.h"
#include "rig/netlink-replay.h"
#include "rig/sysfs-tree.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define NIC "0000:42:00.0"
#define OF_NIC "sys/bus/pci/devices/" NIC "/"
#define ETH5 5
#define ETH6 6
#define MESSAGES_MAX 32
#define MESSAGE_SIZE 1024

/* ---- what plays the kernel ---- */

/* What it says, each in a place of its own: a test adds to what was said before. */
typedef struct Kernel {
	NetlinkReplay replay;
	char messages[MESSAGES_MAX][MESSAGE_SIZE];
	size_t n;
} Kernel;

static void *say(Kernel *kernel, int type, size_t size, struct nlmsghdr **ret)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(kernel->messages[kernel->n++]);

	assert_true(kernel->n < MESSAGES_MAX);
	message->nlmsg_type = (uint16_t)type;
	message->nlmsg_flags = NLM_F_MULTI;
	*ret = message;
	return size > 0 ? mnl_nlmsg_put_extra_header(message, size) : NULL;
}

/* From now on it says what it has to say, one behind the other. */
static void speak(Kernel *kernel)
{
	char *to = kernel->messages[0];

	for (size_t i = 0; i < kernel->n; i++) {
		const struct nlmsghdr *message = (const void *)kernel->messages[i];
		size_t size = NLMSG_ALIGN(message->nlmsg_len);

		memmove(to, message, size);
		to += size;
	}
	kernel->replay.netlink.ask = netlink_replay;
	kernel->replay.messages = kernel->messages;
	kernel->replay.size = (size_t)(to - kernel->messages[0]);
}

/* By which all that is asked for is reached. */
static void way(Kernel *kernel, unsigned by)
{
	struct nlmsghdr *m;

	say(kernel, RTM_NEWROUTE, sizeof(struct rtmsg), &m);
	m->nlmsg_flags = 0;
	mnl_attr_put_u32(m, RTA_OIF, by);
}

static struct nlmsghdr *link_(Kernel *kernel, unsigned index, const char *name, const char *kind)
{
	struct nlmsghdr *m;
	struct ifinfomsg *body = say(kernel, RTM_NEWLINK, sizeof(*body), &m);

	body->ifi_index = (int)index;
	mnl_attr_put_strz(m, IFLA_IFNAME, name);
	if (kind) {
		struct nlattr *info = mnl_attr_nest_start(m, IFLA_LINKINFO);

		mnl_attr_put_strz(m, IFLA_INFO_KIND, kind);
		mnl_attr_nest_end(m, info);
	}
	return m;
}

/* The device that was said last is a port of this one. */
static void port_of(struct nlmsghdr *m, unsigned master, const char *kind)
{
	struct nlattr *info;

	mnl_attr_put_u32(m, IFLA_MASTER, master);
	if (!kind)
		return;
	info = mnl_attr_nest_start(m, IFLA_LINKINFO);
	mnl_attr_put_strz(m, IFLA_INFO_SLAVE_KIND, kind);
	mnl_attr_nest_end(m, info);
}

static void on(struct nlmsghdr *m, unsigned lower)
{
	mnl_attr_put_u32(m, IFLA_LINK, lower);
}

static void up(struct nlmsghdr *m)
{
	((struct ifinfomsg *)mnl_nlmsg_get_payload(m))->ifi_flags = IFF_UP;
}

static void put_address(struct nlmsghdr *m, uint16_t type, int family, const char *text)
{
	unsigned char bytes[16];

	assert_int_equal(inet_pton(family, text, bytes), 1);
	mnl_attr_put(m, type, family == AF_INET ? 4 : 16, bytes);
}

static void address(Kernel *kernel, unsigned index, int family, const char *text, unsigned prefix)
{
	struct nlmsghdr *m;
	struct ifaddrmsg *body = say(kernel, RTM_NEWADDR, sizeof(*body), &m);

	body->ifa_family = (unsigned char)family;
	body->ifa_prefixlen = (unsigned char)prefix;
	body->ifa_index = index;
	put_address(m, IFA_ADDRESS, family, text);
}

typedef struct Route {
	const char *to; /* NULL: everywhere */
	unsigned prefix, by, hop, type;
	const char *via;
	uint32_t table;
	unsigned several[2];
} Route;

static void route(Kernel *kernel, Route r)
{
	struct nlmsghdr *m;
	struct rtmsg *body = say(kernel, RTM_NEWROUTE, sizeof(*body), &m);

	body->rtm_family = AF_INET;
	body->rtm_dst_len = (unsigned char)r.prefix;
	body->rtm_table = (unsigned char)(r.table < 256 ? r.table : RT_TABLE_COMPAT);
	body->rtm_type = (unsigned char)(r.type ? r.type : RTN_UNICAST);
	mnl_attr_put_u32(m, RTA_TABLE, r.table);
	if (r.to)
		put_address(m, RTA_DST, AF_INET, r.to);
	if (r.by)
		mnl_attr_put_u32(m, RTA_OIF, r.by);
	if (r.hop)
		mnl_attr_put_u32(m, RTA_NH_ID, r.hop);
	if (r.via)
		put_address(m, RTA_GATEWAY, AF_INET, r.via);
	if (r.several[0]) {
		struct rtnexthop hops[2] = {
			{ .rtnh_len = sizeof(hops[0]), .rtnh_ifindex = (int)r.several[0] },
			{ .rtnh_len = sizeof(hops[0]), .rtnh_ifindex = (int)r.several[1] },
		};

		mnl_attr_put(m, RTA_MULTIPATH, sizeof(hops), hops);
	}
}
#define ROUTE(k, ...) route(k, (Route){ .table = RT_TABLE_MAIN, __VA_ARGS__ })

static void rdma_device(Kernel *kernel, uint32_t index, const char *name, const char *protocol)
{
	struct nlmsghdr *m;

	say(kernel, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET), 0, &m);
	mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	mnl_attr_put_strz(m, RDMA_NLDEV_ATTR_DEV_NAME, name);
	mnl_attr_put_strz(m, RDMA_NLDEV_ATTR_DEV_PROTOCOL, protocol);
}

static void rdma_port(Kernel *kernel, unsigned net)
{
	struct nlmsghdr *m;

	say(kernel, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET), 0, &m);
	mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_DEV_INDEX, 3);
	mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	if (net)
		mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_NDEV_INDEX, net);
}

/* An object of a process, or of the kernel; of neither where both are absent. */
static void rdma_object(Kernel *kernel, int command, uint16_t table, uint32_t pid, const char *name)
{
	struct nlattr *all, *one;
	struct nlmsghdr *m;

	say(kernel, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), 0, &m);
	mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_DEV_INDEX, 3);
	all = mnl_attr_nest_start(m, table);
	one = mnl_attr_nest_start(m, (uint16_t)(table + 1));
	mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_RES_LQPN, 17);
	if (pid)
		mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_RES_PID, pid);
	if (name)
		mnl_attr_put_strz(m, RDMA_NLDEV_ATTR_RES_KERN_NAME, name);
	mnl_attr_nest_end(m, one);
	mnl_attr_nest_end(m, all);
}
#define QP RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP
#define CM RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID
#define MR RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR
#define PD RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD
#define CTX RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX

/* ---- a host whose NIC has eth5, and beside it eth6 with all that a host needs ---- */

typedef struct Scene {
	SysfsTree *tree;
	Kernel k;
	bool is_real; /* this machine's kernel speaks */
	struct nlmsghdr *eth5;
} Scene;

static Scene scene_new(void)
{
	Scene s = { .tree = sysfs_tree_new(NULL),
		    .k = { .replay = { .netlink = { netlink_replay } } } };
	PciFunction nic = { .bdf = tree_bdf(NIC),
			    .vendor = 0x15b3,
			    .device = 0x1021,
			    .class_code = 0x020000,
			    .driver = (char *)"mlx5_core",
			    .iommu_group = 7,
			    .numa_node = -1 };

	tree_add_function(s.tree, &nic);
	tree_write(s.tree, OF_NIC "net/eth5/ifindex", "5\n");
	tree_write(s.tree, "proc/812/comm", "ib_write_bw\n");
	return s;
}

/* So that what a row adds to a message stays in it: eth5 is said last. */
static void scene_links(Scene *s)
{
	up(link_(&s->k, ETH6, "eth6", NULL));
	s->eth5 = link_(&s->k, ETH5, "eth5", NULL);
	ROUTE(&s->k, .by = ETH6, .via = "192.0.2.1");
	address(&s->k, ETH6, AF_INET, "192.0.2.7", 24);
}

static NicUse look(Scene *s)
{
	NicUse use = { .bdf = tree_bdf(NIC) };

	if (!s->is_real)
		speak(&s->k);
	assert_int_equal(nic_look(&s->tree->roots,
				  s->is_real ? &netlink_of_kernel : &s->k.replay.netlink, &use),
			 0);
	return use;
}

static char *told(const NicUse *use)
{
	_cleanup_strv_ char **lines = NULL;

	if (use->why)
		strv_appendf(&lines, "? %s", use->why);
	for (size_t i = 0; i < use->n_users; i++)
		strv_append_take(&lines, nic_user_text(&use->bdf, &use->users[i]));
	if (use->more > 0)
		strv_appendf(&lines, "+%llu", (unsigned long long)use->more);
	return lines ? strv_join(lines, "\n") : xstrdup("");
}

static void expect(const char *name, Scene *s, const char *expected)
{
	_cleanup_(nic_use_clear) NicUse use = look(s);
	_cleanup_free_ char *is = told(&use);

	sysfs_tree_free(s->tree);
	if (strcmp(is, expected) != 0)
		fail_msg("%s:\n%s\ninstead of\n%s", name, is, expected);
}

#define IS(text) NIC ": " text
/* `before` is about sysfs, and about what is said before the links are. */
#define CASE(name, before, then, expected)                                                         \
	do {                                                                                       \
		Scene s = scene_new();                                                             \
                                                                                                   \
		before;                                                                            \
		scene_links(&s);                                                                   \
		then;                                                                              \
		expect(name, &s, expected);                                                        \
	} while (0)
#define NOTHING (void)0

/* promise M1 */
TEST(each_that_uses_the_network_of_a_nic_is_told_by_name)
{
	CASE("nobody", NOTHING, NOTHING, "");
	CASE("up", NOTHING, up(s.eth5),
	     IS("eth5 is up, so that what is in another network name space may stand on it"));
	CASE("an address", NOTHING, (up(s.eth5), address(&s.k, ETH5, AF_INET, "10.0.0.5", 24)),
	     IS("eth5 has the address 10.0.0.5/24"));
	CASE("of IPv6", NOTHING, address(&s.k, ETH5, AF_INET6, "fd00::5", 64),
	     IS("eth5 has the address fd00::5/64"));
	CASE("a default route, before all else", NOTHING,
	     (address(&s.k, ETH5, AF_INET, "10.0.0.5", 24),
	      ROUTE(&s.k, .by = ETH5, .via = "10.0.0.1")),
	     IS("eth5 has a default route of the host: 10.0.0.1 (table 254)\n")
		     IS("eth5 has the address 10.0.0.5/24"));
	CASE("one of a table of its own", NOTHING,
	     route(&s.k, (Route){ .by = ETH5, .table = 4711 }),
	     IS("eth5 has a default route of the host: table 4711"));
	CASE("one of two ways", NOTHING, ROUTE(&s.k, .several = { ETH6, ETH5 }),
	     IS("eth5 has a default route of the host: table 254"));
	CASE("a route", NOTHING, ROUTE(&s.k, .to = "10.1.0.0", .prefix = 16, .by = ETH5),
	     IS("eth5 has the route 10.1.0.0/16 (table 254)"));
	CASE("by a nexthop object", NOTHING,
	     ROUTE(&s.k, .to = "10.1.0.0", .prefix = 16, .by = ETH5, .hop = 9),
	     IS("eth5 has the route 10.1.0.0/16 (table 254)"));
	CASE("by one of several", NOTHING, ROUTE(&s.k, .several = { ETH6, ETH5 }, .hop = 7),
	     IS("eth5 has a default route of the host: table 254"));
	CASE("by an object of another device", NOTHING, ROUTE(&s.k, .by = ETH6, .hop = 9), "");
	CASE("by one whose devices are not told", NOTHING, ROUTE(&s.k, .hop = 9),
	     "? routes do not tell their devices: sysctl net.ipv4.nexthop_compat_mode=1");
	CASE("by one that leads nowhere", NOTHING, ROUTE(&s.k, .hop = 9, .type = RTN_BLACKHOLE),
	     "");
	CASE("what the kernel makes of an address", NOTHING,
	     ROUTE(&s.k, .to = "10.0.0.5", .prefix = 32, .by = ETH5, .type = RTN_LOCAL), "");
	CASE(
		"many routes", NOTHING,
		{
			for (unsigned i = 0; i < 10; i++)
				route(&s.k, (Route){ .to = "10.1.0.0",
						     .prefix = 16,
						     .by = ETH5,
						     .table = 1 + i });
		},
		IS("eth5 has the route 10.1.0.0/16 (table 1)\n")
			IS("eth5 has the route 10.1.0.0/16 (table 2)\n") IS(
				"eth5 has the route 10.1.0.0/16 (table 3)\n")
				IS("eth5 has the route 10.1.0.0/16 (table 4)\n") IS(
					"eth5 has the route 10.1.0.0/16 (table 5)\n")
					IS("eth5 has the route 10.1.0.0/16 (table 6)\n") IS(
						"eth5 has the route 10.1.0.0/16 (table 7)\n")
						IS("eth5 has the route 10.1.0.0/16 (table 8)\n+2"));
}

TEST(what_a_nic_is_a_part_of_is_told_with_what_stands_on_that)
{
	CASE("a bridge, and its address", (link_(&s.k, 20, "br0", "bridge")),
	     (port_of(s.eth5, 20, "bridge"), address(&s.k, 20, AF_INET, "10.0.0.5", 24)),
	     IS("eth5 is a port of br0 (bridge)\n")
		     IS("br0 over eth5 has the address 10.0.0.5/24"));
	CASE("a bond, with a VLAN that has the default route",
	     (link_(&s.k, 20, "bond0", "bond"), on(link_(&s.k, 21, "bond0.5", "vlan"), 20)),
	     (port_of(s.eth5, 20, "bond"), ROUTE(&s.k, .by = 21, .via = "10.0.0.1")),
	     IS("bond0.5 over eth5 has a default route of the host: 10.0.0.1 (table 254)\n")
		     IS("eth5 is a port of bond0 (bond)\n")
			     IS("bond0 over eth5 carries bond0.5 (vlan)"));
	CASE("Open vSwitch", link_(&s.k, 20, "ovs-system", "openvswitch"),
	     port_of(s.eth5, 20, "openvswitch"), IS("eth5 is a port of ovs-system (openvswitch)"));
	CASE("a team, of whose ports the kernel says no kind", link_(&s.k, 20, "team0", "team"),
	     port_of(s.eth5, 20, NULL), IS("eth5 is a port of team0 (team)"));
	CASE("a master that is not to be seen", NOTHING, port_of(s.eth5, 20, NULL),
	     IS("eth5 is a port of another device"));
	CASE("a macvlan", on(link_(&s.k, 20, "mv0", "macvlan"), ETH5), NOTHING,
	     IS("eth5 carries mv0 (macvlan)"));
	CASE(
		"a veth whose other end has this number in another name space",
		{
			struct nlmsghdr *m = link_(&s.k, 20, "veth1", "veth");

			on(m, ETH5);
			mnl_attr_put_u32(m, IFLA_LINK_NETNSID, 0);
		},
		NOTHING, "");
	CASE(
		"a second device, which sysfs does not name",
		{
			struct nlmsghdr *m = link_(&s.k, 20, "eth9", NULL);

			mnl_attr_put_strz(m, IFLA_PARENT_DEV_NAME, NIC);
			up(m);
		},
		NOTHING,
		IS("eth9 is up, so that what is in another network name space may stand on it"));
	CASE("virtio's, which is one folder deeper",
	     (tree_remove(s.tree, OF_NIC "net"),
	      tree_write(s.tree, OF_NIC "virtio0/net/eth5/ifindex", "5\n")),
	     address(&s.k, ETH5, AF_INET, "10.0.0.5", 24), IS("eth5 has the address 10.0.0.5/24"));
	CASE("a subfunction", tree_write(s.tree, OF_NIC "mlx5_core.sf.2/sfnum", "88\n"), NOTHING,
	     IS("mlx5_core.sf.2 is a subfunction of it"));
	CASE("a device of vDPA", tree_write(s.tree, OF_NIC "vdpa0/driver_override", "(null)\n"),
	     NOTHING, IS("vdpa0 is a subfunction of it"));
}

#define ELSEWHERE "shows no device here: another network name space or port has it"

TEST(a_device_that_is_not_here_is_somebodys)
{
	CASE("in another name space", tree_remove(s.tree, OF_NIC "net"), NOTHING,
	     IS("mlx5_core " ELSEWHERE));
	CASE("it is here, but not in this name space of netlink",
	     tree_write(s.tree, OF_NIC "net/eth7/ifindex", "7\n"), NOTHING,
	     "? eth7 is none of the network devices in this name space");
	CASE("one port of a driver whose functions have several",
	     (tree_remove(s.tree, OF_NIC "driver"),
	      tree_link(s.tree, OF_NIC "driver", "../../../bus/pci/drivers/mlx4_core")),
	     NOTHING, "? a function of mlx4_core may have more ports than shows here");
	CASE("its RDMA device is",
	     tree_link(s.tree, OF_NIC "mlx5_core.rdma.0/driver", "../../mlx5_ib.rdma"), NOTHING,
	     IS("mlx5_core.rdma.0 " ELSEWHERE));
	CASE("InfiniBand without IPoIB has none",
	     (tree_remove(s.tree, OF_NIC "net"),
	      tree_write(s.tree, OF_NIC "infiniband/mlx5_0/node_type", "1: CA\n"),
	      rdma_device(&s.k, 3, "mlx5_0", "ib")),
	     NOTHING, "");
	CASE("RDMA over Ethernet has one",
	     (tree_remove(s.tree, OF_NIC "net"),
	      tree_write(s.tree, OF_NIC "infiniband/mlx5_0/node_type", "1: CA\n"),
	      rdma_device(&s.k, 3, "mlx5_0", "roce")),
	     NOTHING, IS("mlx5_core " ELSEWHERE));
	CASE("with IPoIB it has one",
	     (tree_remove(s.tree, OF_NIC "net"),
	      tree_write(s.tree, OF_NIC "infiniband/mlx5_0/node_type", "1: CA\n"),
	      tree_write(s.tree, "sys/module/ib_ipoib/refcnt", "0\n"),
	      rdma_device(&s.k, 3, "mlx5_0", "ib")),
	     NOTHING, IS("mlx5_core " ELSEWHERE));
	CASE("nobody's: it has no driver",
	     (tree_remove(s.tree, OF_NIC "net"), tree_remove(s.tree, OF_NIC "driver")), NOTHING,
	     "");
	CASE("a guest's: that is a holder",
	     (tree_remove(s.tree, OF_NIC "net"), tree_remove(s.tree, OF_NIC "driver"),
	      tree_link(s.tree, OF_NIC "driver", "../../../bus/pci/drivers/vfio-pci")),
	     NOTHING, "");
}

static void has_rdma(Scene *s)
{
	tree_write(s->tree, OF_NIC "infiniband/mlx5_0/node_type", "1: CA\n");
	tree_link(s->tree, OF_NIC "mlx5_core.rdma.0/driver", "../../mlx5_ib.rdma");
	rdma_device(&s->k, 2, "mlx5_1", "roce");
	rdma_device(&s->k, 3, "mlx5_0", "roce");
	rdma_port(&s->k, ETH5);
	rdma_object(&s->k, QP, 0, "ib_core");
	rdma_object(&s->k, QP, 0, "mlx5_ib");
}

/* promise M1 */
TEST(each_that_uses_rdma_is_told_by_name)
{
	CASE("what the driver has for itself", has_rdma(&s), NOTHING, "");
	CASE("a process, once", has_rdma(&s),
	     (rdma_object(&s.k, QP, 812, NULL), rdma_object(&s.k, MR, 812, NULL)),
	     IS("mlx5_0 is used by ib_write_bw (pid 812)"));
	CASE("one that has only opened it, and does not show", has_rdma(&s),
	     rdma_object(&s.k, CTX, 813, NULL), IS("mlx5_0 is used by a process (pid 813)"));
	CASE("of the kernel", has_rdma(&s),
	     (rdma_object(&s.k, CM, 0, "nvme_rdma"), rdma_object(&s.k, QP, 0, "ib_ipoib")),
	     IS("mlx5_0 is used by ib_ipoib of the kernel\n")
		     IS("mlx5_0 is used by nvme_rdma of the kernel"));
	CASE("another driver's than that of the device", has_rdma(&s),
	     rdma_object(&s.k, PD, 0, "mlx4_ib"), IS("mlx5_0 is used by mlx4_ib of the kernel"));
	CASE("of no process that there can be", has_rdma(&s),
	     rdma_object(&s.k, QP, UINT32_MAX, NULL),
	     IS("mlx5_0 is used by something that the kernel does not name"));
	CASE("of nobody that is said", has_rdma(&s), rdma_object(&s.k, QP, 0, NULL),
	     IS("mlx5_0 is used by something that the kernel does not name"));
	CASE("one RDMA device of both ports", has_rdma(&s), rdma_port(&s.k, ETH6),
	     IS("mlx5_0 is used by the port of eth6, which shares it"));
	CASE("a device that RDMA netlink does not tell of",
	     tree_write(s.tree, OF_NIC "infiniband/mlx5_7/node_type", "1: CA\n"), NOTHING,
	     "? who uses mlx5_7 is not known: No such device");
}

#define NVME "sys/class/nvme/nvme1/"

TEST(storage_over_a_nic_is_told)
{
	static const char servers[] = "NV SERVER   PORT USE HOSTNAME\nv4 0a000009  801   1 filer\n"
				      "v3 fd000000000000000000000000000009  801   1 filer6\n";

	CASE("NFS", tree_write(s.tree, "proc/net/nfsfs/servers", servers), way(&s.k, ETH5),
	     IS("eth5 is the way to filer (NFS)\n") IS("eth5 is the way to filer6 (NFS)"));
	CASE("NVMe over fabrics",
	     tree_write(s.tree, NVME "address", "traddr=10.0.0.9,trsvcid=4420,src_addr=10.0.0.5\n"),
	     way(&s.k, ETH5), IS("eth5 is the way to 10.0.0.9 (NVMe over fabrics, nvme1)"));
	CASE("by another way",
	     (tree_write(s.tree, "proc/net/nfsfs/servers", servers),
	      tree_write(s.tree, NVME "address", "traddr=10.0.0.9,trsvcid=4420\n")),
	     way(&s.k, ETH6), "");
	CASE("by none", tree_write(s.tree, "proc/net/nfsfs/servers", servers), NOTHING, "");
	CASE("over Fibre Channel, and a controller on PCI",
	     (tree_write(s.tree, NVME "address", "traddr=nn-0x1000:pn-0x2000\n"),
	      tree_write(s.tree, "sys/class/nvme/nvme0/address", "0000:43:00.0\n")),
	     way(&s.k, ETH5), "");
	CASE("a server by garbage", tree_write(s.tree, "proc/net/nfsfs/servers", "v4 zz 801 1 x\n"),
	     NOTHING, "? the way to this host's storage is not known: Bad message");
}

#define FAILS(type, error_) (s.k.replay.fails = (type), s.k.replay.error = (error_))
#define OF_RDMA(command) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)

TEST(what_the_kernel_does_not_answer_is_not_known)
{
	CASE("links", NOTHING, FAILS(RTM_GETLINK, -EPERM),
	     "? the kernel does not list its network devices: Operation not permitted");
	CASE("addresses", NOTHING, FAILS(RTM_GETADDR, -EAGAIN),
	     "? the kernel does not list addresses and routes: Resource temporarily unavailable");
	CASE("routes", NOTHING, FAILS(RTM_GETROUTE, -EPERM),
	     "? the kernel does not list addresses and routes: Operation not permitted");
	CASE("queue pairs", has_rdma(&s), FAILS(OF_RDMA(RDMA_NLDEV_CMD_RES_QP_GET), -EINVAL),
	     "? who uses mlx5_0 is not known: Invalid argument");
	CASE("ports", has_rdma(&s), FAILS(OF_RDMA(RDMA_NLDEV_CMD_PORT_GET), -EPERM),
	     "? who uses mlx5_0 is not known: Operation not permitted");
	CASE("a kernel that lists no contexts", has_rdma(&s),
	     FAILS(OF_RDMA(RDMA_NLDEV_CMD_RES_CTX_GET), -EINVAL), "");
	CASE(
		"a link without a name",
		{
			struct nlmsghdr *m;
			struct ifinfomsg *body = say(&s.k, RTM_NEWLINK, sizeof(*body), &m);
			body->ifi_index = 9;
		},
		NOTHING, "? the kernel does not list its network devices: Bad message");
}

TEST(a_function_that_is_not_there_is_told_apart)
{
	Scene s = scene_new();
	NicUse use = { .bdf = tree_bdf("0000:99:00.0") };

	assert_int_equal(nic_look(&s.tree->roots, &s.k.replay.netlink, &use), -ENOENT);
	sysfs_tree_free(s.tree);
}

/* ---- the kernel of this machine, in a network name space of the test's own ---- */

static void order(struct nlmsghdr *request, int flags)
{
	struct mnl_socket *socket = mnl_socket_open(NETLINK_ROUTE);
	char buffer[8192];
	ssize_t n;

	assert_non_null(socket);
	request->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	assert_true(mnl_socket_sendto(socket, request, request->nlmsg_len) > 0);
	n = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
	if (n < 0 || mnl_cb_run(buffer, (size_t)n, 0, 0, NULL, NULL) < 0)
		fail_msg("request %d: %s", request->nlmsg_type, strerror(errno));
	mnl_socket_close(socket);
}

/* A new device of this kind, a port of `master`, and up. */
static void make_link(unsigned index, const char *name, const char *kind, unsigned master)
{
	_cleanup_free_ Kernel *scratch = xcalloc(1, sizeof(Kernel));
	struct nlmsghdr *m = link_(scratch, index, name, kind);
	struct ifinfomsg *body = mnl_nlmsg_get_payload(m);

	up(m);
	body->ifi_change = IFF_UP;
	if (master)
		mnl_attr_put_u32(m, IFLA_MASTER, master);
	order(m, NLM_F_CREATE | NLM_F_EXCL);
}

static void make_address(unsigned index, int family, const char *text, unsigned prefix)
{
	_cleanup_free_ Kernel *scratch = xcalloc(1, sizeof(Kernel));

	address(scratch, index, family, text, prefix);
	put_address((void *)scratch->messages[0], IFA_LOCAL, family, text);
	order((void *)scratch->messages[0], NLM_F_CREATE | NLM_F_EXCL);
}

static void make_default_route(unsigned by)
{
	_cleanup_free_ Kernel *scratch = xcalloc(1, sizeof(Kernel));

	route(scratch, (Route){ .by = by, .via = "10.0.0.1", .table = 4711 });
	order((void *)scratch->messages[0], NLM_F_CREATE | NLM_F_EXCL);
}

/* A route by a nexthop object of a device that has a carrier, without which there is no hop. */
static void make_hop_of_lo(void)
{
	_cleanup_free_ Kernel *scratch = xcalloc(1, sizeof(Kernel));
	struct nlmsghdr *m = link_(scratch, 1, "lo", NULL);
	struct nhmsg *body;

	up(m);
	((struct ifinfomsg *)mnl_nlmsg_get_payload(m))->ifi_change = IFF_UP;
	order(m, 0);
	body = say(scratch, RTM_NEWNEXTHOP, sizeof(*body), &m);
	body->nh_family = AF_INET;
	mnl_attr_put_u32(m, NHA_ID, 9);
	mnl_attr_put_u32(m, NHA_OIF, 1);
	order(m, NLM_F_CREATE);
	ROUTE(scratch, .to = "10.9.0.0", .prefix = 16, .hop = 9);
	order((void *)scratch->messages[2], NLM_F_CREATE | NLM_F_EXCL);
}

static bool has(const NicUse *use, NicUserKind kind, const char *peer)
{
	for (size_t i = 0; i < use->n_users; i++)
		if (use->users[i].kind == kind && str_equal(use->users[i].peer, peer))
			return true;
	return false;
}

TEST(the_kernel_of_this_machine_is_understood)
{
	_cleanup_(nic_use_clear) NicUse use = { .bdf = tree_bdf(NIC) };
	Scene s = scene_new();

	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
		sysfs_tree_free(s.tree);
		print_message("no network name space can be made here\n");
		skip();
	}
	make_link(20, "br0", "bridge", 0);
	make_link(ETH5, "eth5", "veth", 20);
	make_address(20, AF_INET, "10.0.0.5", 24);
	make_address(20, AF_INET6, "fd00::5", 64);
	make_default_route(20);
	make_hop_of_lo();
	s.is_real = true;
	use = look(&s);
	assert_null(use.why); /* not even for the hop */
	assert_int_equal(use.users[0].kind, NIC_DEFAULT_ROUTE);
	assert_string_equal(use.users[0].peer, "10.0.0.1");
	assert_string_equal(use.users[0].what, "table 4711");
	assert_true(has(&use, NIC_MASTER, NULL));
	assert_true(has(&use, NIC_UPPER, NULL)); /* its other end */
	assert_true(has(&use, NIC_ADDRESS, "10.0.0.5/24"));
	assert_true(has(&use, NIC_ADDRESS, "fd00::5/64"));
	assert_true(has(&use, NIC_ROUTE, "10.0.0.0/24"));
	assert_true(has(&use, NIC_ROUTE, "fd00::/64"));
	sysfs_tree_free(s.tree);
}
