/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NVIDIA's own tool. Where nvidia-persistenced runs, it asks that to let go of a GPU, and elsewhere
 * NVML; NVML's own call does not make nvidia-persistenced let go (kubernetes-sigs/
 * dra-driver-nvidia-gpu, issue 1037 and pull request 1038).
 */
#pragma once

#include "core/base/bdf.h"

/*
 * Runs ROOT/usr/bin/nvidia-smi -i GPU -pm 0. 0: it ran, and has ended; with *ret_why, a sentence,
 * where it failed or was ended at its deadline. What it did is to be read. -ENOENT: it cannot be
 * run, *ret_why says why, and nothing was changed. `root` is "" for this host; NULL: there is none.
 */
int nvidia_smi_persistence_off(const char *root, const Bdf *gpu, char **ret_why);
