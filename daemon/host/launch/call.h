/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The beginning and the end of every call of a worker. */
#pragma once

#include "host/launch/child.h"
#include "host/launch/config.h"

/* Program, roots and verb; the caller appends the rest. */
int worker_arguments_begin(const WorkerConfig *config, const char *verb, char ***ret);
/* Why there is no answer to parse; 0 if there is one. */
int worker_child_error(const Child *child);
