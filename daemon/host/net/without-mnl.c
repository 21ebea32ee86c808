/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where libmnl is not there: nothing is known of any NIC, so that none is given away. */
#include "host/net/nic.h"
#include "host/net/vf.h"
#include "util/xalloc.h"

const Netlink netlink_of_kernel = { NULL };

int nic_vf_look(const Roots *roots, const Netlink *netlink, bool set, NicUse *use)
{
	use->vf_why = xstrdup("this gpupass was built without libmnl");
	return 1;
}

int nic_look(const Roots *roots, const Netlink *netlink, NicUse *ret)
{
	nic_use_unknown(ret, xstrdup("this gpupass was built without libmnl"));
	return 0;
}
