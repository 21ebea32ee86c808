/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends what the daemon's host has until its process ends. */
#pragma once

#include "host/host/host.h"
#include "host/launch/ready.h"
#include "util/file.h"

static inline void real_host_done(RealHost *host)
{
	host->sysfs_fd = close_fd(host->sysfs_fd);
	host->proc_fd = close_fd(host->proc_fd);
	host->virt = NULL;
	host->worker.ready = ready_parts_free(host->worker.ready);
	host->image = initramfs_free(host->image);
}
