/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A lock that the kernel holds for one process while it lives, also while it waits in the kernel
 * and cannot be killed, and that names the process. It is a record lock on an empty file of its
 * own, which stays when the lock goes.
 */
#pragma once

#include <sys/types.h>

/*
 * Makes directory and file when they are missing. Closing *ret_fd lets go, and so does closing any
 * other descriptor of this file. -EBUSY: another process has the lock.
 */
int pid_lock_take(const char *directory, const char *name, int *ret_fd);

/* Who has the lock; 0: nobody. Takes nothing, and keeps nobody from taking it. */
pid_t pid_lock_holder(const char *directory, const char *name);
