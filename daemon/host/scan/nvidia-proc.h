/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the nvidia driver reports about a GPU that is bound to it, in /proc/driver/nvidia/gpus. */
#pragma once

#include "gpupass/cleanup.h"
#include "util/bdf.h"

/*
 * *ret_uuid is NULL and *ret_minor -1 if they are not known: the function has another driver or
 * does not exist, or the driver has not initialised the GPU yet (its UUID is then question marks).
 */
void nvidia_proc_read(int proc_fd, const Bdf *bdf, char **ret_uuid, int *ret_minor);
