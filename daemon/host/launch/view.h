/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What systemd mounts and allows for a part one by one is as it was when the part started. Of most
 * parts that never changes. The prober (units/gpupass-prober@.service.in) is shown the loader's
 * cache, which ldconfig replaces, and nvidia-persistenced's directory, which that makes when it
 * starts; and it may open what NVIDIA's names in /proc/devices stood for.
 */
#pragma once

#include <stdint.h>

/*
 * A number that is another one when a prober that starts now would see something else. `root` and
 * `proc`: "/" and "/proc". What is not there, or cannot be read, counts as such.
 */
uint64_t view_of_prober(const char *root, const char *proc);
