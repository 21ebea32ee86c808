/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass-worker probe: the worker's part. */
#pragma once

#include "worker/command.h"

/* ASK_LINKS, ASK_REGISTERS */
int probe_links(const WorkerCommand *command, ProbeAnswer *answer);
