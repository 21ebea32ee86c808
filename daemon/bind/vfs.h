/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VFs that records name. Their NIC's driver makes them, so no boot finds them; and none is given
 * before its NIC keeps it to its own address.
 */
#pragma once

#include "bind/boot.h"

/*
 * Waits for exactly the NICs of which the report misses VFs, and has these made: no NIC, no wait.
 * As many as groups are declared with, too (groups.d in `config_dir`), for the number changes only
 * while nobody has one. What cannot be made has the reason in the report.
 */
void vfs_make(const BootMachine *machine, const char *config_dir, uint64_t wait_usec,
	      BootReport *report);

/* How many are missing that NICs can have which are there: no VF comes before its NIC's driver. */
size_t vfs_count_missing(int sysfs_fd, const BootReport *report);

/* Turns its spoof check on, and its trust off. Why that is not so, or NULL. */
char *vf_rule(const WorkerConfig *parts, const Bdf *vf);
