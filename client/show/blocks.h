/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of facts about one group, GPU or job, as `status`, `show` and `jobs` print them. */
#pragma once

#include "model/model.h"

/* "● pair0 - 2× RTX A6000, NV4" and what state it is in, and why. */
void block_group(Client *c, const World *w, const Group *group);
void block_gpu(Client *c, const World *w, const Gpu *gpu);
void block_job(Client *c, const Job *job);
void block_assignment(Client *c, const World *w, const Assignment *assignment);
