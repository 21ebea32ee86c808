/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the virtual machines of Proxmox VE. For worker processes: /etc/pve is a file system of a
 * daemon (pmxcfs), which may make a reader wait for ever.
 */
#pragma once

#include "core/facts/machine.h"

/* Below root_fd ("/"). -ENOENT: there is no /etc/pve/qemu-server. Any other -errno: not all of it
 * could be read. */
int machine_files_read(int root_fd, int proc_fd, Machines **ret);
