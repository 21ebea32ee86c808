/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The worker's side of host/launch/worker.h: its command line. */
#pragma once

#include "core/facts/persistence.h"
#include "host/wire/move.h"

typedef enum WorkerVerb {
	WORKER_INSPECT,
	WORKER_MOVE,
	WORKER_PROBE,
	WORKER_RESET,
	WORKER_EXAMINE,
	WORKER_PERSISTENCE,
} WorkerVerb;

typedef struct WorkerCommand {
	const char *sysfs_dir;
	const char *proc_dir;
	const char *root_dir;	 /* to examine: where etc, run and usr are */
	const char *known_image; /* to examine: key of the initramfs that is known; NULL: none */
	WorkerVerb verb;
	DriverTarget target; /* to move; to reset: its bdf only */
	const char *nvml;    /* NVML's library; NULL: where the loader finds it */
	Bdf *functions;	     /* to inspect, to probe; to examine: none, or a GPU and its ports */
	size_t n_functions;
	bool capabilities; /* inspect */
	bool awake;	   /* inspect, with capabilities: of what is in D0 */
	bool mmio;	   /* probe: registers instead of NVML */
	bool slot;	   /* reset */
	/* persistence: of the one function; unknown: it is only read */
	PersistenceMode set;
	const char *set_to; /* as it was given; NULL: it was not */
} WorkerCommand;

/*
 * true with *ret to run; strings are argv's. false with *ret_status, the exit status, when there
 * is nothing to do: --help, --version, or wrong usage, which it has said on stderr.
 */
bool worker_command_parse(int argc, char **argv, WorkerCommand *ret, int *ret_status);

void worker_command_clear(WorkerCommand *command);
