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
	WORKER_CONFIG,
	WORKER_UEVENTS,
	WORKER_MEMORY,
	WORKER_MACHINES,
} WorkerVerb;

typedef struct WorkerCommand {
	const char *sysfs_dir;
	const char *proc_dir;
	const char *root_dir; /* examine, machines, persistence: where etc, run and usr are */
	WorkerVerb verb;
	DriverTarget target; /* move; reset: only its bdf */
	const char *nvml;    /* NVML's library; NULL: where the loader finds it */
	Bdf *functions;	     /* inspect, probe, memory; examine: none, or a GPU and its ports */
	size_t n_functions;
	bool without_image; /* examine: the host, but not its initramfs */
	bool capabilities;  /* inspect */
	bool glance;	    /* inspect: not who holds them, and nothing of the host */
	bool awake;	    /* inspect, with capabilities: only of devices in D0 */
	bool mmio;	    /* probe: registers instead of NVML */
	bool slot;	    /* reset */
	/* persistence: the mode to set; unknown: only read it */
	PersistenceMode set;
	const char *set_to; /* as given; NULL: not given */
} WorkerCommand;

/*
 * true with *ret to run; its strings are argv's. false with *ret_status, the exit status, when
 * there is nothing to do: --help, --version, or wrong usage, which it has reported on stderr.
 */
bool worker_command_parse(int argc, char **argv, WorkerCommand *ret, int *ret_status);

void worker_command_clear(WorkerCommand *command);
