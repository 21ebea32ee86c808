/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Without libnvme. */

#include "host/nvme/erase.h"

int nvme_erase_begin(const Roots *roots, const NvmeOpens *opens, const Bdf *bdf, NvmeWay way,
		     const char *serial, NvmeErase *ret)
{
	return -EOPNOTSUPP;
}
