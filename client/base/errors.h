/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Failures as an operator sees them: a named error, a text of several lines, an exit code.
 *
 * The first line says what could not be done and why; lines "Cause:", "State:" and "Remedy:"
 * follow. The daemon sends its refusals in that form (dbus.h); errors of the bus itself get that
 * form here.
 */
#pragma once

#include <jansson.h>

#include "base/terminal.h"
#include "gpupass/errors.h"

typedef struct Failure {
	char *name;    /* D-Bus error name */
	char *message; /* as it came; cleaned when printed for people */
	GpupassExit code;
	bool plain; /* no name to look up is printed, as of a mistake in the command line */
} Failure;

/* The exit code of a D-Bus error name; GPUPASS_EXIT_FAILED for names unknown here. */
GpupassExit error_exit_code(const char *name);
/* The full D-Bus name of one of gpupass' own errors. */
const char *error_name(GpupassError error);

Failure *failure_new(const char *name, GpupassExit code, const char *message);
/*
 * From an error that came over the bus. `message` may be NULL. Errors of the bus itself, such as
 * "no such service", get a text that says what to do.
 */
Failure *failure_from_bus(const char *name, const char *message);
/* From the errno of a connection that could not be made or broke. */
Failure *failure_from_errno(int error, const char *what);

void failure_print(const Failure *failure, const Terminal *t);
/*
 * The document org.gpupass1.error/1. `job` (may be NULL) is the job that failed; its reference
 * is taken.
 */
json_t *failure_json(const Failure *failure, json_t *job);

DECLARE_FREE(Failure, failure_free)
