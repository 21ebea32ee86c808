/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identifies a process, by what only the kernel writes into /proc/PID, and without waiting for it.
 */
#pragma once

#include <sys/types.h>

#include "gpupass/cleanup.h"

/* Real, effective, saved and file system uid, as seen in this user name space. */
#define PROCESS_UIDS 4
int process_uids(int process_fd, uid_t ret[PROCESS_UIDS]);

/*
 * The path in systemd's hierarchy of control groups: "/system.slice/gpupassd.service". -ENOENT:
 * there is none.
 */
int process_cgroup(int process_fd, char **ret);
