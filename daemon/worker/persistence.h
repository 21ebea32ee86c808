/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass-worker persistence: the worker's part. */
#pragma once

#include "worker/command.h"

/* ASK_PERSISTENCE, ASK_SET_PERSISTENCE */
int persistence_modes(const WorkerCommand *command, PersistenceAnswer *answer);
