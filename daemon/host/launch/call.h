/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every call of a worker begins and ends with. */
#pragma once

#include "host/launch/child.h"
#include "host/launch/config.h"

/* Program, roots and verb, to which the caller appends. */
int worker_arguments_begin(const WorkerConfig *config, const char *verb, char ***ret);
/* Why there is no answer to parse; 0 when there is one. */
int worker_child_error(const Child *child);
