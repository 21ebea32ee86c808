/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which unit and container a process belongs to, from its /proc/PID/cgroup (v1, v2 or both). */
#pragma once

#include "gpupass/cleanup.h"

/*
 * *ret_unit: the last component that is a systemd service or scope. *ret_container: the id or name
 * of the outermost container, as its own tool lists it. NULL: none.
 */
void cgroup_identify(const char *text, char **ret_unit, char **ret_container);
