/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where libmnl is not there: nothing is known of any NIC, so that none is given away. */
#include "host/net/users.h"
#include "host/net/vf.h"
#include "util/xalloc.h"

const Netlink netlink_of_kernel = { NULL };

int nic_vf_look(const Roots *roots, const Netlink *netlink, bool set, NicUse *use)
{
	use->vf_why = xstrdup("this gpupass was built without libmnl");
	return 1;
}

void nic_users_tell(const Roots *roots, const Netlink *netlink, const NicFolder *folder,
		    NicUse *use)
{
	nic_use_unknown(use, xstrdup("this gpupass was built without libmnl"));
}
