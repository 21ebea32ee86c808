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
	DriverTarget target;		      /* of a move */
	unsigned long long number, autoprobe; /* ASK_VFS */
	PersistenceMode set;		      /* ASK_SET_PERSISTENCE */
	NvmeWay way;			      /* ASK_ERASE */
	const char *serial;		      /* likewise: of the one that is meant */
	bool no_labels;			      /* ASK_NVME: not what is on them */
	bool awake;			      /* ASK_CONFIG: only of devices in D0 */
	bool slot;			      /* ASK_RESET: all functions of its slot */
	const DriverOps *ops;		      /* of a move or reset; NULL: the real ones */
	const struct Netlink *netlink;	      /* NULL: the kernel's */
} WorkerCommand;
DECLARE_CLEAR(WorkerCommand, worker_command_clear)

/* Each program that answers questions has its own. */
extern const Program worker_program;

/*
 * true with *ret to run; its strings are argv's. false with *ret_status, the exit status, when
 * there is nothing to do: --help, --version, or wrong usage, which it has reported on stderr.
 */
bool worker_command_parse(int argc, char **argv, WorkerCommand *ret, int *ret_status);

/* run.c: carries it out, and writes the answer to stdout; returns the exit status. */
int worker_command_run(const WorkerCommand *command);

/* answer.c: the same by `answer`; NULL: it is another program's question. */
int worker_answer(const WorkerCommand *command,
		  int (*answer)(const WorkerCommand *command, void *ret_answer));
int worker_tell(const Question *question, const char *text);
/* program.c: for one question, or as a part that `find_part` has. */
int worker_main(int argc, char **argv, const Part *(*find_part)(const char *name));

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
