/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the nvidia driver reports in /proc/driver/nvidia, of itself and of GPUs bound to it. */
#pragma once

#include "util/bdf.h"

/*
 * *ret_uuid is NULL and *ret_minor -1 if they are not known: the function has another driver or
 * does not exist, or the driver has not initialised the GPU yet (its UUID is then question marks).
 */
void nvidia_proc_read(int proc_fd, const Bdf *bdf, char **ret_uuid, int *ret_minor);

/* "550.54.15"; NULL: not loaded, or not understood. */
char *nvidia_proc_version(int proc_fd);
