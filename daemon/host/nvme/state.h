/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a controller says of itself, by libnvme. The kernel waits for a controller that does not
 * answer as long as its own timeouts and resets take, which is minutes: in a worker process only.
 * state-none.c and erase-none.c are where there is no libnvme.
 */
#pragma once

#include "core/nvme/state.h"
#include "host/nvme/controller.h"

/* -ENOENT, -ENODEV as above. What it does not say is in ret->unread. */
int nvme_state_read(const Roots *roots, const NvmeOpens *opens, const Bdf *bdf, NvmeState *ret);
/* The same of an open controller. */
void nvme_state_read_fd(int fd, NvmeState *state);
