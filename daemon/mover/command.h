/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mover's commands, as words of one request (host/wire/request.h), any number of them:
 *   move -- BDF DRIVER|- OVERRIDE|-
 *   reset [--slot] BDF
 *   vfs BDF NUMBER AUTOPROBE
 */
#pragma once

#include "host/device/driver.h"
#include "host/wire/move.h"

/* Longer than any request about a group of GROUP_GPUS_MAX. */
#define MOVER_COMMANDS_MAX 512

typedef struct MoverCommand {
	bool reset, vfs;
	unsigned number;     /* with vfs: of a NIC's VFs */
	unsigned autoprobe;  /* and 1: as vfs_set() has it */
	bool slot;	     /* with reset: all functions of the slot, through vfio */
	DriverTarget target; /* its strings are the words'; of a reset only its bdf */
} MoverCommand;

/*
 * -EBADMSG, and nothing in *ret, when any word is wrong, a function is named twice, or there is no
 * command. The caller frees *ret.
 */
int mover_commands_parse(char *const *words, MoverCommand **ret, size_t *ret_n);

/*
 * Moves or resets, however long that takes, and returns the answer, a document of
 * host/wire/answer.h. ops: NULL for the real ones. gpus_dir: where nvidia lists its GPUs.
 */
char *mover_command_run(const MoverCommand *command, const DriverOps *ops, const char *sysfs_dir,
			const char *gpus_dir);
