/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The virtual machines of Proxmox VE, by a worker (host/launch/worker.h):
 *   gpupass-worker [--root=DIR] machines
 * It answers with one document of schema org.gpupass1.machines/1 (host/wire/machines.h).
 */
#pragma once

#include "core/facts/machine.h"
#include "host/launch/config.h"

/* -ETIMEDOUT: what serves /etc/pve does not answer, and the worker is left alone. */
int worker_machines(const WorkerConfig *config, uint64_t timeout_usec, Machines **ret);
