/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass-worker probe: the worker's part. */
#pragma once

#include "worker/command.h"

/* The answer, one line; NULL when it cannot be made. */
char *probe_command(const WorkerCommand *command);
