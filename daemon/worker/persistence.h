/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The worker's side of host/launch/worker-persistence.h. */
#pragma once

#include "worker/command.h"

/* The document; NULL when nvidia-smi cannot be started. */
char *persistence_command(const WorkerCommand *command);
