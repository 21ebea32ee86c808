/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a VF may do, by answers of the kernel's layout (net/core/rtnetlink.c). */
#include "rig/test.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "host/net/nic.h"
#include "host/net/vf.h"
#include "rig/sysfs-tree.h"
#include "util/text.h"

#define NIC "0000:42:00.0"
#define OF_NIC "sys/bus/pci/devices/" NIC "/"
#define VF "0000:42:00.2"
#define OF_VF "sys/bus/pci/devices/" VF "/"
#define ETH5 5
#define MESSAGE_SIZE 1024

/* ---- what plays the kernel, and the NIC's driver ---- */

typedef struct Kernel {
	Netlink netlink;
	SysfsTree *tree;
	uint32_t rules[2]; /* of the VF: spoof check, trust; UINT32_MAX: the driver does not say */
	bool no_rules;	   /* it tells nothing of VFs */
	const uint32_t *second; /* what it says of the VF once more, by its other port */
	int refuses[2];		/* what setting each gives */
	int fails;		/* what reading gives */
	unsigned n_set;
} Kernel;

static void put_info(struct nlmsghdr *m, uint32_t number, const uint32_t rules[2])
{
	const struct ifla_vf_spoofchk check = { number, rules[0] };
	const struct ifla_vf_trust trust = { number, rules[1] };
	const struct ifla_vf_mac mac = { .vf = number };
	struct nlattr *info = mnl_attr_nest_start(m, IFLA_VF_INFO);

	mnl_attr_put(m, IFLA_VF_MAC, sizeof(mac), &mac);
	mnl_attr_put(m, IFLA_VF_SPOOFCHK, sizeof(check), &check);
	mnl_attr_put(m, IFLA_VF_TRUST, sizeof(trust), &trust);
	mnl_attr_nest_end(m, info);
}

/* The NIC's link; with its VFs, of which the second one is ours, where they are asked for. */
static int say_link(const Kernel *kernel, bool dump, NetlinkEach each, void *userdata)
{
	static const uint32_t others[2] = { 1, 0 };
	char buffer[MESSAGE_SIZE] = { 0 };
	struct nlmsghdr *m = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *body;
	struct nlattr *list;

	m->nlmsg_type = RTM_NEWLINK;
	body = mnl_nlmsg_put_extra_header(m, sizeof(*body));
	body->ifi_index = ETH5;
	mnl_attr_put_strz(m, IFLA_IFNAME, "eth5");
	if (!dump) {
		list = mnl_attr_nest_start(m, IFLA_VFINFO_LIST);
		put_info(m, 0, others);
		if (!kernel->no_rules)
			put_info(m, 1, kernel->rules);
		if (kernel->second)
			put_info(m, 1, kernel->second);
		mnl_attr_nest_end(m, list);
	}
	return each(m, userdata);
}

/* As do_setvfinfo() takes it. */
static int set_rule(Kernel *kernel, const struct nlmsghdr *request)
{
	const struct ifinfomsg *body = mnl_nlmsg_get_payload(request);
	const struct nlattr *list = mnl_nlmsg_get_payload_offset(request, sizeof(*body));
	const struct nlattr *info = mnl_attr_get_payload(list), *of = mnl_attr_get_payload(info);
	const struct ifla_vf_spoofchk *setting = mnl_attr_get_payload(of);
	bool trust = mnl_attr_get_type(of) == IFLA_VF_TRUST;

	assert_int_equal(body->ifi_index, ETH5);
	assert_true(request->nlmsg_flags & NLM_F_ACK);
	assert_int_equal(mnl_attr_get_type(list), IFLA_VFINFO_LIST);
	assert_int_equal(mnl_attr_get_type(info), IFLA_VF_INFO);
	assert_true(trust || mnl_attr_get_type(of) == IFLA_VF_SPOOFCHK);
	assert_int_equal(setting->vf, 1);
	kernel->n_set++;
	if (kernel->refuses[trust] == 0)
		kernel->rules[trust] = setting->setting;
	return kernel->refuses[trust];
}

static int answer(const Netlink *netlink, _unused_ int protocol, const struct nlmsghdr *request,
		  NetlinkEach each, void *userdata)
{
	Kernel *kernel = (Kernel *)netlink;

	if (request->nlmsg_type == RTM_SETLINK)
		return set_rule(kernel, request);
	return kernel->fails ? kernel->fails
			     : say_link(kernel, request->nlmsg_flags & NLM_F_DUMP, each, userdata);
}

