/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who on this host uses the block devices of a controller. */
#pragma once

#include "host/nvme/look.h"

void nvme_holds_find(NvmeLook *look);
