/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/links.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "util/grow.h"
#include "util/text.h"

#include "links.inc"

static char *address_text(int family, const struct nlattr *address)
{
	char text[INET6_ADDRSTRLEN] = "";
	size_t size = family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);

	if ((family != AF_INET && family != AF_INET6) || !address ||
	    mnl_attr_get_payload_len(address) != size ||
	    !inet_ntop(family, mnl_attr_get_payload(address), text, sizeof(text)))
		return strf("of family %d", family);
	return xstrdup(text);
}

/* ---- links ---- */

const NetLink *net_links_find(const NetLinks *links, unsigned index)
{
	for (size_t i = 0; index > 0 && i < links->n_items; i++)
		if (links->items[i].index == index)
			return &links->items[i];
	return NULL;
}

static int take_link(const struct nlmsghdr *message, void *userdata)
{
	NetlinkAttributes of, info;
	const struct ifinfomsg *body = netlink_body(message, RTM_NEWLINK, sizeof(*body), &of);
	NetLinks *links = userdata;
	NetLink *link;

	if (!body)
		return 0;
	netlink_nested(of.of[IFLA_LINKINFO], &info);
	link = GROW(links->items, links->n_items);
	*link = (NetLink){
		.index = (unsigned)body->ifi_index,
		.master = netlink_number(of.of[IFLA_MASTER]),
		/* An index of another name space is no index here. */
		.lower = of.of[IFLA_LINK_NETNSID] ? 0 : netlink_number(of.of[IFLA_LINK]),
		.up = body->ifi_flags & IFF_UP,
		.name = netlink_text(of.of[IFLA_IFNAME]),
		.kind = netlink_text(info.of[IFLA_INFO_KIND]),
		.port_kind = netlink_text(info.of[IFLA_INFO_SLAVE_KIND]),
		.parent = netlink_text(of.of[IFLA_PARENT_DEV_NAME]),
	};
	return link->name && link->index > 0 ? 0 : -EBADMSG;
}

int net_links_read(const Netlink *netlink, NetLinks *ret)
{
	_cleanup_(net_links_clear) NetLinks links = { 0 };
	int r = netlink_dump(netlink, NETLINK_ROUTE, RTM_GETLINK, sizeof(struct ifinfomsg),
			     take_link, &links);

	if (r < 0)
		return r;
	*ret = links;
	links = (NetLinks){ 0 };
	return 0;
}

/* True: it was not known to stand on one of the NIC's. */
static bool spread(const NetLinks *links, NetLink *link)
{
	const NetLink *lower = link->over ? NULL : net_links_find(links, link->lower);
	NetLink *master = link->over ? (NetLink *)net_links_find(links, link->master) : NULL;

	if (lower && lower->over)
		link->over = lower->over;
	else if (master && !master->over)
		master->over = link->over;
	else
		return false;
	return true;
}

size_t net_links_choose(NetLinks *links, const Bdf *bdf, char *const *names,
			const char **ret_missing)
{
	size_t n = 0;

	*ret_missing = NULL;
	EACH (NetLink, link, links->items, links->n_items) {
		link->over =
			strv_contains(names, link->name) || str_equal(link->parent, BDF_TEXT(bdf))
				? link->index
				: 0;
		n += link->over > 0;
	}
	for (char *const *name = names; name && *name && !*ret_missing; name++) {
		bool found = SOME(links->items, links->n_items, str_equal(it->name, *name));

		*ret_missing = found ? NULL : *name;
	}
	for (bool more = n > 0; more;) {
		more = false;
		for (size_t i = 0; i < links->n_items; i++)
			more |= spread(links, &links->items[i]);
	}
	return n;
}

char *net_link_text(const NetLinks *links, const NetLink *link)
{
	const NetLink *own = net_links_find(links, link->over);

	return link->over == link->index || !own ? xstrdup(link->name)
						 : strf("%s over %s", link->name, own->name);
}

static char *with_kind(const char *name, const char *kind)
{
	return kind ? strf("%s (%s)", name, kind) : xstrdup(name);
}

static void tell_stack(const NetLinks *links, const NetLink *link, NicUse *use)
{
	const NetLink *master = net_links_find(links, link->master);
	const NetLink *lower = net_links_find(links, link->lower);
	const char *kind = link->port_kind || !master ? link->port_kind : master->kind;

	if (link->master)
		nic_use_add(use,
			    (NicUser){ .kind = NIC_MASTER,
				       .device = net_link_text(links, link),
				       .what = with_kind(master ? master->name : "another device",
							 kind) });
	if (lower && lower->over && link->over != link->index)
		nic_use_add(use, (NicUser){ .kind = NIC_UPPER,
					    .device = net_link_text(links, lower),
					    .what = with_kind(link->name, link->kind) });
}

/* ---- addresses and routes ---- */

typedef struct Teller {
	const NetLinks *links;
	NicUse *use;
} Teller;

static const NetLink *chosen(const NetLinks *links, unsigned index)
{
	const NetLink *link = net_links_find(links, index);

	return link && link->over ? link : NULL;
}

