/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The beginning and the end of every call of a worker. */
#pragma once

#include "host/launch/child.h"
#include "host/launch/config.h"
#include "host/launch/part.h"

/* Program, roots and verb; the caller appends the rest. */
char **worker_arguments_begin(const WorkerConfig *config, const char *verb);
/* Why there is no answer to parse; 0 if there is one. */
int worker_child_error(const Child *child);

/* One question to this part, or to a child where there is none; waits for it. */
int worker_run_one(const WorkerConfig *config, const char *part, char *const *argv,
		   size_t output_max, uint64_t timeout_usec, Children **ret);
