/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the marks of boards in step with the picture, on a thread. */
#pragma once

#include "manager/types.h"

/*
 * Who had the board last, and whether it was reset since. Its texts are borrowed from the picture.
 */
Tenancy manager_gpu_tenancy(const Manager *m, const Gpu *gpu);
/* Writes the marks that differ from what the picture shows. */
void manager_note_tenants(Manager *m);
