/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/nic.h"

#include "host/net/links.h"
#include "host/net/rdma.h"
#include "host/net/storage.h"
#include "host/net/vf.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/*
 * Of these drivers one function has the devices of several ports, of which another name space may
 * have some: where less than two show, nobody says whether there are more.
 */
static bool has_more_ports(const NicFolder *folder, size_t n_nets)
{
	return n_nets < 2 &&
	       (str_equal(folder->driver, "mlx4_core") || str_equal(folder->driver, "cxgb4") ||
		str_equal(folder->driver, "nfp"));
}

static void tell_folder(const NicFolder *folder, size_t n_nets, bool needs_net, NicUse *use)
{
	if (n_nets == 0 && needs_net)
		nic_use_add(use,
			    (NicUser){ .kind = NIC_ELSEWHERE, .device = xstrdup(folder->driver) });
	if (has_more_ports(folder, n_nets))
		nic_use_unknown(use, strf("a function of %s may have more ports than shows here",
					  folder->driver));
	if (folder->rdma_part && !folder->rdmas)
		nic_use_add(use, (NicUser){ .kind = NIC_ELSEWHERE,
					    .device = xstrdup(folder->rdma_part) });
	for (char **name = folder->subfunctions; name && *name; name++)
		nic_use_add(use, (NicUser){ .kind = NIC_SUBFUNCTION, .device = xstrdup(*name) });
}

/*
 * Of what another name space has, nothing shows here but that the device below it is up. What it
 * carries stops when that goes down. Where more is known, that says it better.
 */
static void tell_up(const NetLinks *links, NicUse *use)
{
	for (size_t i = 0; use->n_users == 0 && i < links->n_items; i++) {
		const NetLink *link = &links->items[i];

		if (link->over == link->index && link->up)
			nic_use_add(use,
				    (NicUser){ .kind = NIC_UP, .device = xstrdup(link->name) });
	}
}

static void cannot(NicUse *use, const char *what, int error)
{
	if (error < 0)
		nic_use_unknown(use, strf("%s: %s", what, strerror(-error)));
}

void nic_users_tell(const Roots *roots, const Netlink *netlink, const NicFolder *folder,
		    NicUse *use)
{
	_cleanup_(net_links_clear) NetLinks links = { 0 };
	/* An InfiniBand port has a network device only by ib_ipoib. */
	bool needs_net =
		!folder->rdmas || faccessat(roots->sysfs_fd, "module/ib_ipoib", F_OK, 0) >= 0;
	const char *missing = NULL;
	size_t n;
	int r = net_links_read(netlink, &links);

	cannot(use, "the kernel does not list its network devices", r);
	if (r < 0)
		return;
	n = net_links_choose(&links, &use->bdf, folder->nets, &missing);
	if (missing)
		nic_use_unknown(
			use, strf("%s is none of the network devices in this name space", missing));
	if (n > 0) {
		cannot(use, "the kernel does not list addresses and routes",
		       net_links_tell(netlink, &links, use));
		cannot(use, "the way to this host's storage is not known",
		       storage_tell(roots, netlink, &links, use));
	}
	for (char **rdma = folder->rdmas; rdma && *rdma; rdma++) {
		_cleanup_free_ char *what = strf("who uses %s is not known", *rdma);
		bool is_ib = false;

		cannot(use, what,
		       rdma_tell(netlink, *rdma, folder->rdma_module, &links, use, &is_ib));
		needs_net |= !is_ib;
	}
	tell_folder(folder, n, needs_net, use);
	tell_up(&links, use);
}

static void name_processes(int proc_fd, NicUse *use)
{
	for (size_t i = 0; i < use->n_users; i++) {
		_cleanup_free_ char *path = strf("%ld/comm", (long)use->users[i].pid);

		if (use->users[i].pid > 0)
			(void)file_read_line_at(proc_fd, path, &use->users[i].command);
	}
}

int nic_look(const Roots *roots, const Netlink *netlink, NicUse *ret)
{
	_cleanup_(nic_folder_clear) NicFolder folder = { 0 };
	int r = nic_folder_read(roots->sysfs_fd, &ret->bdf, &folder);

	if (r >= 0)
		r = nic_vf_look(roots, netlink, false, ret);
	if (r < 0)
		return r;
	/* Nothing of the host is on a function without a driver; who has vfio's is a holder. */
	if (!folder.driver || sysfs_on_vfio(roots->sysfs_fd, &ret->bdf, folder.driver))
		return 0;
	nic_users_tell(roots, netlink, &folder, ret);
	name_processes(roots->proc_fd, ret);
	return 0;
}
