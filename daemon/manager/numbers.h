/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of jobs: store/numbers.h. */
#pragma once

#include "manager/types.h"

/* Before any job: numbers go on behind all that is known. Reads and writes files. */
void manager_load_numbers(Manager *m);
/* Reserves the next thousand, on a thread, before the last one is used up. */
void manager_reserve_numbers(Manager *m);
/* At the end. Writes a file. */
void manager_give_numbers_back(Manager *m);
