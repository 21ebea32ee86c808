/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass-worker probe: what the worker does of it. */
#pragma once

#include "worker/command.h"

/* The answer, one line; NULL when memory is out. */
char *probe_command(const WorkerCommand *command);
