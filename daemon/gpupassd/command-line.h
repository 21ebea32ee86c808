/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupassd's command line. */
#pragma once

#include <stdbool.h>

#include "host/launch/config.h"

typedef struct Options {
	const char *config_directory;
	const char *state_directory;
	const char *runtime_directory;
	const char *libvirt_uri; /* NULL: as configured */
	WorkerConfig worker;
	bool session, check;
	bool elsewhere; /* the worker, or what it works on, is not the installed one */
} Options;

/*
 * true: run with *ret, whose strings are those of argv. false: exit with *ret_status, after --help,
 * --version, or wrong usage, which this function reports on stderr.
 */
bool options_parse(int argc, char **argv, Options *ret, int *ret_status);
