/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass-worker memory: the worker's part. */
#pragma once

#include "worker/command.h"

/* The answer, one line; NULL when sysfs cannot be opened. */
char *memory_command(const WorkerCommand *command);
