/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has a board: what the picture shows of it goes into the board's mark, on a thread. */
#pragma once

#include "manager/types.h"

/* Who had the board last, and whether it was reset since; texts are borrowed from the picture. */
Tenancy manager_gpu_tenancy(const Manager *m, const Gpu *gpu);
/* Writes what the picture shows, where a board's mark does not say so. */
void manager_note_tenants(Manager *m);
