/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpupass-bind reported of this boot. */
#pragma once

#include "manager/types.h"

/* Reads boot.json in the directory. A report that cannot be read becomes a note. */
void manager_load_boot(Manager *m, const char *runtime_directory);
/*
 * Why a function of this group was not bound at boot, if it still is not; else NULL. Caller frees.
 */
char *manager_boot_reason(const Manager *m, const Group *group);
