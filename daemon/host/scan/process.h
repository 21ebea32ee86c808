/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identifies a process, by what only the kernel writes into /proc/PID, and without waiting for it.
 */
#pragma once

#include <sys/types.h>

/* Real, effective, saved and file system uid, as seen in this user name space. */
#define PROCESS_UIDS 4
int process_uids(int process_fd, uid_t ret[PROCESS_UIDS]);

/*
 * The path in systemd's hierarchy of control groups: "/system.slice/gpupassd.service". -ENOENT:
 * there is none.
 */
int process_cgroup(int process_fd, char **ret);

/*
 * Which unit and container a process belongs to, from its /proc/PID/cgroup (v1, v2 or both).
 * *ret_unit: the last component that is a systemd service or scope. *ret_container: the id or name
 * of the outermost container, as its own tool lists it. NULL: none.
 */
void cgroup_identify(const char *text, char **ret_unit, char **ret_container);
