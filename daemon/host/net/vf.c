/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/vf.h"

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "host/net/folder.h"
#include "host/net/links.h"
#include "host/scan/sysfs.h"
#include "util/text.h"

/* One of a device's VFs. */
typedef struct Vf {
	unsigned link; /* of the NIC's device */
	uint32_t number;
	NicUse *use;
} Vf;

/* The NIC's links virtfn0, virtfn1, … -ENOENT: none is this one. */
static int find_number(int sysfs_fd, const Bdf *nic, const Bdf *vf, uint32_t *ret)
{
	for (unsigned i = 0; i <= UINT16_MAX; i++) {
		_cleanup_free_ char *name = strf("virtfn%u", i), *link = NULL;
		_cleanup_free_ char *path = sysfs_function_path(nic, name);
		int r = sysfs_link_name_if_any(sysfs_fd, path, &link);

		if (r < 0 || !link)
			return r < 0 ? r : -ENOENT;
		if (str_equal(link, BDF_TEXT(vf))) {
			*ret = i;
			return 0;
		}
	}
	return -ENOENT;
}

/* The kernel says -1 where the driver does not say (rtnl_fill_vfinfo() in net/core/rtnetlink.c). */
static bool take_setting(const struct nlattr *attribute, const Vf *vf, bool *ret)
{
	struct ifla_vf_spoofchk setting; /* a trust has the same form */

	if (!attribute || mnl_attr_get_payload_len(attribute) < sizeof(setting))
		return false;
	memcpy(&setting, mnl_attr_get_payload(attribute), sizeof(setting));
	if (setting.vf != vf->number || setting.setting > 1)
		return false;
	*ret = setting.setting;
	return true;
}

static void take_info(const struct nlattr *info, const Vf *vf)
{
	bool spoof_check, trusted;
	NetlinkAttributes of;

	netlink_nested(info, &of);
	if (!take_setting(of.of[IFLA_VF_SPOOFCHK], vf, &spoof_check) ||
	    !take_setting(of.of[IFLA_VF_TRUST], vf, &trusted))
		return;
	/* A NIC of several network devices, as mlx4's of two ports: the worst of them counts. */
	vf->use->spoof_check = spoof_check && (vf->use->spoof_check || !vf->use->vf_read);
	vf->use->trusted |= trusted;
	vf->use->vf_read = true;
}

static int take_link(const struct nlmsghdr *message, void *userdata)
{
	const struct nlattr *info;
	NetlinkAttributes of;

	if (netlink_body(message, RTM_NEWLINK, sizeof(struct ifinfomsg), &of) &&
	    of.of[IFLA_VFINFO_LIST])
		mnl_attr_for_each_nested(info, of.of[IFLA_VFINFO_LIST]) take_info(info, userdata);
	return 0;
}

static int read_rules(const Netlink *netlink, Vf *vf)
{
	char buffer[NETLINK_REQUEST_MAX];
	void *of;
	struct nlmsghdr *request =
		netlink_request(buffer, RTM_GETLINK, 0, sizeof(struct ifinfomsg), &of);

	((struct ifinfomsg *)of)->ifi_index = (int)vf->link;
	mnl_attr_put_u32(request, IFLA_EXT_MASK, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS);
	return netlink->ask(netlink, NETLINK_ROUTE, request, take_link, vf);
}

/* One at a time: a driver that has no trust has a spoof check all the same. */
static int set_rule(const Netlink *netlink, const Vf *vf, uint16_t type, uint32_t to)
{
	const struct ifla_vf_spoofchk setting = { .vf = vf->number, .setting = to };
	char buffer[NETLINK_REQUEST_MAX];
	void *of;
	struct nlmsghdr *request =
		netlink_request(buffer, RTM_SETLINK, NLM_F_ACK, sizeof(struct ifinfomsg), &of);
	struct nlattr *list, *info;

	((struct ifinfomsg *)of)->ifi_index = (int)vf->link;
	list = mnl_attr_nest_start(request, IFLA_VFINFO_LIST);
	info = mnl_attr_nest_start(request, IFLA_VF_INFO);
	mnl_attr_put(request, type, sizeof(setting), &setting);
	mnl_attr_nest_end(request, info);
	mnl_attr_nest_end(request, list);
	return netlink->ask(netlink, NETLINK_ROUTE, request, take_link, NULL);
}

static int look(const Netlink *netlink, bool set, const NetLinks *links, Vf *vf)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < links->n_items; i++) {
		if (links->items[i].over != links->items[i].index)
			continue;
		vf->link = links->items[i].index;
		if (set)
			r = set_rule(netlink, vf, IFLA_VF_SPOOFCHK, 1);
		if (set && r >= 0)
			r = set_rule(netlink, vf, IFLA_VF_TRUST, 0);
		/* What could not be set may be as it should be. */
		if (r >= 0 || r == -EOPNOTSUPP)
			r = read_rules(netlink, vf);
	}
	return r;
}

int nic_vf_look(const Roots *roots, const Netlink *netlink, bool set, NicUse *use)
{
	_cleanup_free_ char *path = sysfs_function_path(&use->bdf, "physfn"), *name = NULL;
	_cleanup_(nic_folder_clear) NicFolder folder = { 0 };
	_cleanup_(net_links_clear) NetLinks links = { 0 };
	const char *missing;
	Vf vf = { .use = use };
	Bdf nic;
	int r = sysfs_link_name_if_any(roots->sysfs_fd, path, &name);

	if (r < 0 || !name)
		return r;
	r = bdf_parse(name, &nic);
	if (r >= 0)
		r = find_number(roots->sysfs_fd, &nic, &use->bdf, &vf.number);
	if (r >= 0)
		r = nic_folder_read(roots->sysfs_fd, &nic, &folder);
	if (r >= 0)
		r = net_links_read(netlink, &links);
	if (r >= 0 && net_links_choose(&links, &nic, folder.nets, &missing) > 0)
		r = look(netlink, set, &links, &vf);
	if (r < 0)
		use->vf_why = strf("%s: %s", name, strerror(-r));
	else if (!use->vf_read)
		use->vf_why = strf("%s does not tell its spoof check and trust (its network device "
				   "is elsewhere, or its e-switch is in switchdev mode)",
				   name);
	return 1;
}
