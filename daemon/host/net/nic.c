/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/nic.h"

#include "host/net/users.h"
#include "host/net/vf.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"

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
