/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot.h's machine, for real: probes run in processes of their own, under one deadline. */
#pragma once

#include "bind/boot.h"

typedef struct RealMachine {
	BootMachine machine;
} RealMachine;

int real_machine_init(const char *sysfs_dir, RealMachine *ret);
void real_machine_clear(RealMachine *real);
