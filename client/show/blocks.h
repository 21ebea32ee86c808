/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of facts about one group, GPU or job, as `status`, `show` and `jobs` print them. */
#pragma once

#include "model/model.h"

/* "● pair0 - 2× RTX A6000, NV4" and what state it is in, and why. */
int block_group(Client *c, const World *w, const Group *group);
int block_gpu(Client *c, const World *w, const Gpu *gpu);
int block_job(Client *c, const Job *job);
int block_assignment(Client *c, const World *w, const Assignment *assignment);