static int tell_address(const struct nlmsghdr *message, void *userdata)
{
	NetlinkAttributes of;
	const struct ifaddrmsg *body = netlink_body(message, RTM_NEWADDR, sizeof(*body), &of);
	const Teller *teller = userdata;
	const NetLink *link = body ? chosen(teller->links, body->ifa_index) : NULL;
	_cleanup_free_ char *text = NULL;

	if (!link)
		return 0;
	text = address_text(body->ifa_family,
			    of.of[IFA_LOCAL] ? of.of[IFA_LOCAL] : of.of[IFA_ADDRESS]);
	nic_use_add(teller->use, (NicUser){ .kind = NIC_ADDRESS,
					    .device = net_link_text(teller->links, link),
					    .peer = strf("%s/%u", text, body->ifa_prefixlen) });
	return 0;
}

/* Of several ways the first that is the NIC's. */
static const NetLink *way_of(const NetLinks *links, const NetlinkAttributes *of)
{
	const struct nlattr *several = of->of[RTA_MULTIPATH];
	const NetLink *link = chosen(links, netlink_number(of->of[RTA_OIF]));
	const char *at = several ? mnl_attr_get_payload(several) : NULL;
	size_t left = several ? mnl_attr_get_payload_len(several) : 0;
	struct rtnexthop hop;

	while (!link && left >= sizeof(hop)) {
		memcpy(&hop, at, sizeof(hop));
		if (hop.rtnh_len < sizeof(hop) || RTNH_ALIGN((size_t)hop.rtnh_len) > left)
			break;
		link = chosen(links, (unsigned)hop.rtnh_ifindex);
		at += RTNH_ALIGN((size_t)hop.rtnh_len);
		left -= RTNH_ALIGN((size_t)hop.rtnh_len);
	}
	return link;
}

static void add_route(const Teller *teller, const NetLink *link, const struct rtmsg *body,
		      const NetlinkAttributes *of)
{
	unsigned table = of->of[RTA_TABLE] ? netlink_number(of->of[RTA_TABLE]) : body->rtm_table;
	bool is_default = body->rtm_dst_len == 0;
	const struct nlattr *address = of->of[is_default ? RTA_GATEWAY : RTA_DST];
	_cleanup_free_ char *text = address ? address_text(body->rtm_family, address) : NULL;

	nic_use_add(teller->use, (NicUser){ .kind = is_default ? NIC_DEFAULT_ROUTE : NIC_ROUTE,
					    .device = net_link_text(teller->links, link),
					    .what = strf("table %u", table),
					    .peer = is_default ? TAKE_PTR(text)
							       : strf("%s/%u", str_or_empty(text),
								      body->rtm_dst_len) });
}

/* What the kernel makes by itself of an address, or of a device that is up, is told as those. */
static bool is_made(const struct rtmsg *body)
{
	return body->rtm_type == RTN_LOCAL || body->rtm_type == RTN_BROADCAST ||
	       body->rtm_type == RTN_ANYCAST || body->rtm_type == RTN_MULTICAST;
}

static int tell_route(const struct nlmsghdr *message, void *userdata)
{
	NetlinkAttributes of;
	const struct rtmsg *body = netlink_body(message, RTM_NEWROUTE, sizeof(*body), &of);
	const Teller *teller = userdata;
	const NetLink *link;

	if (!body || is_made(body))
		return 0;
	link = way_of(teller->links, &of);
	if (link)
		add_route(teller, link, body, &of);
	/* Of a nexthop object: the kernel tells its devices, unless that was turned off. */
	else if (of.of[RTA_NH_ID] && !of.of[RTA_OIF] && !of.of[RTA_MULTIPATH] &&
		 body->rtm_type == RTN_UNICAST)
		nic_use_unknown(teller->use, xstrdup("routes do not tell their devices: sysctl "
						     "net.ipv4.nexthop_compat_mode=1"));
	return 0;
}

int net_links_tell(const Netlink *netlink, const NetLinks *links, NicUse *use)
{
	Teller teller = { .links = links, .use = use };
	int r;

	for (size_t i = 0; i < links->n_items; i++)
		if (links->items[i].over)
			tell_stack(links, &links->items[i], use);
	r = netlink_dump(netlink, NETLINK_ROUTE, RTM_GETADDR, sizeof(struct ifaddrmsg),
			 tell_address, &teller);
	return r < 0 ? r
		     : netlink_dump(netlink, NETLINK_ROUTE, RTM_GETROUTE, sizeof(struct rtmsg),
				    tell_route, &teller);
}

/* ---- the way to an address ---- */

typedef struct Way {
	const NetLinks *links;
	const NetLink *link;
} Way;

static int take_way(const struct nlmsghdr *message, void *userdata)
{
	NetlinkAttributes of;
	Way *way = userdata;

	if (netlink_body(message, RTM_NEWROUTE, sizeof(struct rtmsg), &of))
		way->link = way_of(way->links, &of);
	return 0;
}

int net_links_way(const Netlink *netlink, const NetLinks *links, int family, const void *address,
		  const NetLink **ret)
{
	size_t size = family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	Way way = { .links = links };
	char buffer[NETLINK_REQUEST_MAX];
	struct nlmsghdr *request;
	struct rtmsg *body;
	void *of;
	int r;

	request = netlink_request(buffer, RTM_GETROUTE, 0, sizeof(*body), &of);
	body = of;
	body->rtm_family = (unsigned char)family;
	body->rtm_dst_len = (unsigned char)(8 * size);
	mnl_attr_put(request, RTA_DST, size, address);
	r = netlink->ask(netlink, NETLINK_ROUTE, request, take_way, &way);
	/* There is no way there at all. */
	if (r == -ENETUNREACH || r == -EHOSTUNREACH || r == -EACCES || r == -EINVAL)
		r = 0;
	*ret = way.link;
	return r;
}
