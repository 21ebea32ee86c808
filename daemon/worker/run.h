/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass-worker: its verbs. */
#pragma once

#include "host/device/driver-ops.h"
#include "worker/command.h"

/*
 * Runs the command and writes the answer to stdout; returns the exit status. `ops` NULL: the real
 * ones.
 */
int worker_command_run(const WorkerCommand *command, const DriverOps *ops);
