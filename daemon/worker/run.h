/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass-worker: its verbs. */
#pragma once

#include "worker/command.h"

/* Runs the command and writes the answer to stdout; returns the exit status. */
int worker_command_run(const WorkerCommand *command);
