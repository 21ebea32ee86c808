/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the nvidia driver says of a GPU it is bound to, in /proc/driver/nvidia/gpus. */
#pragma once

#include "core/base/bdf.h"
#include "gpupass/cleanup.h"

/*
 * *ret_uuid NULL and *ret_minor -1 where it is not told: another driver, no such function, or a
 * GPU that the driver has not initialised yet (its UUID is then question marks).
 */
int nvidia_proc_read(int proc_fd, const Bdf *bdf, char **ret_uuid, int *ret_minor);
