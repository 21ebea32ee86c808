/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/users.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "host/net/links.h"
#include "host/net/rdma.h"
#include "host/net/storage.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/*
 * An InfiniBand port has a network device only by ib_ipoib. Where that is not loaded, none can be
 * elsewhere.
 */
static bool needs_no_net(int sysfs_fd, const NicFolder *folder, const Bdf *bdf)
{
	if (!folder->rdmas || faccessat(sysfs_fd, "module/ib_ipoib", F_OK, 0) >= 0)
		return false;
	for (char **rdma = folder->rdmas; *rdma; rdma++) {
		_cleanup_free_ char *name = strf("infiniband/%s/ports", *rdma);
		_cleanup_free_ char *ports = sysfs_function_path(bdf, name);
		_cleanup_strv_ char **numbers = NULL;

		if (dir_list_at(sysfs_fd, ports, "", &numbers) < 0 || !numbers)
			return false;
		for (char **number = numbers; *number; number++) {
			_cleanup_free_ char *path = strf("%s/%s/link_layer", ports, *number);
			_cleanup_free_ char *layer = NULL;

			if (file_read_line_at(sysfs_fd, path, &layer) < 0 ||
			    !str_equal(layer, "InfiniBand"))
				return false;
		}
	}
	return true;
}

static void tell_folder(int sysfs_fd, const NicFolder *folder, size_t n_nets, NicUse *use)
{
	if (n_nets == 0 && !needs_no_net(sysfs_fd, folder, &use->bdf))
		nic_use_add(use,
			    (NicUser){ .kind = NIC_ELSEWHERE, .device = xstrdup(folder->driver) });
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
	tell_folder(roots->sysfs_fd, folder, n, use);
	if (n > 0) {
		cannot(use, "the kernel does not list addresses and routes",
		       net_links_tell(netlink, &links, use));
		cannot(use, "the way to this host's storage is not known",
		       storage_tell(roots, netlink, &links, use));
	}
	for (char **rdma = folder->rdmas; rdma && *rdma; rdma++) {
		_cleanup_free_ char *what = strf("who uses %s is not known", *rdma);

		cannot(use, what, rdma_tell(netlink, *rdma, folder->rdma_module, &links, use));
	}
	tell_up(&links, use);
}
