/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A question of host/wire/question.h, as the worker's command line has it. */
#pragma once

#include "host/device/driver.h"
#include "host/wire/question.h"
#include "util/arguments.h"

typedef struct WorkerCommand {
	const char *sysfs_dir;
	const char *proc_dir;
	const char *root_dir; /* where etc, run and usr are */
	const char *nvml;     /* NVML's library; NULL: where the loader finds it */
	const Question *question;
	Bdf *functions; /* what it is about */
	size_t n_functions;
	DriverTarget target;	       /* of a move */
	PersistenceMode set;	       /* ASK_SET_PERSISTENCE */
	bool awake;		       /* ASK_CONFIG: only of devices in D0 */
	bool slot;		       /* ASK_RESET: all functions of its slot */
	const DriverOps *ops;	       /* of a move or reset; NULL: the real ones */
	const struct Netlink *netlink; /* NULL: the kernel's */
} WorkerCommand;
DECLARE_CLEAR(WorkerCommand, worker_command_clear)

extern const Program worker_program;

/*
 * true with *ret to run; its strings are argv's. false with *ret_status, the exit status, when
 * there is nothing to do: --help, --version, or wrong usage, which it has reported on stderr.
 */
bool worker_command_parse(int argc, char **argv, WorkerCommand *ret, int *ret_status);

/* run.c: runs the command and writes the answer to stdout; returns the exit status. */
int worker_command_run(const WorkerCommand *command);

/* ---- probe.c, persistence.c, uevents.c: 0, or -errno where there is no answer ---- */

/* ASK_LINKS, ASK_REGISTERS */
int probe_links(const WorkerCommand *command, void *ret_answer);
/* ASK_PERSISTENCE, ASK_SET_PERSISTENCE */
int persistence_modes(const WorkerCommand *command, void *ret_answer);
/*
 * ASK_UEVENTS: writes a line to `out`, a socket, for every message of the kernel about a PCI
 * device, until the other side has closed it. 0, or what cannot be done, once.
 */
int uevents_follow(int out);