static Kernel kernel_new(void)
{
	Kernel k = { .netlink = { answer }, .tree = sysfs_tree_new(NULL) };
	PciFunction nic = { .bdf = tree_bdf(NIC),
			    .class_code = 0x020000,
			    .driver = (char *)"mlx5_core",
			    .iommu_group = 7,
			    .numa_node = -1 };
	PciFunction vf = {
		.bdf = tree_bdf(VF), .class_code = 0x020000, .iommu_group = 8, .numa_node = -1
	};

	tree_add_function(k.tree, &nic);
	tree_write(k.tree, OF_NIC "net/eth5/ifindex", "5\n");
	tree_add_function(k.tree, &vf);
	tree_link(k.tree, OF_VF "physfn", "../" NIC);
	tree_link(k.tree, OF_NIC "virtfn0", "../0000:42:00.1");
	tree_link(k.tree, OF_NIC "virtfn1", "../" VF);
	return k;
}

static void check(const char *name, Kernel *k, bool set, const char *expected)
{
	_cleanup_(nic_use_clear) NicUse use = { .bdf = tree_bdf(VF) };
	_cleanup_free_ char *is = NULL;

	if (set)
		assert_int_equal(nic_vf_look(&k->tree->roots, &k->netlink, true, &use), 1);
	else
		assert_int_equal(nic_look(&k->tree->roots, &k->netlink, &use), 0);
	assert_true(use.vf_read != (use.vf_why != NULL));
	is = use.vf_read
		     ? strf("check %d, trust %d, set %u", use.spoof_check, use.trusted, k->n_set)
		     : strdup(use.vf_why);
	sysfs_tree_free(k->tree);
	if (!strstr(is, expected))
		fail_msg("%s: %s instead of %s", name, is, expected);
}

#define CASE(name, set, expected, ...)                                                             \
	do {                                                                                       \
		Kernel k = kernel_new();                                                           \
                                                                                                   \
		__VA_ARGS__;                                                                       \
		check(name, &k, set, expected);                                                    \
	} while (0)
#define NOTHING (void)0
#define NOT_TOLD NIC " does not tell its spoof check and trust"

/* promises M3 */
TEST(what_a_vf_may_do_is_what_its_nic_says_of_it_and_nothing_else)
{
	CASE("as it should be", false, "check 1, trust 0, set 0", k.rules[0] = 1);
	CASE("no check", false, "check 0, trust 0, set 0", NOTHING);
	CASE("trusted", false, "check 1, trust 1", k.rules[0] = k.rules[1] = 1);
	/* mlx4's has a network device a port: the last one's word is not all. */
	CASE("one port has no check", false, "check 0, trust 0",
	     k.second = (const uint32_t[]){ 1, 0 });
	CASE("one port trusts it", false, "check 1, trust 1",
	     (k.rules[0] = k.rules[1] = 1, k.second = (const uint32_t[]){ 1, 0 }));
	CASE("the other port does", false, "check 1, trust 1",
	     (k.rules[0] = 1, k.second = (const uint32_t[]){ 1, 1 }));
	CASE("it does not say", false, NOT_TOLD, k.rules[0] = UINT32_MAX);
	CASE("nor of trust", false, NOT_TOLD, (k.rules[0] = 1, k.rules[1] = UINT32_MAX));
	CASE("switchdev", false, NOT_TOLD, k.no_rules = true);
	CASE("no answer", false, NIC ": Input/output error", k.fails = -EIO);
	CASE("its device is elsewhere", false, NOT_TOLD, tree_remove(k.tree, OF_NIC "net"));
	CASE("it is none of the NIC's", false, NIC ": No such file",
	     tree_remove(k.tree, OF_NIC "virtfn1"));
}

TEST(a_vf_gets_its_spoof_check_and_no_trust)
{
	CASE("set", true, "check 1, trust 0, set 2", k.rules[1] = 1);
	CASE("not permitted", true, NIC ": Operation not permitted", k.refuses[0] = -EPERM);
	CASE("has no check", true, "check 0, trust 0", k.refuses[0] = -EOPNOTSUPP);
	CASE("has trust that cannot be set", true, "check 1, trust 0, set 2",
	     k.refuses[1] = -EOPNOTSUPP);
}
